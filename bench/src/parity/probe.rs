//! The requests by which gateways are compared, and the configuration that gives each of them something to meet.
//!
//! The backend's answer depends on the last parts of the path: see [`super::recorder`].

use std::net::SocketAddr;

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// What it is about.
    pub name: &'static str,
    pub(super) method: &'static str,
    pub(super) target: &'static str,
    pub(super) fields: &'static [(&'static str, &'static str)],
    pub(super) body: Body,
    /// This target is being answered meanwhile, and takes as long as the probe.
    pub(super) while_holding: Option<&'static str>,
    scope: Scope,
}

/// What a probe's request carries.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body {
    None,
    /// With Content-Length.
    Sized(&'static [u8]),
    /// With Content-Length, and only after an interim answer.
    Awaited(&'static [u8]),
    /// In chunks.
    Chunked(&'static [&'static [u8]]),
    /// This much of a body that is announced to be longer, and then nothing.
    Stalled(&'static [u8]),
}

/// Which probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// What any reverse proxy does alike that leads `/plain/` to the backend's `/`.
    Plain,
    /// Routes, limits and failures as well.
    All,
}

/// The probes of this scope, in order.
pub fn probes(scope: Scope) -> Vec<Probe> {
    PROBES.iter().filter(|probe| probe.scope <= scope).copied().collect()
}

const fn plain(name: &'static str, method: &'static str, target: &'static str) -> Probe {
    Probe { name, method, target, fields: &[], body: Body::None, while_holding: None, scope: Scope::Plain }
}

const fn ours(name: &'static str, target: &'static str) -> Probe {
    Probe { scope: Scope::All, ..plain(name, "GET", target) }
}

const PROBES: &[Probe] = &[
    plain("GET", "GET", "/plain/echo"),
    plain("HEAD", "HEAD", "/plain/echo"),
    plain("GET in chunks", "GET", "/plain/chunked"),
    plain("GET without content", "GET", "/plain/status/204"),
    plain("GET not modified", "GET", "/plain/status/304"),
    plain("query", "GET", "/plain/echo?a=1&b=%20x&a=2&empty="),
    plain("encoded path", "GET", "/plain/a%2Fb/%C3%A4/echo"),
    plain("upstream's 404", "GET", "/plain/status/404"),
    plain("upstream's 429", "GET", "/plain/status/429"),
    plain("upstream's 500", "GET", "/plain/status/500"),
    plain("upstream's 503", "GET", "/plain/status/503"),
    plain("redirect", "GET", "/plain/status/302"),
    plain("DELETE", "DELETE", "/plain/echo"),
    plain("OPTIONS", "OPTIONS", "/plain/echo"),
    plain("POST without body", "POST", "/plain/echo"),
    Probe { body: Body::Sized(b"a=1&b=2"), ..plain("POST", "POST", "/plain/echo") },
    Probe { body: Body::Sized(b"{}"), fields: JSON, ..plain("PUT", "PUT", "/plain/echo") },
    Probe { body: Body::Sized(b"kept"), ..plain("DELETE with body", "DELETE", "/plain/echo") },
    Probe { body: Body::Chunked(&[b"first", b"second"]), ..plain("chunked upload", "POST", "/plain/echo") },
    Probe { body: Body::Awaited(b"later"), fields: EXPECT, ..plain("100-continue", "PUT", "/plain/echo") },
    Probe { fields: HOPS, ..plain("hop-by-hop fields", "GET", "/plain/hop") },
    Probe { fields: FORWARDED, ..plain("forwarded before", "GET", "/plain/echo") },
    Probe { fields: REPEATED, ..plain("repeated fields", "GET", "/plain/cookies") },
    Probe { fields: SECRETS, ..ours("sensitive fields", "/plain/cookies") },
    Probe { fields: SECRETS, ..ours("sensitive fields of a route without", "/kept/cookies") },
    Probe { fields: &[("Connection", "close")], ..ours("last request of a connection", "/plain/echo") },
    ours("prefix kept", "/kept/echo?x"),
    ours("service", "/svc/echo"),
    ours("no route", "/nowhere/echo?x"),
    Probe { fields: &[("Accept", "text/html")], ..ours("no route, for a browser", "/nowhere") },
    Probe { method: "HEAD", ..ours("no route, HEAD", "/nowhere") },
    ours("dot segments", "/plain/../secret"),
    Probe { method: "TRACE", ..ours("TRACE", "/plain/echo") },
    Probe { method: "OPTIONS", fields: &[("Max-Forwards", "0")], ..ours("OPTIONS for the gateway", "/plain/echo") },
    Probe { fields: &[("Expect", "a-pony")], ..ours("unknown expectation", "/plain/echo") },
    ours("own page", "/own/info"),
    ours("upstream refuses", "/gone/echo"),
    ours("no server", "/empty/echo"),
    ours("circuit open", "/open/echo"),
    ours("upstream closes", "/plain/close"),
    ours("answer broken off", "/plain/cut"),
    ours("read timeout", "/plain/never"),
    ours("read timeout of a service", "/svc/never"),
    ours("deadline", "/late/never"),
    Probe { while_holding: Some("/one/hold"), ..ours("semaphore full", "/one/echo") },
    Probe { while_holding: Some("/place/hold"), ..ours("places full", "/place/echo") },
    Probe { while_holding: Some("/wire/hold"), ..ours("upstream connections full", "/wire/echo") },
    Probe { method: "POST", body: Body::Sized(&[b'x'; 3000]), ..ours("body too long", "/plain/echo") },
    Probe { method: "POST", body: Body::Chunked(&[&[b'x'; 3000]]), ..ours("chunked body too long", "/plain/echo") },
    Probe { method: "POST", body: Body::Stalled(b"half"), ..ours("body stalls", "/plain/echo") },
    Probe { fields: LONG, ..ours("fields too long", "/plain/echo") },
    ours("after all that", "/one/echo"),
];

const JSON: &[(&str, &str)] = &[("Content-Type", "application/json"), ("Accept", "application/json;q=0.9, */*;q=0.1")];
const EXPECT: &[(&str, &str)] = &[("Expect", "100-continue")];
const HOPS: &[(&str, &str)] = &[
    ("Connection", "keep-alive, X-Hop"),
    ("X-Hop", "mine"),
    ("Keep-Alive", "timeout=7"),
    ("TE", "trailers"),
    ("Proxy-Authorization", "Basic eA=="),
    ("Upgrade", "websocket"),
    ("X-End", "to end"),
];
const FORWARDED: &[(&str, &str)] = &[
    ("X-Forwarded-For", "192.0.2.1, 192.0.2.2"),
    ("X-Forwarded-Host", "outer.test"),
    ("X-Forwarded-Proto", "https"),
    ("X-Forwarded-Prefix", "/outer"),
    ("Via", "1.0 outer"),
];
const REPEATED: &[(&str, &str)] = &[("X-Many", "1"), ("x-many", "2"), ("X-Many", "3"), ("Accept-Language", "de, en")];
const SECRETS: &[(&str, &str)] = &[("Cookie", "a=1"), ("Authorization", "Basic eA=="), ("Set-Cookie", "odd=1")];
const LONG: &[(&str, &str)] = &[("X-Long", LONG_VALUE)];
const LONG_VALUE: &str = match str::from_utf8(&[b'v'; 9000]) {
    Ok(value) => value,
    Err(_) => "",
};

/// For portcullis and its twin.
pub(super) fn configuration(backend: SocketAddr, refused: u16) -> String {
    format!(
        "server: {{address: 127.0.0.1, port: 0, tomcat: {{connection-timeout: 300ms, max-threads: 20}}}}\n\
         gateway: {{access-log: {{format: 'off'}}, client: {{max-body-size: 2000, min-rate: 0}}}}\n\
         spring.application.name: parity\n\
         zuul:\n  host: {{socket-timeout-millis: 300, connection-request-timeout-millis: 100}}\n  routes:\n    \
         plain: {{path: /plain/**, url: 'http://{backend}'}}\n    \
         kept: {{path: /kept/**, url: 'http://{backend}/below', strip-prefix: false, sensitive-headers: ''}}\n    \
         own: {{path: /own/**, url: 'forward:/actuator'}}\n    \
         gone: {{path: /gone/**, url: 'http://127.0.0.1:{refused}'}}\n    \
         empty: {{path: /empty/**}}\n    svc: {{path: /svc/**}}\n    late: {{path: /late/**}}\n    one: {{path: /one/**}}\n    \
         place: {{path: /place/**}}\n    wire: {{path: /wire/**}}\n    open: {{path: /open/**}}\n\
         svc.ribbon: {{listOfServers: '{backend}', ReadTimeout: 300}}\n\
         late.ribbon: {{listOfServers: '{backend}', ReadTimeout: 30000}}\n\
         one.ribbon: {{listOfServers: '{backend}', ReadTimeout: 30000}}\n\
         place.ribbon: {{listOfServers: '{backend}', ReadTimeout: 30000}}\n\
         wire.ribbon: {{listOfServers: '{backend}', ReadTimeout: 30000, MaxConnectionsPerHost: 1}}\n\
         open.ribbon.listOfServers: '{backend}'\n\
         hystrix:\n  threadpool.RibbonCommand.coreSize: 1\n  command:\n    \
         open.circuitBreaker.forceOpen: true\n    \
         late.execution.isolation.thread.timeoutInMilliseconds: 300\n    \
         one.execution.isolation.semaphore.maxConcurrentRequests: 1\n    \
         place.execution.isolation.strategy: THREAD\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_have_names_of_their_own_and_the_configuration_is_sound() {
        let all = probes(Scope::All);
        let mut names: Vec<_> = all.iter().map(|probe| probe.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len());
        let plain = probes(Scope::Plain);
        assert!(plain.len() > 20 && plain.len() < all.len());
        assert!(plain.iter().all(|probe| probe.target.starts_with("/plain/")));
        let yaml = configuration(SocketAddr::from(([127, 0, 0, 1], 9)), 8);
        let loaded = portcullis::config::load_str(&yaml).expect("a sound configuration");
        // A deadline that is shorter than the read timeout is what one probe is about.
        let meant = "hystrix.command.late.execution.isolation.thread.timeoutInMilliseconds";
        assert!(loaded.warnings.iter().all(|warning| warning.key == meant), "{:?}", loaded.warnings);
    }
}
