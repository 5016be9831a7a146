//! A directory for configurations and logs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Removed when dropped.
pub(crate) struct Scratch(PathBuf);

const PREFIX: &str = "portcullis-bench-";

impl Scratch {
    /// A new one, after removing those whose process was killed and could not.
    pub(crate) fn new() -> io::Result<Self> {
        sweep(&std::env::temp_dir());
        let path =
            std::env::temp_dir().join(format!("{PREFIX}{}-{:?}", std::process::id(), std::thread::current().id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
