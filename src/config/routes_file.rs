//! The JSON route file (`gateway.routes-file`), a second way to give routes:
//!
//! ```json
//! {"routeDefinitionList": [{"id": "product", "uri": "lb://productRibbon", "order": 0,
//!    "predicates": [{"name": "Path", "args": {"pattern": "/product/*"}}]}],
//!  "ribbonDefinitionList": [{"clientName": "productRibbon", "listOfServers": "localhost:9000"}]}
//! ```
//!
//! JSON is YAML, so it is read as such, and faults name their line. What can't be done as it is written is an error, never left out.

use super::catalogue::catalogue;
use super::fault::{Fault, Place};
use super::model::{RouteConfig, RouteTarget};
use super::resolve::{Route, target};
use super::settings::Setting;
use super::values::Value;
use super::yaml::{self, Key, Node};
use std::path::Path;
use std::sync::Arc;

/// Routes in their order, and the lists of servers by service.
pub(crate) type Definitions = (Vec<Route>, Vec<(String, Setting)>);

/// What a route file holds.
pub(crate) const LISTS: [&str; 2] = ["routeDefinitionList", "ribbonDefinitionList"];

/// Reads the file that the setting names; a relative path counts from the file that names it.
pub(crate) fn read(setting: &Setting, faults: &mut Vec<Fault>) -> Option<Definitions> {
    let path = setting.path();
    match std::fs::read_to_string(&path) {
        Ok(text) => parse(&path, &text, faults),
        Err(error) => {
            let message = format!("{} can't be read: {error}", path.display());
            faults.push(Fault::error(&setting.place, setting.name.clone(), message));
            None
        }
    }
}

/// Reads the text of a route file.
pub(crate) fn parse(path: &Path, text: &str, faults: &mut Vec<Fault>) -> Option<Definitions> {
    let mut reading = Reading { path: Arc::from(path), faults };
    let mut documents = match yaml::documents(text) {
        Ok(documents) => documents,
        Err(broken) => {
            reading.fault(broken.line.unwrap_or(1), "", format!("this is no JSON: {}", broken.message));
            return None;
        }
    };
    let root = documents.pop().filter(|_| documents.is_empty());
    let Some(Node::Map(map)) = root else {
        reading.fault(1, "", "a route file is one object");
        return None;
    };
    reading.root(map)
}

struct Reading<'a> {
    path: Arc<Path>,
    faults: &'a mut Vec<Fault>,
}

/// What is written of a route.
#[derive(Default)]
struct Written {
    id: Option<String>,
    uri: Option<(String, usize)>,
    order: i64,
    /// `Some(None)` when there are predicates, but faulty ones.
    path: Option<Option<String>>,
    /// Of `StripPrefix`.
    parts: i64,
}

/// An object's members.
type Members = Vec<(Key, Node)>;

impl Reading<'_> {
    fn root(&mut self, map: Members) -> Option<Definitions> {
        let (mut routes, mut services) = (Vec::new(), Vec::new());
        for (key, node) in self.distinct(map, "") {
            match key.text.as_str() {
                "routeDefinitionList" => routes = self.objects(&key, node, Self::route),
                "ribbonDefinitionList" => services = self.objects(&key, node, Self::service),
                other => self.fault(
                    key.line,
                    other,
                    "unknown; a route file has routeDefinitionList and ribbonDefinitionList",
                ),
            }
        }
        routes.sort_by_key(|(order, _)| *order);
        Some((routes.into_iter().map(|(_, route)| route).collect(), services))
    }

    fn objects<T>(&mut self, key: &Key, node: Node, one: fn(&mut Self, usize, Members) -> Option<T>) -> Vec<T> {
        let Node::List(items) = node else {
            self.fault(key.line, &key.text, "must be a list of objects");
            return Vec::new();
        };
        let mut found = Vec::new();
        for item in items {
            match item {
                Node::Map(members) => {
                    let line = members.first().map_or(key.line, |(first, _)| first.line);
                    let members = self.distinct(members, &key.text);
                    found.extend(one(self, line, members));
                }
                _ => self.fault(key.line, &key.text, "must be a list of objects"),
            }
        }
        found
    }

    fn route(&mut self, line: usize, members: Members) -> Option<(i64, Route)> {
        let written = self.written(members);
        let (Some(id), Some((uri, uri_line)), Some(path)) = (written.id, written.uri, written.path) else {
            self.fault(line, "routeDefinitionList", "a route needs an id, a uri and one predicate Path");
            return None;
        };
        let path = path?;
        let strip_prefix = self.strips(line, &path, written.parts)?;
        let target = match destination(&uri) {
            Ok(target) => target,
            Err(message) => {
                self.fault(uri_line, "uri", message);
                return None;
            }
        };
        let place = Place::File(self.path.clone(), Some(line));
        let name = format!("routeDefinitionList.{id}");
        let config = RouteConfig {
            id,
            path,
            target: target.target,
            strip_prefix,
            retryable: false,
            sensitive_headers: None,
            rejects_encoded_delimiters: false,
        };
        Some((written.order, Route { config, server: target.server, place, name }))
    }

    fn written(&mut self, members: Members) -> Written {
        let mut written = Written::default();
        for (key, node) in members {
            match (key.text.as_str(), node) {
                ("id", Node::Scalar(text, _)) => written.id = text,
                ("uri", Node::Scalar(text, line)) => written.uri = text.map(|text| (text, line)),
                ("order", Node::Scalar(text, line)) => written.order = self.number(text, line, "order"),
                ("predicates", node) => written.path = Some(self.only_path(&key, node)),
                ("filters", node) => written.parts = self.only_strip_prefix(&key, node),
                ("metadata", _) => {}
                (other, _) => {
                    self.fault(key.line, other, "can't be had in a route; it takes id, uri, order, predicates, filters")
                }
            }
        }
        written
    }

    /// Stripping is by the pattern up to its first wildcard, so only so many parts, or none, can be stripped.
    fn strips(&mut self, line: usize, path: &str, parts: i64) -> Option<bool> {
        let literal = path.split('/').skip(1).take_while(|part| !part.contains(['*', '{', '?'])).count();
        match usize::try_from(parts) {
            Ok(0) => Some(false),
            Ok(count) if count == literal => Some(true),
            _ => {
                let message =
                    format!("StripPrefix can take away all {literal} parts of {path} before its wildcard, or none");
                self.fault(line, "filters", message);
                None
            }
        }
    }

    fn only_path(&mut self, key: &Key, node: Node) -> Option<String> {
        let found = self.named(key, node);
        let [(name, argument)] = found.as_slice() else {
            self.fault(key.line, "predicates", "exactly one predicate is expected: Path");
            return None;
        };
        match (name.as_str(), argument.starts_with('/')) {
            ("Path", true) => Some(argument.clone()),
            ("Path", false) => {
                self.fault(key.line, "predicates", "Path needs one pattern that begins with /");
                None
            }
            _ => {
                self.fault(key.line, "predicates", format!("{name} is not known; the predicate is Path"));
                None
            }
        }
    }

    fn only_strip_prefix(&mut self, key: &Key, node: Node) -> i64 {
        let mut parts = 0;
        for (name, argument) in self.named(key, node) {
            match name.as_str() {
                "StripPrefix" => parts = self.number(Some(argument), key.line, "StripPrefix"),
                _ => self.fault(key.line, "filters", format!("{name} is not known; the filter is StripPrefix")),
            }
        }
        parts
    }

    /// `[{"name": "Path", "args": {"pattern": "/x"}}]` or `["Path=/x"]`, as names with their one argument.
    fn named(&mut self, key: &Key, node: Node) -> Vec<(String, String)> {
        let Node::List(items) = node else {
            self.fault(key.line, &key.text, "must be a list");
            return Vec::new();
        };
        let short = |text: &str| text.split_once('=').map(|(n, a)| (n.trim().to_string(), a.trim().to_string()));
        let found = items.into_iter().map(|item| match item {
            Node::Scalar(text, _) => text.and_then(|text| short(&text)),
            Node::Map(members) => with_argument(members),
            Node::List(_) => None,
        });
        let found: Option<Vec<_>> = found.collect();
        found.unwrap_or_else(|| {
            self.fault(key.line, &key.text, "each must have a name and args with one value");
            Vec::new()
        })
    }

    fn service(&mut self, line: usize, members: Members) -> Option<(String, Setting)> {
        let (mut name, mut servers) = (None, None);
        for (key, node) in members {
            match (key.text.as_str(), node) {
                ("clientName", Node::Scalar(text, _)) => name = text,
                ("listOfServers", Node::Scalar(Some(text), line)) => servers = Some((Value::Text(text), line)),
                (other, _) => self.fault(
                    key.line,
                    other,
                    "can't be had in ribbonDefinitionList; it takes clientName and listOfServers",
                ),
            }
        }
        let (Some(name), Some((value, line))) = (name, servers) else {
            self.fault(line, "ribbonDefinitionList", "a service needs a clientName and listOfServers");
            return None;
        };
        let key = catalogue().iter().find(|key| key.name == "<service...>.ribbon.listOfServers")?;
        let place = Place::File(self.path.clone(), Some(line));
        let spelt = format!("ribbonDefinitionList.{name}");
        Some((name.clone(), Setting { key, ids: vec![name], value, place, name: spelt }))
    }

    fn number(&mut self, text: Option<String>, line: usize, name: &str) -> i64 {
        text.and_then(|text| text.parse().ok()).unwrap_or_else(|| {
            self.fault(line, name, "must be a whole number");
            0
        })
    }

    /// The members without those given twice, which are faults.
    fn distinct(&mut self, members: Members, within: &str) -> Members {
        let mut distinct: Members = Vec::new();
        for (key, node) in members {
            match distinct.iter().find(|(first, _)| first.text == key.text) {
                Some((first, _)) => {
                    let message = format!("given twice, first on line {}", first.line);
                    self.fault(key.line, &format!("{within}.{}", key.text), message);
                }
                None => distinct.push((key, node)),
            }
        }
        distinct
    }

    fn fault(&mut self, line: usize, key: &str, message: impl Into<String>) {
        self.faults.push(Fault::error(&Place::File(self.path.clone(), Some(line)), key, message));
    }
}

fn with_argument(members: Members) -> Option<(String, String)> {
    let (mut name, mut argument) = (None, None);
    for (key, node) in members {
        match (key.text.as_str(), node) {
            ("name", Node::Scalar(text, _)) => name = text,
            ("args", node) => argument = single(node),
            _ => return None,
        }
    }
    Some((name?, argument?))
}

/// The one value in `{"pattern": "/x"}`, `{"patterns": ["/x"]}`, `["/x"]`.
fn single(node: Node) -> Option<String> {
    match node {
        Node::Scalar(text, _) => text,
        Node::List(mut items) if items.len() == 1 => single(items.remove(0)),
        Node::Map(mut members) if members.len() == 1 => single(members.remove(0).1),
        _ => None,
    }
}

/// `lb://service`, or a url, whose own path counts for nothing here.
fn destination(uri: &str) -> Result<super::resolve::Target, String> {
    match uri.strip_prefix("lb://") {
        Some(service) => match target(service)?.target {
            RouteTarget::Service(_) if !service.is_empty() && !service.contains('/') => target(service),
            _ => Err("lb:// is followed by the id of a service".into()),
        },
        None => match target(uri)? {
            found if found.server.is_some() => Ok(found),
            _ => Err("must begin with lb://, http:// or https://".into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> (Option<Definitions>, Vec<String>) {
        let mut faults = Vec::new();
        let definitions = parse(Path::new("routes.json"), text, &mut faults);
        (definitions, faults.iter().map(Fault::to_string).collect())
    }

    fn one_route(members: &str) -> String {
        format!("{{\"routeDefinitionList\": [\n{{{members}}}]}}")
    }

    #[track_caller]
    fn check(members: &str, path: &str, strip_prefix: bool, target: &RouteTarget) {
        let (definitions, faults) = read_text(&one_route(members));
        assert_eq!(faults, [""; 0], "{members}");
        let route = &definitions.expect("definitions").0[0].config;
        assert_eq!((route.path.as_str(), route.strip_prefix, &route.target), (path, strip_prefix, target), "{members}");
    }

    #[track_caller]
    fn refuse(text: &str, expected: &str) {
        let (_, faults) = read_text(text);
        assert!(faults.len() == 1 && faults[0].starts_with(expected), "expected {expected}, found {faults:#?}");
    }

    #[test]
    fn routes_lead_to_services_and_urls() {
        let service = RouteTarget::Service("s".into());
        let long = r#""id": "a", "uri": "lb://s", "predicates": [{"name": "Path", "args": {"pattern": "/a/**"}}]"#;
        check(long, "/a/**", false, &service);
        check(
            r#""id": "a", "uri": "lb://s", "predicates": ["Path=/a/*"], "filters": ["StripPrefix=1"]"#,
            "/a/*",
            true,
            &service,
        );
        check(r#""id": "a", "uri": "lb://s", "predicates": ["Path=/a/*"], "filters": []"#, "/a/*", false, &service);
        check(
            r#""id": "a", "uri": "lb://s", "predicates": [{"name": "Path", "args": {"patterns": ["/a/b/**"]}}],
               "filters": [{"name": "StripPrefix", "args": {"parts": 2}}]"#,
            "/a/b/**",
            true,
            &service,
        );
        let url = RouteTarget::Url { url: "http://h:1".into(), path: String::new() };
        check(r#""id": "a", "uri": "http://h:1", "predicates": ["Path=/a/**"]"#, "/a/**", false, &url);
    }

    #[test]
    fn routes_stand_by_their_order() {
        let route = |id: &str, order: i64| {
            format!(r#"{{"id": "{id}", "uri": "lb://s", "order": {order}, "predicates": ["Path=/{id}"]}}"#)
        };
        let text = format!("{{\"routeDefinitionList\": [{}, {}, {}]}}", route("a", 1), route("b", 0), route("c", 1));
        let (definitions, _) = read_text(&text);
        let ids: Vec<_> = definitions.expect("definitions").0.into_iter().map(|route| route.config.id).collect();
        assert_eq!(ids, ["b", "a", "c"]);
    }

    #[test]
    fn what_can_not_be_done_is_an_error() {
        refuse("[]", "error: routes.json:1: a route file is one object");
        refuse("{\"routeDefinitionList\": [", "error: routes.json:2: this is no JSON");
        refuse("{\"routes\": []}", "error: routes.json:1: routes: unknown");
        refuse("{\"routeDefinitionList\": {}}", "error: routes.json:1: routeDefinitionList: must be a list of objects");
        refuse(&one_route(r#""id": "a", "uri": "lb://s""#), "error: routes.json:2: routeDefinitionList: a route needs");
        let with =
            |more: &str| one_route(&format!(r#""id": "a", "uri": "lb://s", "predicates": ["Path=/a/**"], {more}"#));
        refuse(
            &with(r#""filters": ["AddRequestHeader=a, b"]"#),
            "error: routes.json:2: filters: AddRequestHeader is not known",
        );
        refuse(
            &with(r#""filters": ["StripPrefix=2"]"#),
            "error: routes.json:2: filters: StripPrefix can take away all 1 parts",
        );
        refuse(&with(r#""filters": ["StripPrefix=x"]"#), "error: routes.json:2: StripPrefix: must be a whole number");
        refuse(&with(r#""weight": 5"#), "error: routes.json:2: weight: can't be had in a route");
        refuse(&with(r#""id": "b""#), "error: routes.json:2: routeDefinitionList.id: given twice, first on line 2");
        refuse(
            &one_route(r#""id": "a", "uri": "lb://s", "predicates": ["Path=/a", "Method=GET"]"#),
            "error: routes.json:2: predicates: exactly one predicate is expected: Path",
        );
        let uri = |uri: &str| one_route(&format!(r#""id": "a", "predicates": ["Path=/a/**"], "uri": "{uri}""#));
        for wrong in ["lb://", "lb://a/b", "ws://h", "forward:/x", "s", "http://"] {
            refuse(&uri(wrong), "error: routes.json:2: uri: ");
        }
        let services = |members: &str| format!("{{\"ribbonDefinitionList\": [{{{members}}}]}}");
        refuse(&services(r#""clientName": "s""#), "error: routes.json:1: ribbonDefinitionList: a service needs");
        refuse(
            &services(r#""clientName": "s", "listOfServers": "h", "rule": 1"#),
            "error: routes.json:1: rule: can't be had",
        );
    }
}
