//! `zuul.routes.*`: what each route is called, matches and leads to, in the order of the file.
//!
//! Patterns stay as they are written (the router reads them), and a catch-all stays in its place (the router moves it). The route file's
//! routes are added behind those of the keys.

use super::address;
use super::zuul::headers;
use crate::config::fault::{Fault, Place};
use crate::config::model::{RouteConfig, RouteTarget, ServerAddress};
use crate::config::settings::{Read, Setting, Settings};
use crate::router::check_pattern;
use std::collections::{BTreeSet, HashSet};

/// Routes in order, each with where it was written and, for url routes, its server.
#[derive(Debug, Default)]
pub(super) struct RouteList {
    routes: Vec<Route>,
}

#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) config: RouteConfig,
    /// The url's server.
    pub(crate) server: Option<ServerAddress>,
    pub(crate) place: Place,
    pub(crate) name: String,
}

impl RouteList {
    /// Adds a route. An id that was there is an error; a path that was there is taken over, as in Zuul, with a warning.
    fn push(&mut self, route: Route, faults: &mut Vec<Fault>) {
        if let Some(first) = self.routes.iter().find(|first| first.config.id == route.config.id) {
            let message = format!("a second route of the id {}, first at {}", route.config.id, first.place);
            faults.push(Fault::error(&route.place, route.name, message));
            return;
        }
        match self.routes.iter_mut().find(|first| first.config.path == route.config.path) {
            Some(first) => {
                let message = format!(
                    "has the same path as the route {} ({}), whose place it takes: {}",
                    first.config.id, first.place, route.config.path
                );
                faults.push(Fault::warning(&route.place, route.name.clone(), message));
                *first = route;
            }
            None => self.routes.push(route),
        }
    }

    /// Adds the routes of a route file, which says nothing of retries.
    pub(super) fn add(&mut self, routes: Vec<Route>, retryable: bool, faults: &mut Vec<Fault>) {
        for mut route in routes {
            route.config.retryable = retryable;
            if let Err(message) = check_pattern(&route.config.path) {
                faults.push(Fault::error(&route.place, route.name.clone(), message));
            }
            self.push(route, faults);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Route> {
        self.routes.iter()
    }

    /// `gateway.encoded-delimiters.<id>`: of every route, or of all that have none of their own.
    pub(super) fn judge_delimiters(&mut self, settings: &Settings, faults: &mut Vec<Fault>) {
        const NAME: &str = "gateway.encoded-delimiters.<id>";
        let rejects = |id| settings.one(id).choice(NAME).map(|choice| choice == 1);
        let of_all = rejects("*").unwrap_or(false);
        for route in &mut self.routes {
            route.config.rejects_encoded_delimiters = rejects(&route.config.id).unwrap_or(of_all);
        }
        for setting in settings.iter().filter(|setting| setting.key.name == NAME && setting.ids[0] != "*") {
            if self.routes.iter().all(|route| route.config.id != setting.ids[0]) {
                let message = format!("there is no route of the id {}", setting.ids[0]);
                faults.push(Fault::error(&setting.place, setting.name.clone(), message));
            }
        }
    }

    pub(super) fn into_routes(self) -> Vec<RouteConfig> {
        self.routes.into_iter().map(|route| route.config).collect()
    }
}

/// The routes of the settings.
pub(super) fn routes(settings: &Settings, faults: &mut Vec<Fault>) -> RouteList {
    let mut list = RouteList::default();
    let mut keys: HashSet<&str> = HashSet::new();
    for setting in settings.iter().filter(|setting| setting.key.name.starts_with("zuul.routes.<id>")) {
        let key = setting.ids[0].as_str();
        if !keys.insert(key) {
            continue;
        }
        let route =
            OneRoute { read: settings.one(key), key, first: setting, retryable: settings.all().flag("zuul.retryable") };
        if let Some(route) = route.resolve(faults) {
            list.push(route, faults);
        }
    }
    list
}

struct OneRoute<'a> {
    read: Read<'a>,
    key: &'a str,
    /// The first of its settings.
    first: &'a Setting,
    retryable: Option<bool>,
}

impl OneRoute<'_> {
    fn resolve(&self, faults: &mut Vec<Fault>) -> Option<Route> {
        let short = self.read.words("zuul.routes.<id>");
        let (short_path, short_location) = match short.as_deref().map(|text| text.split_once('=').unwrap_or((text, "")))
        {
            Some((path, location)) => (Some(path.trim().to_string()), Some(location.trim().to_string())),
            None => (None, None),
        };
        let id = self.read.words("zuul.routes.<id>.id").unwrap_or_else(|| self.key.into());
        let path =
            self.read.words("zuul.routes.<id>.path").or(short_path).unwrap_or_else(|| format!("/{}/**", self.key));
        if let Err(message) = check_pattern(&path) {
            let written = self.read.setting("zuul.routes.<id>.path").unwrap_or(self.first);
            faults.push(Fault::error(&written.place, written.name.clone(), message));
        }
        let (target, server) = self.target(short_location.filter(|location| !location.is_empty()), faults)?;
        let config = RouteConfig {
            id,
            path: if path.starts_with('/') { path } else { format!("/{path}") },
            target,
            strip_prefix: self.read.flag("zuul.routes.<id>.strip-prefix").unwrap_or(true),
            retryable: self.read.flag("zuul.routes.<id>.retryable").or(self.retryable).unwrap_or(false),
            sensitive_headers: self.sensitive_headers(faults),
            rejects_encoded_delimiters: false,
        };
        let name = format!("zuul.routes.{}", self.key);
        Some(Route { config, server, place: self.first.place.clone(), name })
    }

    /// `url` wins over `location`, that over `service-id`, as in Zuul; without any, the key is the service.
    fn target(&self, short: Option<String>, faults: &mut Vec<Fault>) -> Option<(RouteTarget, Option<ServerAddress>)> {
        let named = ["zuul.routes.<id>.url", "zuul.routes.<id>.location"];
        let written = named.iter().find_map(|name| Some((self.read.words(name)?, self.read.setting(name)?)));
        let (location, setting) = match (written, short) {
            (Some(written), _) => written,
            (None, Some(short)) => (short, self.first),
            (None, None) => {
                let service = self.read.words("zuul.routes.<id>.service-id").unwrap_or_else(|| self.key.into());
                return Some((RouteTarget::Service(service), None));
            }
        };
        match target(&location) {
            Ok(target) => {
                let mut warn =
                    |message: &str| faults.push(Fault::warning(&setting.place, setting.name.clone(), message));
                target.left_out.into_iter().for_each(&mut warn);
                if matches!(target.target, RouteTarget::Service(_)) && setting.key.name.ends_with(".url") {
                    warn("is no url; taken for a service id, as in Zuul");
                }
                Some((target.target, target.server))
            }
            Err(message) => {
                faults.push(Fault::error(&setting.place, setting.name.clone(), message));
                None
            }
        }
    }

    /// Absent: the global list. Null and empty: nothing is sensitive. A value: that list alone.
    fn sensitive_headers(&self, faults: &mut Vec<Fault>) -> Option<BTreeSet<String>> {
        let own = self.read.setting("zuul.routes.<id>.sensitive-headers").map(|setting| headers(setting, faults));
        match self.read.flag("zuul.routes.<id>.custom-sensitive-headers") {
            Some(false) => None,
            Some(true) => Some(own.unwrap_or_default()),
            None => own,
        }
    }
}

/// Where a location leads.
pub(crate) struct Target {
    pub(crate) target: RouteTarget,
    pub(crate) server: Option<ServerAddress>,
    pub(crate) left_out: Option<&'static str>,
}

/// Reads a location: a url, `forward:/path`, or the id of a service.
pub(crate) fn target(location: &str) -> Result<Target, String> {
    let simple = |target| Target { target, server: None, left_out: None };
    let lower = location.to_lowercase();
    if let Some(path) = location.strip_prefix("forward:") {
        return match path.starts_with('/') {
            true => Ok(simple(RouteTarget::Forward(path.into()))),
            false => Err("forward: is followed by a path, such as forward:/actuator".into()),
        };
    }
    if lower.starts_with("http:") || lower.starts_with("https:") {
        let url = address::url(location)?;
        let target = RouteTarget::Url { url: location.into(), path: url.path };
        return Ok(Target { target, server: Some(url.server), left_out: url.left_out });
    }
    if location.contains("://") || location.contains(char::is_whitespace) {
        return Err("a url begins with http://, https:// or forward:/".into());
    }
    Ok(simple(RouteTarget::Service(location.into())))
}
