//! Remarks about retries: those that never happen, those that can't fit, and those that may do harm.

use super::{Advice, grouped, remark};
use crate::config::model::{
    BackendConfig, BackoffConfig, Config, IsolationConfig, RetryConfig, RouteConfig, RouteTarget,
};
use std::time::Duration;

pub(super) fn retries(config: &Config) -> Vec<Advice> {
    let mut remarks = without_effect(config);
    for (backend, retry) in config.backends.values().filter_map(|b| Some((b, b.retry.as_ref()?))) {
        remarks.extend(without_time(backend, retry));
        remarks.extend(alone(backend, retry));
        remarks.extend(twice(config, backend, retry));
        remarks.extend(unlimited(backend, retry));
    }
    remarks
}

/// Retryable routes along which nothing is ever sent again.
fn without_effect(config: &Config) -> Vec<Advice> {
    let reason = |route: &RouteConfig| match &route.target {
        RouteTarget::Url { .. } => Some("a url route is never retried, as in Zuul"),
        RouteTarget::Service(id) if config.backends.get(id).is_some_and(|backend| backend.retry.is_none()) => {
            Some("MaxAutoRetries and MaxAutoRetriesNextServer are 0")
        }
        RouteTarget::Service(_) | RouteTarget::Forward(_) => None,
    };
    let retryable = config.routes.iter().filter(|route| route.retryable);
    let vain = retryable.filter_map(|route| Some((reason(route)?, route.id.clone())));
    let said = |(reason, ids): (&str, Vec<String>)| {
        remark("zuul.retryable", format!("changes nothing for {}: {reason}", ids.join(", ")))
    };
    grouped(vain).into_iter().map(said).collect()
}

/// Attempts that the deadline can cut off, if each takes as long as it may.
fn without_time(backend: &BackendConfig, retry: &RetryConfig) -> Option<Advice> {
    let (deadline, attempts) = (backend.deadline?, retry.most_attempts());
    let key = format!("{}.ribbon.ReadTimeout", backend.id);
    let Some(read) = backend.read_timeout else {
        let message = format!(
            "without a bound, so a server that says nothing takes the whole deadline, and {attempts} attempts are one"
        );
        return Some(remark(key, message));
    };
    let each = read + backend.connect_timeout;
    let pauses = (1..attempts).try_fold(Duration::ZERO, |sum, number| {
        let doubled = |backoff: &BackoffConfig| {
            backoff.base.saturating_mul(1_u32.checked_shl(number - 1).unwrap_or(u32::MAX)).min(backoff.max)
        };
        sum.checked_add(retry.backoff.as_ref().map_or(Duration::ZERO, doubled))
    });
    let needed = each.saturating_mul(attempts).saturating_add(pauses.unwrap_or(Duration::MAX));
    (needed > deadline).then(|| {
        let message = format!(
            "{attempts} attempts of up to {} ms (ConnectTimeout and ReadTimeout), with their pauses, can't fit into the deadline of {} ms \
             (hystrix.command.{}.execution.isolation.thread.timeoutInMilliseconds)",
            each.as_millis(),
            deadline.as_millis(),
            backend.id
        );
        remark(key, message)
    })
}

fn alone(backend: &BackendConfig, retry: &RetryConfig) -> Option<Advice> {
    (backend.servers.len() == 1 && retry.next_server > 0).then(|| {
        let message = format!("{} with one server: the next server is the same one", retry.next_server);
        remark(format!("{}.ribbon.MaxAutoRetriesNextServer", backend.id), message)
    })
}

/// The risk of `OkToRetryOnAllOperations`, and what it costs.
fn twice(config: &Config, backend: &BackendConfig, retry: &RetryConfig) -> Option<Advice> {
    let most = match &backend.isolation {
        IsolationConfig::Semaphore { max_concurrent_requests } => *max_concurrent_requests,
        IsolationConfig::Thread { pool_key } => config.thread_pools.get(pool_key).map_or(0, |pool| pool.maximum_size),
        IsolationConfig::None => config.server.max_threads,
    };
    retry.all_operations.then(|| {
        let message = format!(
            "a POST may be carried out up to {} times, when its answer was lost or is retryable; up to {} octets of bodies are kept for that",
            retry.most_attempts(),
            retry.max_body.saturating_mul(most.min(config.server.max_threads))
        );
        remark(format!("{}.ribbon.OkToRetryOnAllOperations", backend.id), message)
    })
}

fn unlimited(backend: &BackendConfig, retry: &RetryConfig) -> Option<Advice> {
    retry.budget.is_none().then(|| {
        let message = format!(
            "no budget: when {} fails, its load grows to {} times the requests",
            backend.id,
            retry.most_attempts()
        );
        remark("gateway.retry-budget", message)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    /// A retryable service of two servers without anything to remark.
    const QUIET: &str = "zuul: {sensitive-headers: , retryable: true}\nzuul.routes.s: /s/**\n\
                         s.ribbon: {listOfServers: 'h:1,h:2', MaxConnectionsPerHost: 100}\n";

    fn quiet(more: &str) -> String {
        format!("{QUIET}{more}")
    }

    #[test]
    fn retries_that_never_happen_are_named() {
        check(QUIET, &[]);
        check(
            &quiet("s.ribbon.MaxAutoRetriesNextServer: 0\n"),
            &["zuul.retryable: changes nothing for s: MaxAutoRetries and"],
        );
        let url = "zuul.routes.u: {path: /u/**, url: 'http://h'}\nzuul.host.max-per-route-connections: 100\n";
        check(&quiet(url), &["zuul.retryable: changes nothing for u: a url route is never retried"]);
        let alone = QUIET.replace("'h:1,h:2'", "h:1");
        check(&alone, &["s.ribbon.MaxAutoRetriesNextServer: 1 with one server"]);
    }

    #[test]
    fn attempts_that_do_not_fit_are_named() {
        let key = "hystrix.command.s.execution.isolation.thread.timeoutInMilliseconds";
        check(&quiet(&format!("{key}: 4000\n")), &[]);
        let remark = "s.ribbon.ReadTimeout: 2 attempts of up to 2000 ms (ConnectTimeout and ReadTimeout), with their pauses, can't fit \
                      into the deadline of 3999 ms";
        check(&quiet(&format!("{key}: 3999\n")), &[remark]);
        check(&quiet("gateway.retry.backoff.base-interval: 1ms\n"), &["can't fit into the deadline of 4000 ms"]);
        check(&quiet(&format!("{key}: 4001\ngateway.retry.backoff.base-interval: 1ms\n")), &[]);
        check(&quiet("ribbon.ReadTimeout: 0\n"), &["s.ribbon.ReadTimeout: without a bound"]);
    }

    #[test]
    fn retries_that_may_do_harm_are_named() {
        let remark = "s.ribbon.OkToRetryOnAllOperations: a POST may be carried out up to 2 times, when its answer was lost or is \
                      retryable; up to 6553600 octets of bodies";
        check(&quiet("ribbon.OkToRetryOnAllOperations: true\n"), &[remark]);
        check(
            &quiet("gateway.retry-budget: -1\n"),
            &["gateway.retry-budget: no budget: when s fails, its load grows to 2 times"],
        );
    }
}
