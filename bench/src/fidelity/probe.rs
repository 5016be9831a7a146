//! The probes: what is sent, and what the backend does with it. They are data, `bench/fidelity/probes.toml`.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::io;

/// The file of the probes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Probes {
    /// Properties over those of `application.yml`; each setup is a start of both gateways.
    pub(super) setup: BTreeMap<String, BTreeMap<String, String>>,
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
    /// As many octets of `x` instead.
    pub(super) body_octets: usize,
    /// As many octets of `x` in a field `X-Long`.
    pub(super) long_field: usize,
    /// Requests one after the other, on one connection.
    pub(super) repeat: usize,
    /// Requests at once, on a connection each.
    pub(super) parallel: usize,
    /// What the backend answers, octet for octet; absent: 200 and a JSON body; empty: nothing, it closes.
    pub(super) answer: Option<String>,
    /// Milliseconds before it does.
    pub(super) wait: u64,
    /// The connection is closed after the answer.
    pub(super) close: bool,
    /// It neither says more nor closes.
    pub(super) stall: bool,
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
            if probes.probe[..index].iter().any(|before| before.name == probe.name) {
                return Err(io::Error::other(format!("{}: twice", probe.name)));
            }
        }
        Ok(probes)
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
        let body = match &self.body {
            Some(body) => Some(body.clone()),
            None => (self.body_octets > 0).then(|| "x".repeat(self.body_octets)),
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
    pub(super) fn answer(&self) -> &str {
        self.answer.as_deref().unwrap_or(ANSWER)
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
        let chunked = request("method = 'POST'\nfields = ['Transfer-Encoding: chunked']\nbody = \"0\\r\\n\\r\\n\"");
        assert_eq!(chunked, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    }

    #[test]
    fn a_slip_in_the_file_is_told() {
        for wrong in ["name = 'a'\nsetup = 'none'", "name = 'a'\ntargte = '/'", "name = 'a'\n[[probe]]\nname = 'a'"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
