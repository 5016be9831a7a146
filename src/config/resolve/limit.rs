//! `gateway.limit` and `gateway.limits.*`: how the limit of a semaphore moves, by what is written for the service or url route itself, else
//! for `default`.

use crate::config::fault::Fault;
use crate::config::model::{AdaptiveLimit, BackendConfig, IsolationConfig, LimitLaw};
use crate::config::settings::{Read, Setting, Settings};

const LAW: &str = "gateway.limits.<key...>.law";
const FLOOR: &str = "gateway.limits.<key...>.floor";
const CEILING: &str = "gateway.limits.<key...>.ceiling";

/// Gives the backend its adaptive limit, if it is to have one. A floor that was written and does not fit below the ceiling is a fault; keys
/// without effect are warned of.
pub(super) fn set(backend: &mut BackendConfig, settings: &Settings, faults: &mut Vec<Fault>) {
    let reads = [settings.one(&backend.id), settings.one("default")];
    let (chosen, law) = match law(reads, settings.all()) {
        Some((chosen, Some(law))) => (chosen, law),
        _ => {
            return reads[0]
                .setting(FLOOR)
                .into_iter()
                .chain(reads[0].setting(CEILING))
                .for_each(|s| warn(s, FIXED, faults));
        }
    };
    let IsolationConfig::Semaphore { max_concurrent_requests: most } = &mut backend.isolation else {
        return warn(chosen, NO_SEMAPHORE, faults);
    };
    *most = amount(reads, CEILING).map_or(*most, |(_, ceiling)| ceiling);
    let floor = match amount(reads, FLOOR) {
        Some((setting, floor)) if floor > *most => {
            let message = format!("{floor} is above the ceiling of {}, which is {most}", backend.id);
            faults.push(Fault::error(&setting.place, setting.name.clone(), message));
            *most
        }
        Some((_, floor)) => floor,
        None if law == LimitLaw::Vegas => 1.min(*most),
        None => 20.min(*most),
    };
    backend.adaptive = Some(AdaptiveLimit { law, floor });
}

const FIXED: &str = "has no effect on a fixed limit; gateway.limit, or a law beside it, makes it adaptive";
const NO_SEMAPHORE: &str =
    "has no effect on services with a thread pool and on url routes without isolation: only semaphores adapt";

/// The setting that says by which law, and the law; `None` in its place is `fixed`.
fn law<'a>([own, default]: [Read<'a>; 2], all: Read<'a>) -> Option<(&'a Setting, Option<LimitLaw>)> {
    let all_names = [(own, LAW), (default, LAW), (all, "gateway.limit")];
    all_names.into_iter().find_map(|(read, name)| {
        let law = [None, Some(LimitLaw::Vegas), Some(LimitLaw::Gradient2), Some(LimitLaw::Aimd)];
        Some((read.setting(name)?, *law.get(read.choice(name)?)?))
    })
}

fn amount<'a>(reads: [Read<'a>; 2], name: &'static str) -> Option<(&'a Setting, usize)> {
    reads.into_iter().find_map(|read| Some((read.setting(name)?, read.amount(name)?)))
}

/// Once for each setting: that of all concerns many.
fn warn(setting: &Setting, message: &str, faults: &mut Vec<Fault>) {
    let fault = Fault::warning(&setting.place, setting.name.clone(), message);
    if !faults.contains(&fault) {
        faults.push(fault);
    }
}
