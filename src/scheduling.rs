//! How the system schedules the threads that serve: the one `unsafe` call of this crate.
//!
//! Under `SCHED_BATCH` a woken thread waits for its turn instead of preempting the one that runs, which is worth a quarter of the
//! throughput with many workers. The niceness stays as it is. Called by each worker and pool thread when it starts.

use crate::config::model::Scheduling;
use std::sync::Once;

/// Gives the calling thread this policy. A system that refuses leaves the thread as it is, and is told once.
pub fn apply(scheduling: Scheduling) {
    if scheduling == Scheduling::Batch
        && let Err(error) = batch()
    {
        static WARNING: Once = Once::new();
        WARNING.call_once(|| log::warn!("the system refuses SCHED_BATCH, workers keep its normal policy: {error}"));
    }
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "no safe wrapper sets the policy and leaves the niceness alone")]
fn batch() -> std::io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the call reads one valid struct and touches nothing but the calling thread's policy.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[cfg(not(target_os = "linux"))]
fn batch() -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
#[cfg(all(target_os = "linux", not(loom)))]
mod tests {
    use super::*;

    fn policy() -> String {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("proc");
        let after_name = stat.rsplit(')').next().expect("a name in brackets");
        after_name.split_whitespace().nth(38).expect("the policy is field 41").to_owned()
    }

    #[test]
    fn a_batch_thread_is_one_and_a_normal_one_is_not() {
        let of = |scheduling| {
            let thread = std::thread::spawn(move || {
                apply(scheduling);
                policy()
            });
            thread.join().expect("no panic")
        };
        assert_eq!((of(Scheduling::Normal).as_str(), of(Scheduling::Batch).as_str()), ("0", "3"));
    }
}
