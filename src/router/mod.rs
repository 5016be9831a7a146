//! Which route a path takes: the first that matches, in the order of the configuration (SimpleRouteLocator).
//!
//! Pure: no request, no socket, no clock; made once from the configuration and shared. The matching copy of a path (`MatchPath`) is apart
//! from the octets that are forwarded, which only [`Found::target`] touches, by slicing.

mod ant;
pub(crate) mod fields;
mod path;
mod route;

pub use path::{MatchPath, PathFault, Reading, holds_encoded_delimiter};
pub use route::{Route, RouteFault};

use crate::config::Config;
use ant::Pattern;
use bytes::Bytes;
use std::sync::Arc;

/// Whether a pattern can be offered; the configuration asks while it still knows where the pattern was written.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn check_pattern(text: &str) -> Result<(), String> {
    Pattern::new(text).map_err(|unsupported| unsupported.to_string())?;
    match text.contains(char::is_control) {
        true => Err(route::CONTROL_CHARACTER.into()),
        false => Ok(()),
    }
}

/// The routes of one configuration.
#[derive(Debug)]
pub struct Router {
    routes: Vec<Arc<Route>>,
    ignored: Vec<(String, Pattern)>,
    /// `zuul.servlet-path`: the same routes again below it; empty for none.
    mount: String,
    reading: Reading,
}

/// The route that a path takes.
#[derive(Clone, Copy, Debug)]
pub struct Found<'r> {
    /// The route.
    pub route: &'r Arc<Route>,
    /// How many leading segments the second mount point has, when the request came through it.
    mounted: usize,
}

impl Router {
    /// Makes every route.
    ///
    /// # Errors
    /// One fault for each pattern that can't be offered.
    pub fn new(config: &Config) -> Result<Self, Vec<RouteFault>> {
        let zuul = &config.zuul;
        let mut faults = Vec::new();
        let mut routes: Vec<Route> = Vec::new();
        for route in &config.routes {
            match Route::new(zuul, route) {
                Ok(route) => insert(&mut routes, route),
                Err(fault) => faults.push(fault),
            }
        }
        move_catch_all_to_the_end(&mut routes);
        routes.iter_mut().enumerate().for_each(|(index, route)| route.index = index);
        let routes = routes.into_iter().map(Arc::new).collect();
        let mut ignored = Vec::new();
        for text in &zuul.ignored_patterns {
            match Pattern::new(text) {
                Ok(pattern) => ignored.push((text.clone(), pattern)),
                Err(fault) => faults.push(RouteFault { key: "zuul.ignored-patterns".into(), what: fault.to_string() }),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let reading = Reading {
            utf8: config.server.uri_is_utf8,
            decode: zuul.decode_url,
            drop_parameters: zuul.remove_semicolon_content,
        };
        Ok(Self { routes, ignored, mount: zuul.servlet_path.trim_end_matches('/').to_owned(), reading })
    }

    /// The routes, in the order in which they are tried.
    pub fn routes(&self) -> &[Arc<Route>] {
        &self.routes
    }

    /// How paths are to be read for [`Self::find`].
    pub fn reading(&self) -> Reading {
        self.reading
    }

    /// The route that the path takes, unless an ignored pattern forbids it.
    pub fn find(&self, path: &MatchPath<'_>) -> Option<Found<'_>> {
        if self.ignored_by(path).is_some() {
            return None;
        }
        let (text, mounted) = self.unmounted(path.text());
        self.routes.iter().find(|route| route.pattern.matches(text)).map(|route| Found { route, mounted })
    }

    /// The ignored pattern that keeps the path from every route. Looks at every reading of the path, with and without the second mount
    /// point, so that neither an encoded slash nor `/zuul` leads around it.
    pub fn ignored_by(&self, path: &MatchPath<'_>) -> Option<&str> {
        let forbids = |pattern: &Pattern| {
            path.readings().any(|text| pattern.matches(text) || pattern.matches(self.unmounted(text).0))
        };
        self.ignored.iter().find(|(_, pattern)| forbids(pattern)).map(|(text, _)| text.as_str())
    }

    /// Routes that no request can reach, each with the earlier one that takes all of its paths.
    pub fn shadowed(&self) -> impl Iterator<Item = (&Route, &Route)> {
        self.routes.iter().enumerate().filter_map(|(at, route)| {
            let earlier = self.routes[..at].iter().find(|earlier| earlier.pattern.covers(&route.pattern))?;
            Some((&**route, &**earlier))
        })
    }

    /// The path below `zuul.servlet-path`, and how many segments that took.
    fn unmounted<'t>(&self, text: &'t str) -> (&'t str, usize) {
        let below = text.strip_prefix(self.mount.as_str()).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        match below {
            Some(rest) if !self.mount.is_empty() => (rest, ant::segments(&self.mount).count()),
            _ => (text, 0),
        }
    }
}

impl Found<'_> {
    /// What the request is forwarded to, in origin-form: `origin_form` is the request's own, `path` the reading of its path.
    pub fn target(&self, origin_form: &Bytes, path: &MatchPath<'_>) -> Bytes {
        self.route.target(origin_form, path, self.mounted)
    }
}

/// A later route with the same path takes the earlier one's place, as in Zuul's map of routes.
fn insert(routes: &mut Vec<Route>, route: Route) {
    match routes.iter_mut().find(|known| known.full_path == route.full_path) {
        Some(known) => *known = route,
        None => routes.push(route),
    }
}

/// As in Zuul, by the path without the prefix.
fn move_catch_all_to_the_end(routes: &mut Vec<Route>) {
    if let Some(at) = routes.iter().position(|route| route.config.path == "/**") {
        let catch_all = routes.remove(at);
        routes.push(catch_all);
    }
}

#[cfg(test)]
mod tests;
