//! `portcullis routes [METHOD] PATH`: which route a request hits, what goes upstream, and why not.

use super::{Exit, print, tell};
use crate::config::Config;
use crate::exchange::Peer;
use crate::exchange::explain::explain;
use crate::router::Router;
use crate::wire::head::{HeadLimits, RequestHead};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Prints all routes, or what becomes of one request; failed when the configuration or the request can't be read.
pub(super) fn routes(config: &Config, request: &[String]) -> Exit {
    let router = match Router::new(config) {
        Ok(router) => router,
        Err(faults) => {
            tell(&faults);
            return Exit::Failed;
        }
    };
    let (method, path) = match request {
        [] => {
            for route in router.routes() {
                print(&format!("{:<16} {}\n", route.config.id, route.mapping()));
            }
            return Exit::Fine;
        }
        [path] => ("GET", path),
        [method, path, ..] => (method.as_str(), path),
    };
    match head(config, method, path) {
        Ok(head) => {
            print(&explain(config, &router, &head, &PEER).to_string());
            Exit::Fine
        }
        Err(fault) => {
            tell(&[format!("{method} {path}: {fault}")]);
            Exit::Failed
        }
    }
}

/// The request as it would come over the wire, so that the wire's own rules judge it too.
fn head(config: &Config, method: &str, path: &str) -> Result<RequestHead, String> {
    let octets = format!("{method} {path} HTTP/1.1\r\nHost: localhost:{}\r\n\r\n", config.server.port);
    let limits = HeadLimits::of_size(config.server.max_http_header_size);
    match RequestHead::parse(octets.as_bytes(), &limits, &config.server.relaxed) {
        Ok(Some((head, _))) => Ok(head),
        Ok(None) => Err("no request line".into()),
        Err(error) => Err(format!("{} {}: {error}", error.status().as_u16(), error.reason())),
    }
}

/// A client on this machine.
const PEER: Peer = Peer { remote: LOOPBACK, local: LOOPBACK, secure: false };
const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
