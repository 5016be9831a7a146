//! Where values come from, and which source wins: files in order, environment, command line.

use crate::support::gateway::{Setup, TestGateway};
use crate::support::origin::TestOrigin;

#[track_caller]
fn check_prefix(setup: Setup, prefix: &str) {
    let gateway: TestGateway = setup.start();
    assert_eq!(gateway.get(&format!("{prefix}/x")).text(), "GET /x", "{prefix}");
}

#[test]
fn later_sources_win() {
    let origin = TestOrigin::echoing();
    let setup = Setup::to(&origin).set("zuul.prefix", "/first");
    check_prefix(setup.clone(), "/first");
    let setup = setup.file("second.yml", "zuul:\n  prefix: /second\n");
    check_prefix(setup.clone(), "/second");
    let setup = setup.file("third.properties", "zuul.prefix=/third\n");
    check_prefix(setup.clone(), "/third");
    let setup = setup.env("ZUUL_PREFIX", "/environment");
    check_prefix(setup.clone(), "/environment");
    check_prefix(setup.arg("--zuul.prefix=/argument"), "/argument");
}

#[test]
fn placeholders_and_other_spellings_are_understood() {
    let origin = TestOrigin::echoing();
    let setup = Setup::to(&origin).file("kebab.yml", "zuul:\n  strip-prefix: no\n  prefix: ${PREFIX:/fallback}\n");
    assert_eq!(setup.clone().start().get("/fallback/x").text(), "GET /fallback/x");
    assert_eq!(setup.env("PREFIX", "/given").start().get("/given/x").text(), "GET /given/x");
}

/// CFG-09: an id is opaque, whatever it holds and wherever it is named. A variable can't spell it, and means the one that the files know.
#[test]
fn ids_may_hold_anything_in_every_source() {
    let origin = TestOrigin::echoing();
    for id in ["api.v2", "urn:t:1", "Admin/1/x", "Shop_A-b"] {
        let other = format!("{id}.other");
        let setup = Setup::new().set("zuul.routes.r.path", "/**").set("zuul.routes.r.serviceId", id);
        let setup = setup.set("zuul.routes[o.o].path", "/o/**").set("zuul.routes[o.o].serviceId", &other);
        let (key, servers) = (format!("[{id}].ribbon.listOfServers"), origin.address().to_string());
        let variable = id.replace('.', "_").replace('-', "").to_uppercase() + "_RIBBON_LISTOFSERVERS";
        for setup in [
            setup.clone().set(&key, &servers),
            setup.clone().file("more.properties", format!("{}={servers}\n", key.replace(':', "\\:"))),
            setup.clone().env(&variable, &servers),
            setup.clone().arg(format!("--{key}={servers}")),
        ] {
            let gateway = setup.start();
            assert_eq!(gateway.get("/x").text(), "GET /x", "{id}");
            assert_eq!(gateway.get("/o/x").field("X-Gateway-Reason").as_deref(), Some("no_server"), "{other}");
            assert_eq!(gateway.metric("portcullis_semaphore_capacity", &format!("\"{id}\"")), 100.0);
        }
    }
}

/// Documents of one file, told apart by the older and the newer key.
#[test]
fn profiles_choose_documents() {
    let origin = TestOrigin::echoing();
    let yaml =
        "spring.config.activate.on-profile: new\nzuul.prefix: /new\n---\nspring.profiles: old\nzuul.prefix: /old\n";
    let setup = Setup::to(&origin).file("profiles.yml", yaml);
    check_prefix(setup.clone(), "");
    check_prefix(setup.clone().arg("--spring.profiles.active=new"), "/new");
    check_prefix(setup.clone().env("SPRING_PROFILES_ACTIVE", "old"), "/old");
    check_prefix(setup.set("spring.profiles.include", "old"), "/old");
}

/// What an ordinary Zuul 1 user has: a file of the Java application, dropped in.
#[test]
fn a_zuul_application_drops_in() {
    let origin = TestOrigin::echoing();
    let yaml = format!(
        "spring:\n  application:\n    name: zuul-gateway\nserver:\n  port: 0\n  address: 127.0.0.1\n\
         zuul:\n  semaphore:\n    max-semaphores: 500\n  host:\n    max-total-connections: 1000\n    max-per-route-connections: 500\n  \
         routes:\n    product:\n      path: /product/**\n      serviceId: product-service\n      stripPrefix: false\n\
         product-service:\n  ribbon:\n    listOfServers: {0}\nribbon:\n  eureka:\n    enabled: false\n  ReadTimeout: 5000\n\
         hystrix:\n  command:\n    default:\n      execution:\n        isolation:\n          thread:\n            timeoutInMilliseconds: 20000\n",
        origin.address()
    );
    let gateway = Setup::new().file("application.yml", yaml).start();
    assert_eq!(gateway.get("/product/list").text(), "GET /product/list");
    assert_eq!(gateway.metric("portcullis_semaphore_capacity", "product-service"), 500.0);
    gateway.assert_quiet();
}
