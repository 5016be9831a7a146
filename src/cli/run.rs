//! `portcullis run`: starts the gateway and waits for a signal; and the example service alone.
//!
//! The first SIGTERM or SIGINT drains, the second ends the process at once. SIGUSR1 reopens the access log's file.

use super::{Exit, tell};
use crate::config::model::Shutdown;
use crate::config::{Config, Loaded};
use crate::deadline::Deadline;
use crate::front::{Front, FrontConfig};
use crate::server::Server;
use crate::wire::head::HeadLimits;
use crossbeam_channel::{Receiver, bounded, select};
use log::{LevelFilter, error, info, warn};
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Runs until a signal says otherwise.
pub(super) fn run(loaded: Loaded) -> Exit {
    start_log(&loaded.config);
    tell(&loaded.warnings);
    let shutdown_timeout = shutdown_budget(&loaded.config);
    let signals = match signals() {
        Ok(signals) => signals,
        Err(error) => return failed("cannot handle signals", &error),
    };
    match Server::start(loaded.config) {
        Ok(server) => until_signalled(server, &signals, shutdown_timeout),
        Err(error) => failed("cannot start", &error),
    }
}

/// Serves the example service on `port` of the loopback until a signal.
pub(super) fn example_product(port: u16, threads: usize) -> Exit {
    start_log(&Config::default());
    let signals = match signals() {
        Ok(signals) => signals,
        Err(error) => return failed("cannot handle signals", &error),
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let head = HeadLimits::behind(Config::default().server.max_http_header_size);
    let config = FrontConfig { head, ..FrontConfig::small("example", address, threads) };
    match Front::start(config, Arc::new(crate::example::Example::default())) {
        Ok(front) => {
            info!("example service listening on {}", front.local_addr());
            while signals.recv() == Ok(SIGUSR1) {}
            let _ = front.drain(Deadline::after(Duration::from_secs(1)));
            Exit::Fine
        }
        Err(error) => failed("cannot start the example service", &error),
    }
}

fn until_signalled(server: Server, signals: &Receiver<i32>, shutdown_timeout: Duration) -> Exit {
    while signals.recv() == Ok(SIGUSR1) {
        server.reopen_access_log();
    }
    match shutdown_timeout {
        Duration::ZERO => info!("shutting down at once"),
        most => info!("shutting down, within {most:?}; a second signal ends at once"),
    }
    let (done, drained) = bounded(1);
    let drain = move || {
        let _ = done.send(server.drain(Deadline::after(shutdown_timeout)));
    };
    if let Err(error) = std::thread::Builder::new().name("drain".into()).spawn(drain) {
        return failed("cannot drain", &error);
    }
    loop {
        select! {
            recv(drained) -> clean => return if clean == Ok(true) { Exit::Fine } else { Exit::Unclean },
            recv(signals) -> signal => if signal != Ok(SIGUSR1) {
                warn!("second signal: ending at once");
                return Exit::Unclean;
            },
        }
    }
}

/// How long the drain may take: nothing when the shutdown is to be immediate.
fn shutdown_budget(config: &Config) -> Duration {
    match config.server.shutdown {
        Shutdown::Graceful => config.server.shutdown_timeout,
        Shutdown::Immediate => Duration::ZERO,
    }
}

/// Signals as messages, so that waiting for them can be combined with waiting for the drain.
fn signals() -> std::io::Result<Receiver<i32>> {
    let mut source = Signals::new([SIGTERM, SIGINT, SIGUSR1])?;
    let (sender, signals) = bounded(8);
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in source.forever() {
            if sender.send(signal).is_err() {
                return;
            }
        }
    })?;
    Ok(signals)
}

/// `logging.level.*` to standard error; `root` is the default for all.
fn start_log(config: &Config) {
    let mut log = env_logger::Builder::new();
    log.filter_level(LevelFilter::Info);
    // An orderly stop shuts the listener down under the crate's accepting thread, which calls that an error. Its other errors show in
    // `portcullis.tiny.accepting`; `logging.level.tiny_http` brings them back.
    log.filter_module("tiny_http", LevelFilter::Off);
    for (logger, level) in &config.logging {
        if logger.eq_ignore_ascii_case("root") {
            log.filter_level(*level);
        } else {
            log.filter_module(logger, *level);
        }
    }
    // A second start in one process keeps the first logger: only tests do that.
    let _ = log.try_init();
}

fn failed(what: &str, error: &dyn std::fmt::Display) -> Exit {
    error!("{what}: {error}");
    Exit::Failed
}
