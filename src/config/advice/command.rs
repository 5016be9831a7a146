//! Remarks about circuit breakers and fallbacks: those that never act, or always.

use super::{Advice, grouped, remark};
use crate::config::model::{BackendConfig, Config, FallbackAnswer, IsolationConfig};

/// What is to be said of each backend's command.
pub(super) fn commands(config: &Config) -> Vec<Advice> {
    let guarded = || config.backends.values().filter(|backend| backend.command.circuit.enabled);
    let circuits = guarded().filter_map(|backend| Some((circuit(backend)?, backend.id.clone())));
    let slow = guarded().filter_map(|backend| Some((too_slow(config, backend)?, backend.id.clone())));
    let fallbacks = config.backends.values();
    let fallbacks = fallbacks.filter_map(|backend| Some((fallback(config, backend)?, backend.id.clone())));
    let remarks = [grouped(circuits), grouped(slow), grouped(fallbacks)].into_iter().flatten();
    remarks.map(|((key, message), ids)| remark(key, format!("{message} ({})", ids.join(", ")))).collect()
}

macro_rules! circuit_key {
    ($key:literal) => {
        concat!("hystrix.command.<key>.circuitBreaker.", $key)
    };
}

/// A key, and what follows from it.
type Remark = (&'static str, String);

fn circuit(backend: &BackendConfig) -> Option<Remark> {
    let circuit = &backend.command.circuit;
    Some(match circuit.error_threshold_percentage {
        _ if circuit.force_open => (circuit_key!("forceOpen"), "every request gets 503 circuit_open".to_owned()),
        _ if circuit.force_closed => {
            (circuit_key!("forceClosed"), "the circuit lets everything through, whatever fails".to_owned())
        }
        0 => {
            let volume = circuit.request_volume_threshold;
            (
                circuit_key!("errorThresholdPercentage"),
                format!("0 opens the circuit after {volume} requests, failed or not"),
            )
        }
        101.. => (
            circuit_key!("errorThresholdPercentage"),
            "there are no more than 100 %: the circuit never opens".to_owned(),
        ),
        _ if circuit.sleep_window.is_zero() => (
            circuit_key!("sleepWindowInMilliseconds"),
            "0 lets each request test an open circuit: it keeps nobody away".to_owned(),
        ),
        _ => return None,
    })
}

/// A service that hangs fails only as often as its calls end: too seldom, perhaps, for the volume that a circuit wants to see.
fn too_slow(config: &Config, backend: &BackendConfig) -> Option<Remark> {
    let at_once = at_once(config, backend)?;
    let longest = [backend.deadline, backend.read_timeout].into_iter().flatten().min()?;
    let (window, volume) = (backend.command.metrics.counts.time, backend.command.circuit.request_volume_threshold);
    let most = at_once as f64 * (window.as_secs_f64() / longest.as_secs_f64().max(0.001));
    (most < f64::from(volume)).then(|| {
        let message = format!(
            "{volume} requests in {window:?} are never reached by a service that hangs: {at_once} at once, each up to {longest:?}, make \
             {most:.0}; only refusals can open its circuit"
        );
        (circuit_key!("requestVolumeThreshold"), message)
    })
}

fn at_once(config: &Config, backend: &BackendConfig) -> Option<usize> {
    Some(match &backend.isolation {
        IsolationConfig::Semaphore { max_concurrent_requests } => *max_concurrent_requests,
        IsolationConfig::Thread { pool_key } => config.thread_pools.get(pool_key)?.maximum_size,
        IsolationConfig::None => config.server.max_threads,
    })
}

/// A forward is held up by whom it leads to; an answer of its own takes no time.
fn fallback(config: &Config, backend: &BackendConfig) -> Option<Remark> {
    let fallback = &backend.command.fallback;
    let permits = fallback.max_concurrent_requests;
    let wanted = at_once(config, backend)?.min(config.server.max_threads);
    let message = match fallback.answer.as_deref()? {
        _ if permits == 0 => "0 refuses every fallback with 503 fallback_rejected".to_owned(),
        FallbackAnswer::Forward(path) if permits < wanted => {
            format!(
                "{permits} forwards to {path} at once for up to {wanted} requests: others get 503 fallback_rejected"
            )
        }
        _ => return None,
    };
    Some(("hystrix.command.<key>.fallback.isolation.semaphore.maxConcurrentRequests", message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load_str;

    const BASE: &str =
        "zuul.sensitive-headers:\nzuul.routes.s: /s/**\ns.ribbon: {listOfServers: h:1, MaxConnectionsPerHost: 100}\n";

    #[track_caller]
    fn check(yaml: &str, expected: &[&str]) {
        let loaded = load_str(&format!("{BASE}{yaml}")).unwrap_or_else(|faults| panic!("{faults:?}"));
        let said: Vec<_> = commands(&loaded.config).iter().map(Advice::to_string).collect();
        assert_eq!(said.len(), expected.len(), "{said:?}");
        assert!(
            said.iter().zip(expected).all(|(line, text)| line.contains(text)),
            "expected {expected:?}\nsaid {said:?}"
        );
    }

    #[test]
    fn circuits_that_never_or_always_act_are_named() {
        check("", &[]);
        let key = |rest: &str| format!("hystrix.command.default.circuitBreaker.{rest}\n");
        check(&key("forceOpen: true"), &["forceOpen: every request gets 503 circuit_open (s)"]);
        check(&key("forceClosed: true"), &["forceClosed: the circuit lets everything through"]);
        check(&key("errorThresholdPercentage: 101"), &["the circuit never opens"]);
        check(&key("errorThresholdPercentage: 100"), &[]);
        check(&key("errorThresholdPercentage: 0"), &["0 opens the circuit after 20 requests, failed or not"]);
        check(&key("sleepWindowInMilliseconds: 0"), &["0 lets each request test"]);
        check(&format!("{}{}", key("enabled: false"), key("errorThresholdPercentage: 101")), &[]);
    }

    #[test]
    fn a_volume_that_a_hanging_service_never_reaches_is_named() {
        let (permits, read) = ("zuul.semaphore.max-semaphores: 5\n", "s.ribbon.ReadTimeout: 60000\n");
        check(permits, &[]);
        let slow = format!("{permits}{read}");
        check(
            &slow,
            &["20 requests in 10s are never reached by a service that hangs: 5 at once, each up to 60s, make 1;"],
        );
        check(&format!("{slow}hystrix.command.s.execution.isolation.thread.timeoutInMilliseconds: 2000\n"), &[]);
    }

    #[test]
    fn fallbacks_that_are_refused_are_named() {
        let permits =
            |count| format!("hystrix.command.s.fallback.isolation.semaphore.maxConcurrentRequests: {count}\n");
        check(&permits(0), &[]);
        check(&format!("gateway.fallback.s.body: x\n{}", permits(0)), &["0 refuses every fallback"]);
        check("gateway.fallback.s.body: x\n", &[]);
        let forward = "gateway.fallback.s.forward: /x\n";
        check(forward, &["10 forwards to /x at once for up to 100 requests: others get 503 fallback_rejected (s)"]);
        check(&format!("{forward}{}", permits(100)), &[]);
    }
}
