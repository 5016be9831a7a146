//! Whole calls against a scripted origin.

use super::testing::{Origin, TestClient, call, drain, get, request, server};
use super::*;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

#[track_caller]
fn is_idle(server: &Server, connections: usize) {
    let expected = PoolCounts { open: connections, idle: connections, pending: 0 };
    assert_eq!(server.pool(), expected);
}

#[test]
fn a_connection_is_used_again() {
    let origin = Origin::answering(OK);
    let server = server(&origin);
    for attempt in 0..3 {
        let mut answer = get(&server).unwrap();
        assert_eq!((answer.status.as_u16(), answer.body.length()), (200, Some(5)));
        assert_eq!(answer.marks.reused, attempt > 0);
        assert_eq!(drain(&mut answer).unwrap(), "hello");
        is_idle(&server, 1);
    }
    assert_eq!(origin.accepted(), 1);
}
