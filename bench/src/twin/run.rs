//! The start and the end of the twin, as a value inside a program and as a program of its own.

use super::absent;
use super::backend::Backends;
use super::gateway::Gateway;
use super::listener::{Listener, listen};
use clap::Parser;
use portcullis::config::model::Shutdown;
use portcullis::config::{self, Config, Loaded, Sources};
use portcullis::deadline::Deadline;
use portcullis::metrics::{Collect, Sink};
use portcullis::server::{Surroundings, Told};
use std::ffi::OsString;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The asynchronous twin of portcullis: the same gateway.yaml on tokio and hyper.
#[derive(Debug, Parser)]
#[command(name = "async-gateway", version)]
struct Arguments {
    /// Configuration file, as portcullis takes it; repeatable, later ones win.
    #[arg(short, long = "config", value_name = "FILE", required = true)]
    config: Vec<PathBuf>,
    /// Worker threads of the runtime; one a core without it.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

/// A running twin. Dropping it without [`Self::drain`] cuts what runs.
pub struct Twin {
    address: SocketAddr,
    runtime: Runtime,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<()>,
    around: Surroundings,
}

impl Twin {
    /// Starts it on a runtime with so many threads, or one a core.
    ///
    /// # Errors
    /// An address that cannot be listened on, a log file, a route's pattern; also a configuration that the twin cannot serve at all.
    pub fn start(config: &Config, threads: Option<usize>) -> io::Result<Self> {
        absent::refuse(config)?;
        portcullis::front::raise_descriptors();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads.unwrap_or(cores))
            .thread_name("twin")
            .enable_all()
            .build()?;
        let around =
            Surroundings::start(config, Told::nothing()).map_err(|error| io::Error::other(error.to_string()))?;
        let backends = Arc::new(Backends::new(config));
        let gateway = Arc::new(Gateway::new(config, &around, backends.clone()));
        let listener = Arc::new(Listener::new(&config.server, gateway));
        let socket = runtime.block_on(async { listen(&config.server) })?;
        let address = socket.local_addr()?;
        around.register([listener.meters.clone() as Arc<dyn Collect>, backends]);
        let (stop, stopped) = oneshot::channel();
        let ended = runtime.spawn(listener.run(socket, stopped));
        Ok(Self { address, runtime, stop, ended, around })
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the actuator listens, when it has a listener of its own.
    pub fn management(&self) -> Option<SocketAddr> {
        self.around.management_addr()
    }

    /// Tells everything that is counted.
    pub fn collect(&self, sink: &mut dyn Sink) {
        self.around.registry.collect(sink);
    }

    /// Ends in order: nothing new is taken, what runs may finish by `by`. True when nothing had to be cut.
    pub fn drain(self, by: Deadline) -> bool {
        self.drain_unless(by, std::future::pending())
    }

    /// The same, cut short as soon as `hurried` is ready.
    fn drain_unless(self, by: Deadline, hurried: impl Future<Output = ()>) -> bool {
        let Self { runtime, stop, ended, around, .. } = self;
        around.draining.store(true, Relaxed);
        // A listener that is gone has stopped.
        let _ = stop.send(());
        let clean = runtime.block_on(async {
            tokio::select! {
                biased;
                ended = ended => ended.is_ok(),
                () = super::lease::until(by) => false,
                () = hurried => false,
            }
        });
        runtime.shutdown_background();
        around.end();
        clean
    }
}

/// Runs the twin until a signal; the arguments are `-c FILE` and `--threads N`.
pub fn main(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    let environment = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
    let environment = environment.collect();
    let loaded = match config::load(&Sources { files: arguments.config, arguments: Vec::new(), environment }) {
        Ok(loaded) => loaded,
        Err(faults) => {
            faults.iter().for_each(|fault| say(&fault.to_string()));
            return ExitCode::FAILURE;
        }
    };
    match run(&loaded, arguments.threads.map(usize::from)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(3),
        Err(error) => {
            say(&format!("cannot start: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Whether it ended in order.
fn run(loaded: &Loaded, threads: Option<usize>) -> io::Result<bool> {
    loaded.warnings.iter().for_each(|warning| say(&warning.to_string()));
    absent::from(loaded).iter().for_each(|absent| say(absent));
    let twin = Twin::start(&loaded.config, threads)?;
    let mut signals = {
        let _inside = twin.runtime.enter();
        [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?]
    };
    if let Some(management) = twin.management() {
        say(&format!("management on {management}"));
    }
    say(&format!("listening on {}", twin.address()));
    twin.runtime.block_on(any(&mut signals));
    let budget = match loaded.config.server.shutdown {
        Shutdown::Graceful => loaded.config.server.shutdown_timeout,
        Shutdown::Immediate => Duration::ZERO,
    };
    Ok(twin.drain_unless(Deadline::after(budget), any(&mut signals)))
}

/// The next signal.
async fn any([terminate, interrupt]: &mut [Signal; 2]) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// A line on standard error; a closed pipe is the reader's affair.
fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
