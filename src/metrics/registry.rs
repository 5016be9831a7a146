//! Everything that counts in one gateway, in the order in which a request meets it.
//!
//! Parts are added as they start; who asks holds the registry, not the parts, so that no part needs to know another.

use super::{Collect, Sink};
use parking_lot::RwLock;
use std::sync::Arc;

/// A list of what counts.
#[derive(Default)]
pub struct Registry(RwLock<Vec<Arc<dyn Collect>>>);

impl Registry {
    /// Adds a part, behind those that are there.
    pub fn add(&self, part: Arc<dyn Collect>) {
        self.0.write().push(part);
    }
}

impl Collect for Registry {
    fn collect(&self, sink: &mut dyn Sink) {
        for part in self.0.read().iter() {
            part.collect(sink);
        }
    }
}
