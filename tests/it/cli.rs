//! The command line: subcommands, what they print, and exit codes that scripts can rely on.

use crate::support::client::RawClient;
use crate::support::gateway::{GatewayProcess, Setup};
use crate::support::origin::TestOrigin;
use crate::support::socket::free_port;
use crate::support::wait;
use std::net::SocketAddr;

#[track_caller]
fn check_exit(setup: &Setup, subcommand: &[&str], code: i32) -> String {
    let finished = setup.run_to_end(subcommand);
    let said = [finished.stdout, finished.stderr].concat();
    assert_eq!(finished.status.code(), Some(code), "{subcommand:?}: {said}");
    said
}

#[test]
fn exit_codes_tell_faults_of_configuration_from_faults_of_usage() {
    check_exit(&Setup::new(), &["check"], 0);
    check_exit(&Setup::new().set("server.port", "many"), &["check"], 1);
    check_exit(&Setup::new().set("server.port", "many"), &["run"], 1);
    check_exit(&Setup::new(), &["no-such-command"], 2);
    check_exit(&Setup::new(), &["example-product", "--no-such-option"], 2);
    assert!(check_exit(&Setup::new(), &["version"], 0).contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_missing_file_is_named() {
    let said = check_exit(&Setup::new().arg("-c").arg("no-such-file.yml"), &["check"], 1);
    assert!(said.contains("no-such-file.yml"), "{said}");
}

/// CFG-06: with a near match.
#[test]
fn an_unknown_key_is_an_error_with_a_near_match() {
    let said = check_exit(&Setup::new().set("server.tomcat.max-treads", "5"), &["check"], 1);
    assert!(said.contains("max-treads") && said.contains("max-threads"), "{said}");
    assert!(said.contains("gateway.yaml:"), "{said}");
}

#[test]
fn check_tells_limits_and_warns_of_traps() {
    let origin = TestOrigin::echoing();
    let setup =
        Setup::to_service(&origin).set("server.tomcat.max-threads", "50").set("zuul.semaphore.maxSemaphores", "80");
    let said = check_exit(&setup, &["check"], 0).to_lowercase();
    assert!(said.contains("worth a second look") && said.contains("max-semaphores: 80 permits"), "{said}");
    assert!(said.contains("10 to 50") && said.contains("threads: at most"), "{said}");
    let shared = Setup::to_service(&origin).set("zuul.ribbonIsolationStrategy", "THREAD");
    let said = check_exit(&shared, &["check"], 0).to_lowercase();
    assert!(said.contains("ribboncommand"), "the shared pool of ten threads is pointed out: {said}");
}

#[test]
fn a_dump_keeps_secrets() {
    let setup = Setup::new().set("info.password", "hunter2").set("info.owner", "shop-team");
    let said = check_exit(&setup, &["check", "--dump"], 0);
    assert!(said.contains("shop-team") && !said.contains("hunter2"), "{said}");
}

/// PATH-19: which route, and what the upstream will see.
#[test]
fn routes_explains_a_path() {
    let setup = Setup::new().set("zuul.prefix", "/api").url_route("users", "/usr/**", "http://127.0.0.1:9001/base");
    let said = check_exit(&setup, &["routes", "/api/usr/x?q=1"], 0);
    assert!(said.contains("users") && said.contains("/base/x?q=1"), "{said}");
    let said = check_exit(&setup, &["routes", "GET", "/api/usr/x"], 0);
    assert!(said.contains("/base/x"), "{said}");
}

#[test]
fn the_example_service_runs_alone() {
    let port = free_port();
    let _service = GatewayProcess::run(&Setup::new().arg("example-product").arg("--port").arg(port.to_string()));
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    wait::until("it listens", || RawClient::try_connect(address).is_ok());
    let mut client = RawClient::connect(address);
    assert_eq!(client.get("/product/list").status, 200);
    assert_eq!(client.get("/product/slow?ms=1").status, 200);
    let echo = client.get("/get?a=1");
    assert!(echo.text().contains("/get?a=1") || echo.text().contains("\"a\""), "{}", echo.text());
    let upload = client.request("POST", "/product/upload", "", b"hello");
    const SHA256_OF_HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    assert!(upload.text().contains(SHA256_OF_HELLO) && upload.text().contains('5'), "{}", upload.text());
}

#[test]
fn healthcheck_asks_a_running_gateway() {
    let port = free_port();
    let setup = Setup::new().set("management.server.port", port.to_string());
    check_exit(&setup, &["healthcheck"], 1);
    let gateway = setup.clone().start();
    check_exit(&setup, &["healthcheck"], 0);
    drop(gateway);
}
