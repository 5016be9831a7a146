//! The gateway under test: the real binary, as a process of its own (or as a value inside this one), on ports that the system picks.
//!
//! The only place that knows how it is started, what it says when it listens, and where it shows its gauges. A test says what differs from
//! a calm default with [`Setup`], in the words of the configuration file.

use super::client::RawClient;
use super::message::Message;
use super::origin::TestOrigin;
use super::parts::Scratch;
use super::wait;
use parking_lot::Mutex;
use portcullis::server::{Server, StartError};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

/// Which front serves: tests of what both can do run for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    /// Our own.
    Native,
    /// `tiny_http`.
    TinyHttp,
}

impl Container {
    /// As `server.container` names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::TinyHttp => "tiny-http",
        }
    }
}

/// Milliseconds that an upstream is given.
const PATIENT: &str = "30000";

/// Makes one test of each function, for each container.
macro_rules! for_both_containers {
    ($($name:ident),+ $(,)?) => {
        mod native {
            $(#[test] fn $name() { super::$name(crate::support::gateway::Container::Native); })+
        }
        mod tiny_http {
            $(#[test] fn $name() { super::$name(crate::support::gateway::Container::TinyHttp); })+
        }
    };
}
pub(crate) use for_both_containers;

/// What a gateway is told.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    keys: Vec<(String, String)>,
    files: Vec<(String, String)>,
    args: Vec<String>,
    env: Vec<(String, String)>,
    max_files: Option<u32>,
}

impl Setup {
    /// On loopback, with everything exposed, and nothing routed.
    pub(crate) fn new() -> Self {
        let setup = Self { keys: Vec::new(), files: Vec::new(), args: Vec::new(), env: Vec::new(), max_files: None };
        setup
            .set("server.address", "127.0.0.1")
            .set("server.port", "0")
            .set("management.server.address", "127.0.0.1")
            .set("management.server.port", "0")
            .set("management.endpoints.web.exposure.include", "*")
            // Long enough that a test which is about something else never meets them.
            .set("ribbon.ReadTimeout", PATIENT)
            .set("zuul.host.socketTimeoutMillis", PATIENT)
    }

    /// One url route, `up`, that leads everything to `origin`.
    pub(crate) fn to(origin: &TestOrigin) -> Self {
        Self::new().url_route("up", "/**", &origin.url())
    }

    /// One service route, `up`, that leads everything to `origin`.
    pub(crate) fn to_service(origin: &TestOrigin) -> Self {
        Self::new().service_route("up", "/**", &[origin])
    }

    /// Another url route.
    pub(crate) fn url_route(self, id: &str, path: &str, url: &str) -> Self {
        self.set(format!("zuul.routes.{id}.path"), path).set(format!("zuul.routes.{id}.url"), url)
    }

    /// Another service route, the service being named as the route.
    pub(crate) fn service_route(self, id: &str, path: &str, origins: &[&TestOrigin]) -> Self {
        let servers: Vec<_> = origins.iter().map(|origin| origin.address().to_string()).collect();
        self.set(format!("zuul.routes.{id}.path"), path)
            .set(format!("zuul.routes.{id}.serviceId"), id)
            .set(format!("{id}.ribbon.listOfServers"), servers.join(","))
    }

    /// Sets a key, in place of its former value if it has one.
    pub(crate) fn set(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        let key = key.into();
        self.keys.retain(|(former, _)| *former != key);
        self.keys.push((key, value.into()));
        self
    }

    /// Leaves a key out.
    pub(crate) fn unset(mut self, key: &str) -> Self {
        self.keys.retain(|(former, _)| former != key);
        self
    }

    /// Chooses the container. Under the native one the servers' client is ureq then: with its own all other tests are.
    pub(crate) fn container(self, container: Container) -> Self {
        let setup = self.set("server.container", container.name());
        if container == Container::Native { setup.set("gateway.http-client", "ureq") } else { setup }
    }

    /// Another configuration file after the first.
    pub(crate) fn file(mut self, name: &str, content: impl Into<String>) -> Self {
        self.files.push((name.into(), content.into()));
        self
    }

    /// Another argument on the command line.
    pub(crate) fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// A variable in the environment.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Lets the process have so many descriptors and no more.
    pub(crate) fn files(mut self, max: u32) -> Self {
        self.max_files = Some(max);
        self
    }

    /// Starts the gateway and waits until it listens.
    #[track_caller]
    pub(crate) fn start(self) -> TestGateway {
        TestGateway::over(GatewayProcess::run(&self))
    }

    /// Runs another subcommand of the binary to its end.
    pub(crate) fn run_to_end(&self, subcommand: &[&str]) -> Finished {
        let (scratch, mut command) = self.command();
        command.args(subcommand);
        let output = command.output().expect("the binary starts");
        drop(scratch);
        Finished {
            status: output.status,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Starts the gateway inside this process.
    #[track_caller]
    pub(crate) fn start_inside(&self) -> Result<Server, StartError> {
        let loaded = portcullis::config::load_str(&self.yaml()).expect("the configuration is sound");
        Server::start(loaded.config)
    }

    /// The keys as a configuration file.
    fn yaml(&self) -> String {
        let mut yaml = String::new();
        for (key, value) in &self.keys {
            // JSON strings are YAML strings; a text binds to any type, as it does from the environment.
            let (key, value) = (serde_json::json!(key), serde_json::json!(value));
            writeln!(yaml, "{key}: {value}").expect("strings can be written to");
        }
        yaml
    }

    fn command(&self) -> (Scratch, Command) {
        let scratch = Scratch::new();
        let binary = env!("CARGO_BIN_EXE_portcullis");
        let mut command = match self.max_files {
            None => Command::new(binary),
            Some(max) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", &format!("ulimit -n {max}; exec \"$0\" \"$@\""), binary]);
                shell
            }
        };
        command.current_dir(scratch.path()).stdin(Stdio::null()).env("RUST_BACKTRACE", "1");
        command.arg("-c").arg(scratch.write("gateway.yaml", self.yaml()));
        for (name, content) in &self.files {
            command.arg("-c").arg(scratch.write(name, content));
        }
        command.args(&self.args).envs(self.env.iter().map(|(name, value)| (name, value)));
        (scratch, command)
    }
}

/// What a run of the binary left.
#[derive(Debug)]
pub(crate) struct Finished {
    /// How it ended.
    pub(crate) status: ExitStatus,
    /// What it printed.
    pub(crate) stdout: String,
    /// What it complained about.
    pub(crate) stderr: String,
}

/// The binary, running.
pub(crate) struct GatewayProcess {
    child: Child,
    stdout: Lines,
    stderr: Lines,
    _scratch: Scratch,
}

type Lines = Arc<Mutex<Vec<String>>>;

impl GatewayProcess {
    /// Starts it; whether and where it listens is found out from what it says.
    pub(crate) fn run(setup: &Setup) -> Self {
        let (scratch, mut command) = setup.command();
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let stdout = collect(child.stdout.take().expect("piped"));
        let stderr = collect(child.stderr.take().expect("piped"));
        Self { child, stdout, stderr, _scratch: scratch }
    }

    /// What it printed so far: the access log.
    pub(crate) fn stdout(&self) -> Vec<String> {
        self.stdout.lock().clone()
    }

    /// What it logged so far.
    pub(crate) fn stderr(&self) -> Vec<String> {
        self.stderr.lock().clone()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("the process is ours and there");
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> ExitStatus {
        wait::until_some("the gateway ends", || self.child.try_wait().expect("the child can be asked"))
    }

    /// Whether it runs.
    pub(crate) fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// The address in the first line that says where the gateway listens, or where its management does.
    fn address_said(&self, of_management: bool) -> Option<SocketAddr> {
        let lines = [self.stderr(), self.stdout()].concat();
        let said = if of_management { "] management on " } else { "] listening on " };
        lines.iter().find_map(|line| line.split_once(said)?.1.parse().ok())
    }
}

impl Drop for GatewayProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- the gateway's log:\n{}", self.stderr().join("\n"));
        }
    }
}

/// A gateway that listens.
pub(crate) struct TestGateway {
    /// The process behind it.
    pub(crate) process: GatewayProcess,
    address: SocketAddr,
    management: Option<SocketAddr>,
}

impl TestGateway {
    #[track_caller]
    fn over(mut process: GatewayProcess) -> Self {
        let mut found = None;
        wait::until("the gateway listens", || {
            found = process.address_said(false);
            found.is_some() || !process.runs()
        });
        let Some(address) = found else {
            panic!("the gateway ended instead of listening:\n{}", process.stderr().join("\n"));
        };
        let management = process.address_said(true);
        Self { process, address, management }
    }

    /// Where it serves.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where its management listens; with a port of its own.
    #[track_caller]
    pub(crate) fn management(&self) -> SocketAddr {
        self.management.expect("management has a listener of its own")
    }

    /// A connection to it.
    #[track_caller]
    pub(crate) fn client(&self) -> RawClient {
        RawClient::connect(self.address)
    }

    /// A GET on a connection of its own.
    #[track_caller]
    pub(crate) fn get(&self, target: &str) -> Message {
        self.client().get(target)
    }

    /// A GET of a management page.
    #[track_caller]
    pub(crate) fn manage(&self, target: &str) -> Message {
        let mut client = RawClient::connect(self.management());
        client.send(format!("GET {target} HTTP/1.1\r\nHost: gw.test\r\nConnection: close\r\n\r\n"));
        client.response()
    }

    /// Every measured value, by name and labels, as Prometheus would read it.
    #[track_caller]
    pub(crate) fn metrics(&self) -> BTreeMap<String, f64> {
        let page = self.manage("/actuator/prometheus");
        assert_eq!(page.status, 200, "{}", page.text());
        let values = page.text();
        let values = values.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit_once(' '));
        values.map(|(name, value)| (name.to_owned(), value.parse().expect("a number"))).collect()
    }

    /// The sum of the values of this name whose labels hold `label`, 0 when there is none.
    #[track_caller]
    pub(crate) fn metric(&self, name: &str, label: &str) -> f64 {
        let metrics = self.metrics();
        let named = |key: &&String| key.split('{').next() == Some(name) && key.contains(label);
        metrics.iter().filter(|(key, _)| named(key)).fold(0.0, |sum, (_, value)| sum + value)
    }

    /// Checks that nothing is held any more: every gauge of things in use, waiting or busy comes back to zero.
    #[track_caller]
    pub(crate) fn assert_quiet(&self) {
        const OF_USE: [&str; 6] =
            ["_in_use", "_in_flight", "_waiting", "_queued", "_pending", "_concurrent_execution_current"];
        const WAITS: [&str; 3] = ["phase=\"connect\"", "phase=\"upstream\"", "phase=\"pool\""];
        let of_use = |key: &str| {
            let name = key.split('{').next().unwrap_or_default();
            OF_USE.iter().any(|end| name.ends_with(end)) || WAITS.iter().any(|phase| key.contains(phase))
        };
        let mut held: Vec<(String, f64)> = Vec::new();
        let quiet = wait::holds_within(wait::PATIENCE, || {
            let metrics = self.metrics();
            assert!(metrics.keys().any(|key| of_use(key)), "the gateway shows its gauges");
            let total = |name: &str| {
                metrics.iter().filter(|(key, _)| key.starts_with(name)).map(|(_, value)| value).sum::<f64>()
            };
            let leased =
                total("portcullis_upstream_connections_open{") - total("portcullis_upstream_connections_idle{");
            held = metrics
                .iter()
                .filter(|(key, value)| of_use(key) && **value != 0.0)
                .map(|(k, v)| (k.clone(), *v))
                .collect();
            if leased != 0.0 {
                held.push(("upstream connections that are not idle".to_owned(), leased));
            }
            held.is_empty()
        });
        assert!(quiet, "still held: {held:?}");
    }

    /// Ends it in order and returns its exit code.
    #[track_caller]
    pub(crate) fn stop(&mut self) -> Option<i32> {
        self.process.signal(rustix::process::Signal::TERM);
        self.process.wait().code()
    }
}

fn collect(from: impl Read + Send + 'static) -> Lines {
    let lines = Lines::default();
    let kept = lines.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            kept.lock().push(line);
        }
    });
    lines
}

/// A refusal or failure of the gateway's own: status, reason, and that the answer says so in header and body alike.
#[track_caller]
pub(crate) fn assert_reason(answer: &Message, status: u16, reason: &str) {
    assert_eq!((answer.status, answer.field("X-Gateway-Reason").as_deref()), (status, Some(reason)), "{answer:?}");
    let body: serde_json::Value = serde_json::from_slice(&answer.body).expect("the error body is JSON");
    assert_eq!((&body["status"], &body["reason"]), (&status.into(), &reason.into()), "{body}");
    let retry = answer.field("Retry-After");
    assert_eq!(retry.is_some(), matches!(status, 503 | 429), "Retry-After of {status} is {retry:?}");
}
