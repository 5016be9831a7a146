//! An orderly end: Ctrl-C and SIGTERM set a flag, loops look at it, and what was started is ended by whoever holds it.

use signal_hook::consts::{SIGINT, SIGTERM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether to stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From now on Ctrl-C and SIGTERM no longer end this process, but set the flag; a second one ends it at once.
    pub(crate) fn on_signals() -> io::Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register_conditional_shutdown(signal, 130, flag.clone())?;
            signal_hook::flag::register(signal, flag.clone())?;
        }
        Ok(Self(flag))
    }

    /// An error once it is time to stop.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.0.load(Relaxed) { Err(io::Error::other("stopped by a signal")) } else { Ok(()) }
    }

    #[cfg(test)]
    pub(crate) fn now(&self) {
        self.0.store(true, Relaxed);
    }
}
