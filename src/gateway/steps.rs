//! The steps of `Gateway::serve` by name and in order, for `/actuator/filters`: Zuul lists its filters there.
//!
//! A step that the configuration leaves nothing to do is told as disabled, as Zuul tells filters that are switched off.

use crate::config::Config;
use crate::config::model::{IsolationConfig, RouteTarget};
use crate::management::FilterLine;

/// Zuul's filter types.
const PRE: &str = "pre";
const ROUTE: &str = "route";
const POST: &str = "post";
const ERROR: &str = "error";

/// Every step, in the order in which a request meets them.
pub(crate) fn steps(config: &Config) -> Vec<FilterLine> {
    let forwards = config.routes.iter().any(|route| matches!(route.target, RouteTarget::Forward(_)));
    let isolated = config.backends.values().any(|backend| backend.isolation != IsolationConfig::None);
    let circuits = config.backends.values().any(|backend| backend.command.circuit.enabled);
    let falls_back = config.backends.values().any(|backend| backend.command.fallback.answer.is_some());
    let retries = config.backends.values().any(|backend| backend.retry.is_some());
    let calls = !config.backends.is_empty();
    let acting = [
        (PRE, "portcullis::router", true),
        (PRE, "portcullis::exchange::plan", true),
        (PRE, "portcullis::rate_limit", !config.gateway.rate_limits.routes.is_empty()),
        (ROUTE, "portcullis::command::circuit", circuits),
        (ROUTE, "portcullis::isolation", isolated),
        (ROUTE, "portcullis::gateway::attempts", retries),
        (ROUTE, "portcullis::balance", calls),
        (ROUTE, "portcullis::upstream", calls),
        (ROUTE, "portcullis::management", forwards),
        (POST, "portcullis::gateway::relay", true),
        (POST, "portcullis::gateway::record", true),
        (ERROR, "portcullis::gateway::fallback", falls_back),
        (ERROR, "portcullis::reply::error", true),
    ];
    let line = |(order, (kind, class, acts)): (u32, (_, _, bool))| FilterLine { kind, class, order, disabled: !acts };
    (1..).zip(acting).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load_str;
    use std::path::Path;

    fn disabled(yaml: &str) -> Vec<&'static str> {
        let config = load_str(yaml).unwrap().config;
        steps(&config).iter().filter(|step| step.disabled).map(|step| step.class).collect()
    }

    #[test]
    fn each_step_is_a_module() {
        for step in steps(&Config::default()) {
            let path = step.class.replace("portcullis::", "src/").replace("::", "/");
            let root = Path::new(env!("CARGO_MANIFEST_DIR"));
            let files = [format!("{path}.rs"), format!("{path}/mod.rs")];
            assert!(files.iter().any(|file| root.join(file).is_file()), "{}", step.class);
        }
    }

    #[test]
    fn what_has_nothing_to_do_is_disabled() {
        let url = "zuul.routes.a: {path: /a/**, url: 'http://h'}\n";
        let idle = ["rate_limit", "command::circuit", "gateway::attempts", "management", "gateway::fallback"];
        assert_eq!(disabled(url), idle.map(|name| format!("portcullis::{name}")));
        let busy = "zuul.retryable: true\nzuul.routes.s: /s/**\nzuul.routes.f: {path: /f/**, url: 'forward:/actuator'}\n\
                    gateway.rate-limit.routes.s.requests: 1\ngateway.fallback.s.body: sorry\n";
        assert_eq!(disabled(busy), [""; 0]);
        let unguarded = format!("{url}gateway.compat: zuul1\n");
        assert!(disabled(&unguarded).contains(&"portcullis::isolation"));
    }
}
