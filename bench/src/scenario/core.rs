//! The first look at everybody: empty answers and 50 ms, few connections and many; and what the kernel's policy for threads is worth.

use super::{Cell, Effort, Group, Load, NARROW, Scenario, Target};

/// Threads of blocking contestants where nothing waits: Tomcat's default.
const FEW: usize = 200;
/// And where everything does: more than there are connections, so that the delay alone binds.
const MANY: usize = 1200;

fn cell(name: &str, target: Target, connections: u64, seconds: f64) -> Cell {
    Cell { name: format!("{name} c{connections}"), target, load: Load::Wrk { threads: 2, connections }, seconds }
}

pub(super) fn core(effort: &Effort) -> Scenario {
    let at_once =
        [10, 200, 1000].map(|connections| cell("static", Target::LIST, connections, effort.lasting(2.0, 10.0)));
    let delayed = |quick| move |connections| cell("50 ms", Target::after(50), connections, effort.lasting(quick, 10.0));
    Scenario {
        name: "core",
        about: "capacity probes: everybody, empty and 50 ms, few and many connections",
        contestants: Vec::new(),
        groups: vec![
            Group::new(FEW, at_once.into()),
            Group::new(MANY, [200, 1000].map(delayed(2.0)).into()),
            // The steps between, for those whose curve is drawn in a glance too.
            Group { only: NARROW.into(), ..Group::new(MANY, [100, 250, 500].map(delayed(1.0)).into()) },
        ],
    }
}

/// portcullis with the policy that it asks the kernel for by default, and without; its twin, which asks for none, stands beside both.
pub(super) fn scheduling(effort: &Effort) -> Scenario {
    let seconds = effort.lasting(1.0, 10.0);
    let few: &[u64] = effort.choose(&[200], &[10, 200, 1000]);
    let many: &[u64] = effort.choose(&[], &[1000]);
    let group = |policy: &str, workers, target: Target, connections: &[u64]| {
        let name = format!("{policy}, {}", if target.delay_ms > 0 { "50 ms" } else { "static" });
        let cells = connections.iter().map(|connections| cell(&name, target.clone(), *connections, seconds));
        let overrides = vec![("gateway.workers.scheduling".to_owned(), policy.to_owned())];
        Group { only: vec!["portcullis"], overrides, ..Group::new(workers, cells.collect()) }
    };
    let of_policy =
        |policy: &&str| [group(policy, FEW, Target::LIST, few), group(policy, MANY, Target::after(50), many)];
    // In a glance `core` has the cells of the default and of the twin.
    let policies: &[&str] = effort.choose(&["normal"], &["batch", "normal"]);
    let mut groups: Vec<Group> = policies.iter().flat_map(of_policy).filter(|group| !group.cells.is_empty()).collect();
    if !effort.quick {
        groups.extend(of_policy(&"twin").map(|group| Group { only: vec!["twin"], overrides: Vec::new(), ..group }));
    }
    Scenario {
        name: "scheduling",
        about: "what SCHED_BATCH is worth, which portcullis asks the kernel for by default and nobody else does: \
                gateway.workers.scheduling batch and normal, capacity probes",
        contestants: vec!["portcullis", "twin"],
        groups,
    }
}
