//! What is sent again: Ribbon's retry keys of a service, and `gateway.retry*`.
//!
//! Only services are retried, and only along routes that are `retryable`, as in Zuul: `retryable` on a url route does nothing.

use super::backends::{ALL_OPERATIONS, RETRIES, RETRIES_NEXT, RETRYABLE_STATUSES, Ribbon};
use super::routes::RouteList;
use crate::config::fault::Fault;
use crate::config::model::{BackoffConfig, RetryBudgetConfig, RetryConfig, RouteTarget};
use crate::config::settings::{Read, Setting};
use http::StatusCode;

/// Of a body that can be sent again.
const MAX_BODY: i64 = 64 * 1024;

/// The retries of this service, if a retryable route leads to it and its counts allow any.
pub(super) fn of_a_service(ribbon: Ribbon<'_>, routes: &RouteList, faults: &mut Vec<Fault>) -> Option<RetryConfig> {
    let leads_here = |target: &RouteTarget| matches!(target, RouteTarget::Service(id) if id == ribbon.id);
    let statuses = ribbon.setting(RETRYABLE_STATUSES).map(|setting| statuses(setting, faults)).unwrap_or_default();
    let retryable = routes.iter().any(|route| route.config.retryable && leads_here(&route.config.target));
    let count = |names, default| ribbon.amount(names).and_then(|count| u32::try_from(count).ok()).unwrap_or(default);
    let all = ribbon.settings.all();
    let retry = RetryConfig {
        same_server: count(RETRIES, 0),
        next_server: count(RETRIES_NEXT, 1),
        all_operations: ribbon.flag(ALL_OPERATIONS).unwrap_or(false),
        statuses,
        max_body: usize::try_from(all.size("gateway.retry.max-body-size").unwrap_or(MAX_BODY)).unwrap_or(usize::MAX),
        budget: budget(all),
        backoff: backoff(all),
    };
    (retryable && retry.most_attempts() > 1).then_some(retry)
}

fn statuses(setting: &Setting, faults: &mut Vec<Fault>) -> Vec<StatusCode> {
    let mut statuses = Vec::new();
    for item in setting.value.items() {
        match item.parse::<u16>().ok().filter(|code| (200..600).contains(code)).map(StatusCode::from_u16) {
            Some(Ok(status)) => statuses.push(status),
            _ => {
                let message = format!("{item:?} is no status of an answer: 200 to 599");
                let fault = Fault::error(&setting.place, setting.name.clone(), message);
                if !faults.contains(&fault) {
                    faults.push(fault);
                }
            }
        }
    }
    statuses
}

fn budget(all: Read<'_>) -> Option<RetryBudgetConfig> {
    let percent = u32::try_from(all.count("gateway.retry-budget").unwrap_or(20)).ok()?;
    let floor = all.amount("gateway.retry.min-retries-per-second").unwrap_or(10);
    Some(RetryBudgetConfig { percent, min_per_second: u32::try_from(floor).unwrap_or(u32::MAX) })
}

fn backoff(all: Read<'_>) -> Option<BackoffConfig> {
    let base = all.time("gateway.retry.backoff.base-interval").flatten()?;
    let max = all.time("gateway.retry.backoff.max-interval").flatten().unwrap_or(base.saturating_mul(10));
    Some(BackoffConfig { base, max })
}
