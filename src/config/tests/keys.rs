//! The catalogue against the model.
//!
//! A key that is said to act must change something, and a default that is stated must be the default; what does nothing must say so, once.

use super::super::catalogue::{Effect, Key, Kind, catalogue};
use super::{config, errors, loaded, warnings};

/// Something of everything, so that each key finds what it acts on.
const SEMAPHORES: &str =
    "zuul.routes.a: /a/**\nzuul.routes.u: {path: /u/**, url: 'http://h'}\na.ribbon.listOfServers: s\n";
const POOLS: &str = "zuul.routes.a: /a/**\nzuul.routes.u: {path: /u/**, url: 'http://h'}\nzuul.ribbon-isolation-strategy: THREAD\n\
                     hystrix.threadpool.default.allowMaximumSizeToDivergeFromCoreSize: true\nzuul.host.time-to-live: 5\n\
                     ribbon.PoolKeepAliveTime: 5\n";
const SEPARATE_POOLS: &str = "zuul.routes.a: /a/**\nzuul.ribbon-isolation-strategy: THREAD\n\
                              zuul.thread-pool.use-separate-thread-pools: true\n\
                              hystrix.threadpool.default.maximumSize: 30\na.ribbon.PoolKeepAliveTime: 5\n\
                              gateway.fallback.*.body: sorry\n";

const RETRIES: &str = "zuul.routes.a: /a/**\nzuul.retryable: true\na.ribbon.listOfServers: s\n\
                       gateway.retry.backoff.base-interval: 1s\n";

/// A limit that adapts, whose bounds act only then.
const ADAPTIVE: &str = "zuul.routes.a: /a/**\ngateway.limit: aimd\n";

/// Pings, whose keys act only when somebody pings.
const PINGS: &str = "zuul.routes.a: /a/**\na.ribbon: {listOfServers: s, NFLoadBalancerPingClassName: PingUrl}\n";

/// The key with ids that the bases have.
fn written(key: &Key) -> String {
    let id = if key.name.starts_with("hystrix.threadpool") { "default" } else { "a" };
    let id = if key.name.contains("<logger") || key.name.starts_with("info") { "x" } else { id };
    let (mut name, mut rest) = (String::new(), key.name);
    while let Some((before, after)) = rest.split_once('<') {
        name += before;
        name += id;
        rest = after.split_once('>').map_or("", |(_, after)| after);
    }
    name + rest
}

/// A value that is not the default.
fn other_value(key: &Key) -> String {
    let value = match key.name {
        "server.address" | "management.server.address" => "127.0.0.7",
        "server.tomcat.uri-encoding" => "ISO-8859-1",
        "zuul.routes.<id>.location" | "zuul.routes.<id>.url" => "http://other",
        "zuul.routes.<id>" => "/other/**",
        "logging.level.<logger...>" => "trace",
        "management.endpoint.health.show-details" => "always",
        "gateway.rate-limit.routes.<id>.key" => "address",
        "gateway.fallback.<key...>.status" => "418",
        "gateway.fallback.<key...>.headers" => "'X-Other: 1'",
        "gateway.fallback.<key...>.body-file" => "/dev/null",
        "gateway.fallback.<key...>.forward" => "/other",
        // A window is a whole number of milliseconds in each bucket.
        name if name.ends_with(".numBuckets") => "4",
        name if name.ends_with("rollingPercentile.timeInMilliseconds") => "6s",
        name if name.ends_with("RuleClassName") => "RandomRule",
        name if name.ends_with("PingClassName") => "PingUrl",
        name if name.starts_with("gateway.ping.") && name.ends_with("path") => "/other",
        name if name.contains("relaxed") => "'{'",
        name if name.ends_with("retryableStatusCodes") => "503",
        _ => "",
    };
    if !value.is_empty() {
        return value.into();
    }
    if key.name == "gateway.trusted-proxies" {
        return "10.0.0.0/8".into();
    }
    match key.kind {
        Kind::Flag if key.default == "true" || key.name.ends_with(".enabled") => "false".into(),
        Kind::Flag => "true".into(),
        Kind::Count { .. } => "17".into(),
        Kind::Duration { .. } => "7s".into(),
        Kind::Size { .. } => "9KB".into(),
        Kind::Choice(words) => {
            words.iter().rev().find(|word| **word != key.default).map(|word| word.to_string()).unwrap_or_default()
        }
        Kind::Text | Kind::List | Kind::Any => "other".into(),
    }
}

/// The base with what the key needs beside it, and without the key.
fn without(base: &str, name: &str) -> String {
    let beside = if name.starts_with("gateway.rate-limit.") { "gateway.rate-limit.routes.a.requests: 5" } else { "" };
    let others = base.lines().chain([beside]).filter(|line| !line.starts_with(&format!("{name}:")));
    others.map(|line| format!("{line}\n")).collect()
}

#[test]
fn every_key_that_acts_changes_the_configuration() {
    for key in catalogue()
        .iter()
        .filter(|key| key.acts() && !key.name.starts_with("spring.profiles") && !key.name.contains("on-profile"))
    {
        if matches!(key.name, "gateway.routes-file" | "zuul.routes.<id>.custom-sensitive-headers") {
            continue;
        }
        let (name, value) = (written(key), other_value(key));
        let changes = [SEMAPHORES, POOLS, SEPARATE_POOLS, RETRIES, PINGS, ADAPTIVE].iter().any(|base| {
            let base = without(base, &name);
            let with = format!("{base}{name}: {value}\n");
            format!("{:?}", config(&with)) != format!("{:?}", config(&base))
        });
        assert!(changes, "{name}: {value} changes nothing");
    }
}

#[test]
fn stated_defaults_are_the_defaults() {
    for key in catalogue().iter().filter(|key| key.acts() && !key.default.is_empty()) {
        let name = written(key);
        for base in [SEMAPHORES, POOLS, RETRIES, PINGS] {
            let base = without(base, &name);
            let with = format!("{base}{name}: {}\n", key.default);
            assert_eq!(format!("{:?}", config(&with)), format!("{:?}", config(&base)), "{name}: {}", key.default);
        }
    }
}

#[test]
fn a_bogus_key_in_every_place_is_an_error() {
    let places = [
        "server",
        "server.tomcat",
        "server.tomcat.threads",
        "zuul",
        "zuul.routes.a",
        "zuul.host",
        "zuul.semaphore",
        "zuul.thread-pool",
        "ribbon",
        "a.ribbon",
        "hystrix.command.a",
        "hystrix.command.a.execution",
        "hystrix.threadpool.default",
        "management",
        "management.server",
        "management.endpoints.web",
        "gateway",
        "gateway.queue",
        "gateway.access-log",
        "logging",
    ];
    for place in places {
        let errors = errors(&format!("x: 1\n{place}:\n  bogus-nonsense: 1\n"));
        assert_eq!(errors, [format!("error: gateway.yaml:3: {place}.bogus-nonsense: unknown key")], "{place}");
    }
}

#[test]
fn a_key_that_does_nothing_is_told_once() {
    let told = warnings(
        "server.compression.enabled: true\nserver.compression.mime-types: [a]\nzuul.set-content-length: true\n",
    );
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(
        told[0].starts_with("warning: gateway.yaml:1: server.compression.enabled: has no effect here: "),
        "{told:?}"
    );
    let later = warnings("zuul.routes.a: /a\nzuul.routes.b: /b\na.ribbon.TargetRegion: x\nb.ribbon.TargetRegion: x\n");
    assert_eq!(later.len(), 1, "{later:?}");
    for key in catalogue().iter().filter(|key| !key.acts()) {
        let base = "zuul.routes.a: /a/**\n";
        let value = if key.name.starts_with("ribbon.Max") { "1".into() } else { other_value(key) };
        let name = written(key).replace("**", "x");
        let told = warnings(&format!("{base}{name}: {value}\n"));
        let effect = match key.effect {
            Effect::Inert(_) => "has no effect here",
            _ => "has no effect yet",
        };
        assert_eq!(told.iter().filter(|line| line.contains(effect)).count(), 1, "{name}: {told:?}");
    }
}

#[test]
fn namespaces_of_others_are_told_once_each() {
    let told =
        warnings("feign.a: 1\nfeign.b: 2\nspring.datasource.url: x\nspring.datasource.name: y\nspring.redis.host: z\n");
    let expected = [
        "warning: gateway.yaml:1: feign.a: feign.* is not read here",
        "warning: gateway.yaml:3: spring.datasource.url: spring.datasource.* is not read here",
        "warning: gateway.yaml:5: spring.redis.host: spring.redis.* is not read here",
    ];
    assert_eq!(told, expected);
    assert_eq!(
        warnings("zull.prefix: /a\n"),
        ["warning: gateway.yaml:1: zull.prefix: zull.* is not read here; did you mean zuul?"]
    );
}

#[test]
fn a_namespace_that_placeholders_use_is_not_told() {
    let yaml = "my.port: 9000\nserver.port: ${my.port}\n";
    assert_eq!(config(yaml).server.port, 9000);
    assert!(warnings(yaml).is_empty());
}

#[test]
fn relaxed_spellings_of_archaius_keys_count_and_are_told() {
    let yaml = "zuul.routes.a: /a\na.ribbon.read-timeout: 7000\n";
    assert_eq!(config(yaml).backends["a"].read_timeout, Some(std::time::Duration::from_secs(7)));
    assert_eq!(
        warnings(yaml),
        [
            "warning: gateway.yaml:2: a.ribbon.read-timeout: taken for <service>.ribbon.ReadTimeout; Zuul itself would ignore it, since it \
          reads that name only so spelt"
        ]
    );
    assert!(warnings("zuul.routes.a: /a\na.ribbon.ReadTimeout: 7000\nzuul.add-hostheader: true\n").is_empty());
}

#[test]
fn what_zuul_passes_over_is_passed_over_under_compat() {
    let yaml =
        "zuul.routes.a: /a\ngateway.compat: ${COMPAT:Zuul1}\na.ribbon.ReadTimeout: 7000\na.ribbon.read-timeout: 9000\n";
    assert_eq!(config(yaml).backends["a"].read_timeout, Some(std::time::Duration::from_secs(7)));
    assert_eq!(
        warnings(yaml),
        [
            "warning: gateway.yaml:4: a.ribbon.read-timeout: not read under gateway.compat: zuul1, since Zuul reads that name only when \
          spelt <service>.ribbon.ReadTimeout"
        ]
    );
    assert!(warnings("zuul.add-hostheader: true\ngateway.compat: zuul1\n").is_empty());
}

#[test]
fn limits_for_nobody_are_told() {
    let told = warnings(
        "zuul.routes.users: /u/**\nuser.ribbon.ReadTimeout: 1s\nhystrix.threadpool.RibbonCommand.coreSize: 5\n",
    );
    let expected = [
        "warning: gateway.yaml:2: user.ribbon.ReadTimeout: user: no route leads to a service or url route of this id; did you mean users?",
        "warning: gateway.yaml:3: hystrix.threadpool.RibbonCommand.coreSize: RibbonCommand: no service uses a pool of this name",
    ];
    assert_eq!(told, expected);
}

#[test]
fn all_faults_come_at_once() {
    let errors = errors(
        "server.port: 70000\nserver.tomcat.max-threads: 0\nzuul:\n  host:\n    conect-timeout-millis: 200\nzuul.prefix: ${NONE}\n",
    );
    let expected = [
        "error: gateway.yaml:1: server.port: must be at most 65535",
        "error: gateway.yaml:2: server.tomcat.max-threads: must be at least 1",
        "error: gateway.yaml:5: zuul.host.conect-timeout-millis: unknown key; did you mean zuul.host.connect-timeout-millis?",
        "error: gateway.yaml:6: zuul.prefix: ${NONE} stands for nothing: neither a key nor an environment variable is called so",
    ];
    assert_eq!(errors, expected);
}

#[test]
fn effective_properties_name_their_origin() {
    let loaded = loaded("zuul.semaphore.maxSemaphores: 7\ninfo.db.password: hush\n");
    let lines: Vec<_> = loaded.properties.properties.iter().map(ToString::to_string).collect();
    assert_eq!(lines[0], "zuul.semaphore.max-semaphores = 7  # gateway.yaml:1");
    assert_eq!(lines[1], "info.db.password = ******  # gateway.yaml:2");
    assert!(lines.contains(&"server.port = 8080  # default".to_string()));
}

/// A default beside the value that counts would be a lie.
#[test]
fn a_key_that_is_set_by_its_older_name_is_not_told_with_its_default() {
    let older = "server.tomcat: {max-threads: 80, min-spare-threads: 8}\nserver.connection-timeout: 9s\n";
    let told = loaded(older).properties.to_string();
    assert!(told.contains("server.tomcat.max-threads = 80  # gateway.yaml:1\n"), "{told}");
    for newer in ["server.tomcat.threads.max ", "server.tomcat.threads.min-spare ", "server.tomcat.connection-timeout "]
    {
        assert!(!told.contains(newer), "{told}");
        assert!(loaded("").properties.to_string().contains(newer), "{newer}");
    }
}
