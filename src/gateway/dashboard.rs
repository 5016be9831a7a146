//! What `hystrix.stream` tells: each backend that is isolated, then each thread pool, in the order of their names.

use super::backend::Backends;
use crate::command::{Command, PoolMetrics, tell_command, tell_pool};
use crate::config::model::IsolationConfig;
use std::collections::BTreeMap;
use std::time::{Instant, SystemTime};

impl Backends {
    /// Appends the events of this moment. Url routes are told too, unless they are unguarded (`gateway.compat: zuul1`).
    pub(crate) fn tell_stream(&self, out: &mut String, now: Instant, wall: SystemTime) {
        let is_isolated = |command: &&Command| command.config().isolation != IsolationConfig::None;
        let mut commands: Vec<_> = self.commands().filter(is_isolated).collect();
        commands.sort_by_key(|command| &command.config().id);
        for command in &commands {
            tell_command(command, out, now, wall);
        }
        let metrics = commands.iter().filter_map(|command| command.pool());
        let metrics: BTreeMap<&str, &PoolMetrics> = metrics.map(|pool| (pool.key(), &**pool)).collect();
        for (key, metrics) in metrics {
            if let Some(pool) = self.pool(key) {
                tell_pool(metrics, pool, out, now, wall);
            }
        }
    }
}
