//! `portcullis healthcheck`: asks the health endpoint of the gateway that this configuration describes, as a container's probe would.

use super::{Exit, print};
use crate::config::Config;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// The longest wait for each of connect, send and answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Prints the answer's status line; fine when it is a 200.
pub(super) fn healthcheck(config: &Config) -> Exit {
    let address = address(config);
    match ask(address, &format!("{}/health", config.management.base_path)) {
        Ok(status_line) if status_line.starts_with("HTTP/1.1 200") => {
            print(&format!("{address}: {status_line}\n"));
            Exit::Fine
        }
        Ok(status_line) => {
            print(&format!("{address}: {status_line}\n"));
            Exit::Failed
        }
        Err(error) => {
            print(&format!("{address}: {error}\n"));
            Exit::Failed
        }
    }
}

/// Where the actuator listens; a wildcard address is reached on the loopback.
fn address(config: &Config) -> SocketAddr {
    let (ip, port) = match config.management.port {
        Some(port) => (config.management.address.unwrap_or(config.server.address), port),
        None => (config.server.address, config.server.port),
    };
    let ip = match ip {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, port)
}

fn ask(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(64 * 1024).read_to_end(&mut answer)?;
    let line = answer.split(|&b| b == b'\r').next().unwrap_or_default();
    Ok(String::from_utf8_lossy(line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asks_the_management_port_when_there_is_one() {
        let mut config = Config::default();
        assert_eq!(address(&config).to_string(), "127.0.0.1:8080");
        config.management.port = Some(8081);
        config.server.address = IpAddr::from(Ipv6Addr::UNSPECIFIED);
        assert_eq!(address(&config).to_string(), "[::1]:8081");
        config.management.address = Some(IpAddr::from([127, 0, 0, 2]));
        assert_eq!(address(&config).to_string(), "127.0.0.2:8081");
    }
}
