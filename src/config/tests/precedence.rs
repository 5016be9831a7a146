//! Which of several sources counts, and how each spells a key.
//!
//! Files lie in folders of their own below the system's temporary one; the environment is always made up, never the process's.

use super::super::{Sources, load};
use super::{config, errors, lines};
use crate::config::model::Config;
use std::path::PathBuf;

/// Files in a folder of their own, gone when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("portcullis-config-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for temporary files");
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("a temporary file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect()
}

#[track_caller]
fn from(files: Vec<PathBuf>, environment: &[(&str, &str)], arguments: &[(&str, &str)]) -> Config {
    let sources = Sources { files, arguments: pairs(arguments), environment: pairs(environment) };
    load(&sources).unwrap_or_else(|faults| panic!("{}", lines(&faults))).config
}

#[test]
fn arguments_win_over_environment_over_later_files() {
    let folder = Folder::new("precedence");
    let first = folder.file("a.yaml", "server.port: 1\nzuul.prefix: /first\n");
    let second = folder.file("b.properties", "server.port=2\n");
    let files = vec![first, second];
    assert_eq!(from(files[..1].to_vec(), &[], &[]).server.port, 1);
    assert_eq!(from(files.clone(), &[], &[]).server.port, 2);
    assert_eq!(from(files.clone(), &[("SERVER_PORT", "3")], &[]).server.port, 3);
    let all = from(files, &[("SERVER_PORT", "3")], &[("server.port", "4")]);
    assert_eq!((all.server.port, all.zuul.prefix.as_str()), (4, "/first"));
}

#[test]
fn under_compat_what_zuul_reads_in_one_spelling_is_passed_over_wherever_it_can_be_spelt() {
    let told = [("zuul.routes.a", "/a"), ("gateway.compat", "zuul1"), ("a.ribbon.read-timeout", "9000")];
    let read = |environment: &[(&str, &str)]| from(Vec::new(), environment, &told).backends["a"].read_timeout;
    assert_eq!(read(&[]), Some(std::time::Duration::from_secs(1)));
    assert_eq!(read(&[("A_RIBBON_READTIMEOUT", "7000")]), Some(std::time::Duration::from_secs(7)));
}

#[test]
fn an_old_name_in_a_stronger_source_wins() {
    let new = [("server.tomcat.threads.max", "30")];
    assert_eq!(from(Vec::new(), &[("SERVER_TOMCAT_MAX_THREADS", "20")], &new).server.max_threads, 30);
    let old = [("server.tomcat.max-threads", "20")];
    assert_eq!(from(Vec::new(), &[("SERVER_TOMCAT_THREADS_MAX", "30")], &old).server.max_threads, 20);
}

#[test]
fn variables_reach_keys_and_ids_of_files() {
    let folder = Folder::new("variables");
    let text = "zuul.routes.User-Service: {path: /u/**, url: 'http://a'}\nzuul.routes.p: {path: /p/**, service-id: product-service}\n";
    let file = folder.file("a.yaml", text);
    let environment = [
        ("ZUUL_SEMAPHORE_MAXSEMAPHORES", "7"),
        ("SERVER_TOMCAT_THREADS_MAX", "33"),
        ("ZUUL_ROUTES_USER_SERVICE_URL", "http://b"),
        ("PRODUCT_SERVICE_RIBBON_LISTOFSERVERS", "x:1,y:2"),
        ("ZUUL_ROUTES_NEW_PATH", "/new/**"),
        ("LOGGING_LEVEL_ORG_EXAMPLE", "DEBUG"),
        ("ZUUL_PORT", "tcp://10.0.0.1:80"),
        ("ZUUL_NONSENSE", "x"),
        ("PATH", "/bin"),
    ];
    let config = from(vec![file], &environment, &[]);
    assert_eq!(config.server.max_threads, 33);
    assert_eq!(config.backends["User-Service"].servers[0].host, "b");
    assert_eq!(config.backends["product-service"].servers.len(), 2);
    assert_eq!(
        config.routes.iter().map(|route| route.path.as_str()).collect::<Vec<_>>(),
        ["/u/**", "/p/**", "/new/**"]
    );
    assert_eq!(config.logging, [("org.example".to_string(), log::LevelFilter::Debug)]);
}

/// CFG-09: distinct ids never collapse into one.
#[test]
fn a_variable_that_may_mean_several_ids_is_an_error() {
    let folder = Folder::new("ambiguous");
    let text = "zuul.routes:\n  api-v2: {path: /a/**, url: 'http://a'}\n  '[api.v2]': {path: /b/**, url: 'http://b'}\n";
    let files = vec![folder.file("a.yaml", text)];
    let environment = pairs(&[("ZUUL_ROUTES_API_V2_URL", "http://c"), ("SERVER_PORT", "1")]);
    let faults = load(&Sources { files, environment, ..Sources::default() }).expect_err("nobody knows which is meant");
    assert_eq!(
        lines(&faults),
        "error: environment variable ZUUL_ROUTES_API_V2_URL: zuul.routes.<id>.url: may mean any of api-v2, api.v2; \
         name it in a file or on the command line\n"
    );
}

#[test]
fn a_variable_with_a_wrong_value_is_named() {
    let sources = Sources { environment: pairs(&[("SERVER_PORT", "tcp://10.0.0.1:80")]), ..Sources::default() };
    let faults = load(&sources).expect_err("a port that is none");
    assert_eq!(
        lines(&faults),
        "error: environment variable SERVER_PORT: server[port]: must be a whole number\n".replace("[port]", ".port")
    );
}

#[test]
fn an_unknown_argument_is_an_error() {
    let sources = Sources { arguments: pairs(&[("server.prot", "1")]), ..Sources::default() };
    let faults = load(&sources).expect_err("an unknown key");
    assert_eq!(lines(&faults), "error: command line: server.prot: unknown key; did you mean server.port?\n");
}

#[test]
fn arguments_name_lists_and_opaque_ids() {
    let arguments = [
        ("zuul.ignored-patterns[0]", "/a"),
        ("zuul.ignored-patterns[1]", "/b"),
        ("zuul.routes[api.v2].url", "http://h"),
    ];
    let config = from(Vec::new(), &[], &arguments);
    assert_eq!(config.zuul.ignored_patterns, ["/a", "/b"]);
    assert_eq!(config.routes[0].id, "api.v2");
    assert!(config.backends.contains_key("api.v2"));
}

#[test]
fn an_overridden_route_keeps_its_place() {
    let folder = Folder::new("order");
    let file = folder.file("a.yaml", "zuul.routes:\n  b: /b/**\n  a: /a/**\n");
    let config = from(vec![file], &[], &[("zuul.routes.a.path", "/x/**"), ("zuul.routes.b.path", "/y/**")]);
    assert_eq!(config.routes.iter().map(|route| route.path.as_str()).collect::<Vec<_>>(), ["/y/**", "/x/**"]);
}

#[test]
fn documents_count_by_profile() {
    let folder = Folder::new("profiles");
    let text = "server.port: 1\n---\nspring.profiles: dev\nserver.port: 2\n---\nspring:\n  config.activate.on-profile: '!dev & eu'\n\
                server.port: 3\n---\nspring.profiles: default\nzuul.prefix: /plain\n";
    let file = folder.file("a.yaml", text);
    let port = |environment: &[(&str, &str)], arguments: &[(&str, &str)]| {
        let config = from(vec![file.clone()], environment, arguments);
        (config.server.port, config.zuul.prefix)
    };
    assert_eq!(port(&[], &[]), (1, "/plain".into()));
    assert_eq!(port(&[("SPRING_PROFILES_ACTIVE", "dev")], &[]), (2, String::new()));
    assert_eq!(port(&[("SPRING_PROFILES_ACTIVE", "dev")], &[("spring.profiles.active", "eu")]), (3, String::new()));
    assert_eq!(config("spring.profiles.active: x\n---\nspring.profiles: [x, y]\nserver.port: 9\n").server.port, 9);
    let placeholder = "spring.profiles.active: ${NO_SUCH:x}\n---\nspring.profiles: x\nserver.port: 9\n";
    assert_eq!(config(placeholder).server.port, 9);
    let included = "spring.profiles: {active: x, include: [y]}\n---\nspring.profiles: x & y\nserver.port: 9\n";
    assert_eq!(config(included).server.port, 9);
    let wrong = errors("server.port: 1\n---\nspring.profiles: a b\nserver.port: 2\n");
    assert_eq!(wrong, ["error: gateway.yaml:3: spring.profiles: must be profiles joined by !, & and |"]);
}

#[test]
fn placeholders_take_arguments_then_variables_then_files() {
    let folder = Folder::new("placeholders");
    let file = folder.file(
        "a.yaml",
        "my.port: 5\nserver.port: ${my.port:6}\nzuul.prefix: ${PREFIX:/none}/${spring.application.name}\n",
    );
    let all = from(vec![file.clone()], &[("PREFIX", "/p")], &[("spring.application.name", "gw")]);
    assert_eq!((all.server.port, all.zuul.prefix.as_str()), (5, "/p/gw"));
    let all = from(vec![file.clone()], &[("MY_PORT", "7")], &[("spring.application.name", "gw")]);
    assert_eq!((all.server.port, all.zuul.prefix.as_str()), (7, "/none/gw"));
    assert_eq!(
        from(vec![file], &[("MY_PORT", "7")], &[("my.port", "8"), ("spring.application.name", "x")]).server.port,
        8
    );
    assert!(errors("server.port: ${server.port}\n")[0].contains("lead in a circle"));
}

#[test]
fn a_placeholder_in_a_key_that_does_nothing_is_no_fault() {
    let config = config("eureka.instance.instance-id: ${spring.application.name}:${random.value}\nserver.port: 5\n");
    assert_eq!(config.server.port, 5);
}

#[test]
fn a_route_file_lies_beside_the_file_that_names_it() {
    let folder = Folder::new("beside");
    let file = folder.file("a.yaml", "gateway.routes-file: routes.json\n");
    folder.file(
        "routes.json",
        r#"{"routeDefinitionList": [{"id": "p", "uri": "http://h:1", "predicates": ["Path=/p/**"]}]}"#,
    );
    assert_eq!(from(vec![file], &[], &[]).routes[0].path, "/p/**");
}
