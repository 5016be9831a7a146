//! `/actuator/health` and its groups `liveness` and `readiness` (HealthEndpoint and the availability probes of Boot 2.3).
//!
//! Liveness depends on nothing but this process: no upstream may get a gateway killed. Readiness falls while it drains.

use super::page::{Content, Page};
use crate::config::model::ShowDetails;
use http::StatusCode;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// How the gateway is, as its own parts see it.
#[derive(Clone, Debug, Default)]
pub struct Health {
    /// Whether it is shutting down: it finishes what runs and wants nothing new.
    pub draining: bool,
    /// What else has a state of its own, in any order.
    pub components: Vec<Component>,
}

/// One part's state.
#[derive(Clone, Debug)]
pub struct Component {
    /// Its key below `components`.
    pub name: &'static str,
    /// Its state, which counts for the whole.
    pub status: Status,
    /// Shown below `details` when there are any, in order.
    pub details: Vec<(String, Value)>,
}

/// Spring's four statuses and Hystrix's, the worst first: the worst of its components is the state of the whole (SimpleStatusAggregator).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// 503.
    Down,
    /// 503.
    OutOfService,
    /// 200.
    Up,
    /// 200.
    Unknown,
    /// 200: Hystrix's own, which Spring's order doesn't hold, so that it counts for nothing.
    CircuitOpen,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Self::Down => "DOWN",
            Self::OutOfService => "OUT_OF_SERVICE",
            Self::Up => "UP",
            Self::Unknown => "UNKNOWN",
            Self::CircuitOpen => "CIRCUIT_OPEN",
        }
    }

    fn http(self) -> StatusCode {
        match self {
            Self::Down | Self::OutOfService => StatusCode::SERVICE_UNAVAILABLE,
            Self::Up | Self::Unknown | Self::CircuitOpen => StatusCode::OK,
        }
    }
}

type State = (Status, Vec<(String, Value)>);

type Components = BTreeMap<&'static str, State>;

/// `/actuator/health`, or below it the group or component of that name.
pub(super) fn page(health: Health, name: Option<&str>, show: ShowDetails) -> Page {
    let mut components = components(health);
    match (name, show) {
        (None, ShowDetails::Never) => composite(&components, show),
        (None, ShowDetails::Always) => with_groups(composite(&components, show)),
        (Some("liveness"), _) => composite(&group(&mut components, "livenessState"), show),
        (Some("readiness"), _) => composite(&group(&mut components, "readinessState"), show),
        (Some(name), ShowDetails::Always) if components.contains_key(name) => single(&components[name]),
        (Some(_), _) => Page::not_found("no such health component or group is shown"),
    }
}

fn components(health: Health) -> Components {
    let ready = if health.draining { Status::OutOfService } else { Status::Up };
    let own = [("livenessState", Status::Up), ("ping", Status::Up), ("readinessState", ready)];
    let own = own.map(|(name, status)| (name, (status, Vec::new())));
    own.into_iter().chain(health.components.into_iter().map(|c| (c.name, (c.status, c.details)))).collect()
}

fn group(components: &mut Components, member: &'static str) -> Components {
    components.remove(member).map(|state| (member, state)).into_iter().collect()
}

fn composite(components: &Components, show: ShowDetails) -> Page {
    let worst = components.values().map(|(status, _)| *status).min().unwrap_or(Status::Unknown);
    let mut body = Map::new();
    body.insert("status".into(), worst.name().into());
    if show == ShowDetails::Always {
        let members = components.iter().map(|(name, state)| ((*name).to_owned(), member(state)));
        body.insert("components".into(), Value::Object(members.collect()));
    }
    Page::json_with(worst.http(), Value::Object(body))
}

/// The names below which groups are found, as Spring lists them behind the components of the whole.
fn with_groups(mut page: Page) -> Page {
    if let Content::Json(Value::Object(body)) = &mut page.content {
        body.insert("groups".into(), json!(["liveness", "readiness"]));
    }
    page
}

fn single(state: &State) -> Page {
    Page::json_with(state.0.http(), member(state))
}

fn member((status, details): &State) -> Value {
    if details.is_empty() {
        return json!({ "status": status.name() });
    }
    let details: Map<_, _> = details.iter().cloned().collect();
    json!({ "status": status.name(), "details": details })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn health(draining: bool, workers: Status) -> Health {
        let details = vec![("busy".into(), 3.into())];
        Health { draining, components: vec![Component { name: "workers", status: workers, details }] }
    }

    #[track_caller]
    fn check(page: Page, status: u16, expected: &str) {
        assert_eq!(page.status.as_u16(), status);
        match page.content {
            Content::Json(value) => assert_eq!(value.to_string(), expected),
            Content::Error(_) => assert_eq!(expected, ""),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_worst_component_is_the_state_of_the_whole() {
        use ShowDetails::Never;
        check(page(Health::default(), None, Never), 200, r#"{"status":"UP"}"#);
        check(page(health(false, Status::Unknown), None, Never), 200, r#"{"status":"UP"}"#);
        check(page(health(true, Status::Up), None, Never), 503, r#"{"status":"OUT_OF_SERVICE"}"#);
        check(page(health(true, Status::Down), None, Never), 503, r#"{"status":"DOWN"}"#);
    }

    #[test]
    fn details_are_shown_only_when_asked_for() {
        use ShowDetails::{Always, Never};
        let all = r#"{"status":"UP","components":{"livenessState":{"status":"UP"},"ping":{"status":"UP"},"readinessState":{"status":"UP"},"workers":{"status":"UP","details":{"busy":3}}},"groups":["liveness","readiness"]}"#;
        check(page(health(false, Status::Up), None, Always), 200, all);
        let one = r#"{"status":"DOWN","details":{"busy":3}}"#;
        check(page(health(false, Status::Down), Some("workers"), Always), 503, one);
        check(page(health(false, Status::Down), Some("workers"), Never), 404, "");
        check(page(health(false, Status::Down), Some("nothing"), Always), 404, "");
    }

    #[test]
    fn readiness_falls_with_a_drain_and_liveness_never() {
        use ShowDetails::{Always, Never};
        let draining = || health(true, Status::Down);
        check(page(draining(), Some("liveness"), Never), 200, r#"{"status":"UP"}"#);
        check(page(draining(), Some("readiness"), Never), 503, r#"{"status":"OUT_OF_SERVICE"}"#);
        check(page(health(false, Status::Down), Some("readiness"), Never), 200, r#"{"status":"UP"}"#);
        let shown = r#"{"status":"UP","components":{"livenessState":{"status":"UP"}}}"#;
        check(page(draining(), Some("liveness"), Always), 200, shown);
    }
}
