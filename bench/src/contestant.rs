//! Who takes part, and with which limits: everything in the path that could bind is raised, for all alike, and printed.

use crate::child::{Output, Running};
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A started contestant: where to send requests, and the process behind it.
pub(crate) struct Contestant {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    /// The backend when there is no proxy.
    pub(crate) process: Option<Running>,
}

/// A directory for configurations and logs, removed at the end.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("portcullis-bench-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The backend, in a process of its own.
pub(crate) fn backend(delay_ms: u64) -> io::Result<(Running, SocketAddr)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["backend", "--delay-ms", &delay_ms.to_string()]);
    Running::listening(command, Output::Stdout)
}

/// portcullis with `workers` threads before `backend`.
pub(crate) fn portcullis(scratch: &Scratch, backend: SocketAddr, workers: usize) -> io::Result<Contestant> {
    let file = scratch.path().join(format!("portcullis-{workers}.yaml"));
    fs::write(&file, portcullis_yaml(backend, workers))?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["gateway", "-c"]).arg(&file);
    let (process, address) = Running::listening(command, Output::Stderr)?;
    let name = if workers == 200 { "portcullis" } else { "portcullis, 1200" };
    Ok(Contestant { name, address: loopback(address), process: Some(process) })
}

/// What portcullis is told; printed by `quick`.
pub(crate) fn portcullis_yaml(backend: SocketAddr, workers: usize) -> String {
    format!(
        "server:\n  port: 0\n  address: 127.0.0.1\n  tomcat: {{max-threads: {workers}, max-connections: 20000, accept-count: 10000}}\n\
         zuul:\n  semaphore: {{max-semaphores: 20000}}\n  routes:\n    product: {{path: /product/**, service-id: product, strip-prefix: false}}\n\
         product:\n  ribbon: {{listOfServers: \"{backend}\", MaxTotalConnections: 20000, MaxConnectionsPerHost: 20000, ReadTimeout: 30000}}\n\
         hystrix:\n  command:\n    product:\n      execution: {{isolation: {{thread: {{timeoutInMilliseconds: 60000}}}}}}\n\
         gateway:\n  access-log: {{format: 'off'}}\n  queue: {{timeout: 30s}}\n"
    )
}

/// nginx with two workers and kept-alive upstream connections before `backend`; an error tells how to get it.
pub(crate) fn nginx(scratch: &Scratch, backend: SocketAddr) -> io::Result<Contestant> {
    let address = free_address()?;
    let file = scratch.path().join("nginx.conf");
    fs::write(&file, nginx_conf(scratch.path(), backend, address))?;
    let mut command = Command::new("nginx");
    command.arg("-p").arg(scratch.path()).arg("-c").arg(&file).arg("-e").arg(scratch.path().join("error.log"));
    let process = Running::at(command, address).map_err(|error| {
        io::Error::new(error.kind(), format!("nginx: {error} (Debian: apt-get install nginx-light)"))
    })?;
    Ok(Contestant { name: "nginx", address, process: Some(process) })
}

/// What nginx is told; printed by `quick`.
pub(crate) fn nginx_conf(scratch: &Path, backend: SocketAddr, address: SocketAddr) -> String {
    let temp: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("  {kind}_temp_path {};\n", scratch.join(kind).display()))
        .concat();
    format!(
        "daemon off;\nworker_processes 2;\nworker_rlimit_nofile 65535;\npid {}/nginx.pid;\nevents {{ worker_connections 30000; }}\n\
         http {{\n{temp}  access_log off;\n  keepalive_requests 1000000000;\n  client_max_body_size 0;\n  \
         upstream backend {{ server {backend}; keepalive 1024; keepalive_requests 1000000000; }}\n  \
         server {{\n    listen {address} backlog=10000;\n    location / {{\n      proxy_pass http://backend;\n      \
         proxy_http_version 1.1;\n      proxy_set_header Connection \"\";\n    }}\n  }}\n}}\n",
        scratch.display()
    )
}

/// nginx cannot be told to pick a port: one that was free a moment ago.
fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

fn loopback(address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() { (Ipv4Addr::LOCALHOST, address.port()).into() } else { address }
}
