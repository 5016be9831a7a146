//! The first look at everybody: empty answers and 50 ms, few connections and many.

use super::{Cell, Effort, Group, Load, NARROW, Scenario, Target};

/// Threads of blocking contestants where nothing waits: Tomcat's default.
const FEW: usize = 200;
/// And where everything does: more than there are connections, so that the delay alone binds.
const MANY: usize = 1200;

pub(super) fn core(effort: &Effort) -> Scenario {
    let cell = |name: &str, target: Target, connections, quick| Cell {
        name: format!("{name} c{connections}"),
        target,
        load: Load::Wrk { threads: 2, connections },
        seconds: effort.lasting(quick, 10.0),
    };
    let at_once = [10, 200, 1000].map(|connections| cell("static", Target::LIST, connections, 2.0));
    let delayed = |quick| move |connections| cell("50 ms", Target::after(50), connections, quick);
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
