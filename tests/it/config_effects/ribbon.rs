//! `ribbon.*` and `<service>.ribbon.*`: servers and connections of service routes.

use crate::support::gateway::{Setup, assert_reason};
use crate::support::origin::TestOrigin;
use crate::support::wait;
use crossbeam_channel::unbounded;
use std::time::Duration;

#[test]
fn servers_take_turns() {
    let origins = [TestOrigin::echoing(), TestOrigin::echoing(), TestOrigin::echoing()];
    let gateway = Setup::new().service_route("up", "/**", &origins.each_ref()).start();
    for _ in 0..9 {
        assert_eq!(gateway.get("/").status, 200);
    }
    assert_eq!(origins.map(|origin| origin.requests().len()), [3, 3, 3]);
}

/// A service's own value wins over the one for all.
#[test]
fn read_timeouts_are_for_all_or_for_one() {
    for (key, other) in [("ribbon.ReadTimeout", None), ("up.ribbon.ReadTimeout", Some(("ribbon.ReadTimeout", "60000")))]
    {
        let origin = TestOrigin::scripted(|talk| {
            talk.read_request();
            talk.stall_until_closed();
        });
        let setup = other.into_iter().fold(Setup::to_service(&origin), |setup, (key, value)| setup.set(key, value));
        let setup = setup.set("hystrix.command.default.execution.timeout.enabled", "false");
        let gateway = setup.set(key, "150").start();
        assert_reason(&gateway.get("/"), 504, "timeout");
        gateway.assert_quiet();
    }
}

#[test]
fn connect_timeouts_are_read() {
    let origin = TestOrigin::scripted(|talk| {
        talk.stall_until_closed();
    });
    let setup = Setup::to_service(&origin).set("up.ribbon.IsSecure", "true");
    let gateway = setup.set("ribbon.ConnectTimeout", "150").start();
    assert_reason(&gateway.get("/"), 504, "connect_timeout");
    gateway.assert_quiet();
}

/// A connection older than that is not used again; the unit is a key of its own, seconds without it.
#[test]
fn pooled_connections_have_a_longest_life() {
    const UNIT: (&str, &str) = ("ribbon.PoolKeepAliveTimeUnits", "MILLISECONDS");
    for (keys, ends) in [
        (vec![("ribbon.PoolKeepAliveTime", "100"), UNIT], true),
        (vec![("ribbon.PoolKeepAliveTime", "900"), ("up.ribbon.PoolKeepAliveTime", "100"), UNIT], true),
        (vec![("ribbon.PoolKeepAliveTime", "100")], false),
        (vec![("ribbon.PoolKeepAliveTime", "0"), UNIT], false),
    ] {
        let origin = TestOrigin::echoing();
        let setup = Setup::to_service(&origin).set("server.tomcat.max-threads", "1");
        let gateway = keys.iter().fold(setup, |setup, (key, value)| setup.set(*key, *value)).start();
        let mut client = gateway.client();
        let mut is_replaced = || {
            assert_eq!(client.get("/").status, 200);
            origin.connections() > 1
        };
        if ends {
            wait::until("the old connection was replaced", &mut is_replaced);
        } else {
            wait::stays("it is used on and on", Duration::from_millis(300), || !is_replaced());
        }
        drop(client);
        gateway.assert_quiet();
    }
}

#[test]
fn is_secure_means_tls() {
    let (seen, first) = unbounded();
    let origin = TestOrigin::scripted(move |talk| {
        let _ = seen.send(talk.peek_octet());
    });
    let gateway = Setup::to_service(&origin).set("up.ribbon.IsSecure", "true").start();
    assert_reason(&gateway.get("/"), 502, "connect_failed");
    const HANDSHAKE: u8 = 22;
    assert_eq!(first.recv_timeout(wait::PATIENCE), Ok(Some(HANDSHAKE)));
}

#[test]
fn connections_have_caps_in_total_and_per_host() {
    for key in ["ribbon.MaxTotalConnections", "up.ribbon.MaxConnectionsPerHost"] {
        let (release, gate) = unbounded();
        let origin = TestOrigin::gated(gate);
        let setup = Setup::to_service(&origin).set(key, "1");
        let gateway = setup.set("zuul.host.connectionRequestTimeoutMillis", "100").start();
        let mut busy = gateway.client();
        busy.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
        origin.wait_for_requests(1);
        assert_reason(&gateway.get("/"), 503, "upstream_pool_timeout");
        release.send(()).expect("the origin waits");
        assert_eq!(busy.response().text(), "released", "{key}");
        drop(busy);
        gateway.assert_quiet();
    }
}

/// A server with a scheme of its own, and one without a port.
#[test]
fn servers_are_written_in_several_ways() {
    let origin = TestOrigin::echoing();
    let setup =
        Setup::to_service(&origin).set("up.ribbon.listOfServers", format!("http://{}/ignored/path", origin.address()));
    assert_eq!(setup.start().get("/1").text(), "GET /1");
    let finished =
        Setup::to_service(&origin).set("up.ribbon.listOfServers", "127.0.0.1:notaport").run_to_end(&["check"]);
    assert_eq!(finished.status.code(), Some(1));
    assert!(finished.stderr.contains("listOfServers") || finished.stdout.contains("listOfServers"));
}
