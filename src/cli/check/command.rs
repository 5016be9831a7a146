//! What `check` tells of circuit breakers, metrics and fallbacks, and which forwards lead nowhere.

use crate::config::Config;
use crate::config::model::{
    BackendConfig, CircuitConfig, CircuitMode, FallbackAnswer, FallbackConfig, MetricsConfig, WindowConfig,
};
use crate::router::{MatchPath, Router};

/// The circuit of one backend, in one line.
pub(super) fn circuit(backend: &BackendConfig) -> String {
    let circuit = &backend.command.circuit;
    let CircuitConfig { error_threshold_percentage: share, request_volume_threshold: volume, .. } = circuit;
    let how = match circuit.mode {
        _ if !circuit.enabled => return "none".into(),
        _ if circuit.force_open => return "forced open".into(),
        _ if circuit.force_closed => return "forced closed".into(),
        CircuitMode::SingleTest => "one test every",
        CircuitMode::HalfOpen => "half open after",
    };
    let (window, sleep) = (backend.command.metrics.counts.time, circuit.sleep_window);
    let fails = if circuit.counts_5xx { "failures, 5xx included," } else { "failures" };
    format!("opens at {share} % {fails} of {volume} or more requests in {window:?}; {how} {sleep:?}")
}

/// What is counted of one backend's calls, in one line.
pub(super) fn metrics(backend: &BackendConfig) -> String {
    let MetricsConfig { counts, latency, health_interval } = &backend.command.metrics;
    let window = |window: &WindowConfig| format!("{} x {:?}", window.buckets, window.bucket());
    let latency = latency.as_ref().map_or("none".into(), window);
    format!("counts {}, percentiles {latency}; judged every {health_interval:?}", window(counts))
}

/// The fallback of one backend, in one line.
pub(super) fn fallback(backend: &BackendConfig) -> String {
    let FallbackConfig { max_concurrent_requests: permits, answer } = &backend.command.fallback;
    match answer.as_deref() {
        None => "none".into(),
        Some(FallbackAnswer::Forward(path)) => format!("forward to {path}, {permits} at once"),
        Some(FallbackAnswer::Static(answer)) => {
            format!("{} with {} octets, {permits} at once", answer.status, answer.body.len())
        }
    }
}

/// Forwards that lead to nobody, or back to the service that failed.
pub(super) fn forwards(config: &Config, router: &Router) -> Vec<String> {
    let remarks = config.backends.values().filter_map(|backend| {
        let Some(FallbackAnswer::Forward(path)) = backend.command.fallback.answer.as_deref() else { return None };
        let what = leads(config, router, path, &backend.id)?;
        Some(format!("gateway.fallback: the forward of {} to {path} {what}", backend.id))
    });
    remarks.collect()
}

/// What is wrong with where the path leads.
fn leads(config: &Config, router: &Router, path: &str, from: &str) -> Option<&'static str> {
    let literal = path.trim_end_matches("**").split('?').next().unwrap_or_default();
    let Ok(reading) = MatchPath::read(literal.as_bytes(), router.reading()) else {
        return Some("is no path that can be asked for");
    };
    let own = &config.management;
    match router.find(&reading) {
        Some(found) if found.route.backend.as_deref() == Some(from) => {
            Some("leads to itself: what failed is asked again")
        }
        Some(_) => None,
        None if own.port.is_none() && literal.starts_with(&own.base_path) => None,
        None => Some("leads to no route: every fallback fails"),
    }
}
