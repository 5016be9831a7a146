//! The probes: what is sent, and what the backend does with it. They are data, `bench/fidelity/probes.toml`.
//!
//! Of what is known of a running Zuul 1, this can't be seen by requests alone, and is not probed:
//!
//! - the sizes of its chunks (A1): portcullis passes on the length or the upstream's pieces; when they come, `answer-in-two-parts` tells;
//! - the order of fields of service routes (A5): it is that of a hash table;
//! - `FallbackProvider`, filters and controllers of one's own (A7, A9): they are Java classes, and this Zuul has none; where a `forward:`
//!   leads is seen with the actuator as its target;
//! - what Zuul logs (A7), and in which waves a crowd is served (A8): how many are under way at once, and how it ends, are compared;
//! - the order of filters in `/actuator/filters` (A11), which varies from start to start: the lists are compared sorted;
//! - `/actuator/configprops` (A11): portcullis has none, `portcullis check` tells what is set; the defaults act in all other probes;
//! - how long calls took (A12): whether any was measured is compared; and the half second between events of the stream.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::io;

/// The file of the probes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Probes {
    /// Properties over those of `application.yml`; each setup is a start of both gateways.
    pub(super) setup: BTreeMap<String, BTreeMap<String, String>>,
    /// Setups in which Zuul has spring-retry on its class path; without it no service route retries, whatever the properties say.
    #[serde(default)]
    pub(super) spring_retry: Vec<String>,
    pub(super) probe: Vec<Probe>,
}

/// A request, or several.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(super) struct Probe {
    /// What entries of intended differences call it.
    pub(super) name: String,
    /// The part of the observations that it repeats.
    pub(super) section: String,
    pub(super) setup: String,
    /// `{route}` in the target is each of these; the name gets it as an ending.
    pub(super) routes: Vec<String>,
    pub(super) method: String,
    pub(super) target: String,
    pub(super) version: String,
    /// Absent: `Host: gw.example:8103`; an empty string: none.
    pub(super) host: Option<String>,
    /// Lines, as they are sent.
    pub(super) fields: Vec<String>,
    /// With its Content-Length, unless the fields say how it ends.
    pub(super) body: Option<String>,
    /// As many octets of `x` instead, or in place of `{octets}` in the body.
    pub(super) body_octets: usize,
    /// As many octets of `x` in a field `X-Long`.
    pub(super) long_field: usize,
    /// Requests one after the other, on one connection.
    pub(super) repeat: usize,
    /// Milliseconds between them.
    pub(super) pause: u64,
    /// Requests at once, on a connection each.
    pub(super) parallel: usize,
    /// What the backend answers, octet for octet; absent: 200 and a JSON body; empty: nothing, it closes.
    pub(super) answer: Option<String>,
    /// As many octets of `y` in place of `{octets}` in it.
    pub(super) answer_octets: usize,
    /// Milliseconds before it does.
    pub(super) wait: u64,
    /// Only as many of the first requests that come are waited with; 0: all.
    pub(super) late: usize,
    /// What it sends half a second after the answer.
    pub(super) rest: Option<String>,
    /// Limits in milliseconds, ascending, far enough apart for a slow machine: which of them had passed at the end is compared.
    pub(super) limits: Vec<u64>,
    /// The order of lists in a JSON body has no meaning.
    pub(super) unordered: bool,
    /// The answer is a stream that does not end.
    pub(super) stream: Option<Stream>,
    /// The connection is closed after the answer.
    pub(super) close: bool,
    /// It neither says more nor closes.
    pub(super) stall: bool,
}

/// What is done before and while `hystrix.stream` is listened to.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Stream {
    /// Whose events are waited for; empty: nobody's, a few pings do.
    pub(super) command: String,
    /// The target of the requests that are counted.
    pub(super) load: String,
    pub(super) before: usize,
    /// Once the command has been heard of.
    pub(super) during: usize,
}

/// The backend's usual answer.
const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 48\r\n\r\n\
    [{\"id\":1,\"name\":\"anvil\"},{\"id\":2,\"name\":\"rope\"}]\n";

impl Probes {
    /// Reads the file, a probe for each of its routes.
    pub(super) fn parse(text: &str) -> io::Result<Self> {
        let mut probes: Self = toml::from_str(text).map_err(io::Error::other)?;
        probes.probe = probes.probe.iter().flat_map(Probe::of_each_route).collect();
        for (index, probe) in probes.probe.iter().enumerate() {
            if !probes.setup.contains_key(probe.setup()) {
                return Err(io::Error::other(format!("{}: no setup {}", probe.name, probe.setup())));
            }
            if !probe.limits.is_sorted() {
                return Err(io::Error::other(format!("{}: limits descend", probe.name)));
            }
            if probes.probe[..index].iter().any(|before| before.name == probe.name) {
                return Err(io::Error::other(format!("{}: twice", probe.name)));
            }
        }
        match probes.spring_retry.iter().find(|setup| !probes.setup.contains_key(*setup)) {
            Some(setup) => Err(io::Error::other(format!("spring-retry: no setup {setup}"))),
            None => Ok(probes),
        }
    }
}

impl Probe {
    fn of_each_route(&self) -> Vec<Self> {
        if self.routes.is_empty() {
            return vec![self.clone()];
        }
        let with = |route: &String| Self {
            name: format!("{}.{route}", self.name),
            target: self.target.replace("{route}", route),
            ..self.clone()
        };
        self.routes.iter().map(with).collect()
    }

    pub(super) fn setup(&self) -> &str {
        if self.setup.is_empty() { "base" } else { &self.setup }
    }

    pub(super) fn method(&self) -> &str {
        if self.method.is_empty() { "GET" } else { &self.method }
    }

    /// The request's octets, as Latin-1 text.
    pub(super) fn request(&self) -> String {
        let version = if self.version.is_empty() { "HTTP/1.1" } else { &self.version };
        let mut text = format!("{} {} {version}\r\n", self.method(), self.target);
        match self.host.as_deref() {
            None => text += "Host: gw.example:8103\r\n",
            Some("") => {}
            Some(host) => text += &format!("Host: {host}\r\n"),
        }
        self.fields.iter().for_each(|field| text += &format!("{field}\r\n"));
        if self.long_field > 0 {
            text += &format!("X-Long: {}\r\n", "x".repeat(self.long_field));
        }
        let octets = "x".repeat(self.body_octets);
        let body = match &self.body {
            Some(body) => Some(body.replace("{octets}", &octets)),
            None => (self.body_octets > 0).then_some(octets),
        };
        let framed = self.fields.iter().any(|field| {
            let name = field.split(':').next().unwrap_or_default().to_ascii_lowercase();
            name == "content-length" || name == "transfer-encoding"
        });
        if let Some(body) = body.as_ref().filter(|_| !framed) {
            text += &format!("Content-Length: {}\r\n", body.chars().count());
        }
        text + "\r\n" + &body.unwrap_or_default()
    }

    /// What the backend sends.
    pub(super) fn answer(&self) -> String {
        self.answer.as_deref().unwrap_or(ANSWER).replace("{octets}", &"y".repeat(self.answer_octets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(probe: &str) -> io::Result<Vec<Probe>> {
        Probes::parse(&format!("[setup.base]\n[[probe]]\n{probe}")).map(|probes| probes.probe)
    }

    #[test]
    fn a_probe_is_played_on_each_of_its_routes() {
        let probes = parsed("name = 'plain'\nroutes = ['url', 'svc']\ntarget = '/{route}/list'").unwrap();
        assert_eq!(probes.iter().map(|probe| probe.name.as_str()).collect::<Vec<_>>(), ["plain.url", "plain.svc"]);
        assert_eq!(probes[1].request(), "GET /svc/list HTTP/1.1\r\nHost: gw.example:8103\r\n\r\n");
    }

    #[test]
    fn a_body_tells_its_length_unless_the_fields_do() {
        let request =
            |more: &str| parsed(&format!("name = 'a'\ntarget = '/'\nhost = ''\n{more}")).unwrap()[0].request();
        assert_eq!(request("body = 'é'"), "GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\n\u{e9}");
        assert_eq!(request("body = 'a={octets}'\nbody-octets = 3"), "GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\na=xxx");
        let chunked = request("method = 'POST'\nfields = ['Transfer-Encoding: chunked']\nbody = \"0\\r\\n\\r\\n\"");
        assert_eq!(chunked, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    }

    #[test]
    fn a_slip_in_the_file_is_told() {
        assert!(Probes::parse("spring-retry = ['none']\nprobe = []\n[setup.base]").is_err());
        for wrong in [
            "name = 'a'\nlimits = [2, 1]",
            "name = 'a'\nsetup = 'none'",
            "name = 'a'\ntargte = '/'",
            "name = 'a'\n[[probe]]\nname = 'a'",
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
