//! What processes cost, by `/proc`: processor time, context switches, memory, threads and open files of a process and its children.
//!
//! Processor time includes threads that ended; context switches are those of threads that still live, since the kernel tells them by
//! thread only. Both are differences of two looks.

use crate::stop::Stop;
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Of the kernel's clock that `/proc` counts processor time in; the same on every Linux that is in use.
const TICKS_PER_SECOND: f64 = 100.0;

/// How often threads and open files are looked at during a run.
const LOOK: Duration = Duration::from_millis(500);

/// What processes have used up to a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Snapshot {
    /// Ticks in user mode and in the kernel, by process.
    ticks: HashMap<u32, (u64, u64)>,
    /// Voluntary and involuntary context switches by thread.
    switches: HashMap<u32, (u64, u64)>,
}

/// What was used between two moments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cost {
    pub(crate) user_seconds: f64,
    pub(crate) system_seconds: f64,
    pub(crate) voluntary_switches: u64,
    pub(crate) involuntary_switches: u64,
}

impl Cost {
    /// User and kernel together.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        self.user_seconds + self.system_seconds
    }
}

impl Snapshot {
    /// Of these processes, as far as they are still there.
    pub(crate) fn of(pids: &[u32]) -> Self {
        let mut snapshot = Self::default();
        for &pid in pids {
            let ticks = read(&format!("/proc/{pid}/stat")).and_then(|stat| ticks(&stat));
            snapshot.ticks.extend(ticks.map(|ticks| (pid, ticks)));
            for thread in numbers_in(&format!("/proc/{pid}/task")) {
                let status = read(&format!("/proc/{pid}/task/{thread}/status"));
                snapshot.switches.extend(status.map(|status| (thread, switches(&status))));
            }
        }
        snapshot
    }

    /// What was used since `before`; of processes and threads that are new, everything.
    pub(crate) fn since(&self, before: &Self) -> Cost {
        let (user, system) = difference(&self.ticks, &before.ticks);
        let (voluntary_switches, involuntary_switches) = difference(&self.switches, &before.switches);
        let seconds = |ticks| ticks as f64 / TICKS_PER_SECOND;
        Cost { user_seconds: seconds(user), system_seconds: seconds(system), voluntary_switches, involuntary_switches }
    }
}

fn difference(now: &HashMap<u32, (u64, u64)>, before: &HashMap<u32, (u64, u64)>) -> (u64, u64) {
    now.iter().fold((0, 0), |(a, b), (key, (first, second))| {
        let (first_before, second_before) = before.get(key).copied().unwrap_or_default();
        (a + first.saturating_sub(first_before), b + second.saturating_sub(second_before))
    })
}

/// This process and those that it started and that have ended, such as wrk, in seconds.
pub(crate) fn own_cpu_seconds() -> f64 {
    let fields = read("/proc/self/stat").and_then(|stat| stat_fields(&stat));
    let ticks: u64 = fields.iter().flat_map(|fields| fields[11..15].iter()).sum();
    ticks as f64 / TICKS_PER_SECOND
}

/// User and kernel ticks in a line of `stat`.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let fields = stat_fields(stat)?;
    Some((fields[11], fields[12]))
}

/// The numbers behind the name and the state, which may hold anything; the first is the parent's.
fn stat_fields(stat: &str) -> Option<Vec<u64>> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<u64> = rest.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect();
    (fields.len() > 15).then_some(fields)
}

fn switches(status: &str) -> (u64, u64) {
    (field(status, "voluntary_ctxt_switches:"), field(status, "nonvoluntary_ctxt_switches:"))
}

/// A number in `status`; 0 when it is not there.
fn field(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Threads, files and memory at a moment, or the most of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) threads: u64,
    pub(crate) open_files: u64,
    pub(crate) rss_kb: u64,
    /// Since the processes started.
    pub(crate) peak_rss_kb: u64,
}

impl Size {
    /// Of these processes together; pages that they share count for each.
    pub(crate) fn of(pids: &[u32]) -> Self {
        pids.iter().fold(Self::default(), |sum, pid| {
            let status = read(&format!("/proc/{pid}/status")).unwrap_or_default();
            Self {
                threads: sum.threads + field(&status, "Threads:"),
                open_files: sum.open_files + numbers_in(&format!("/proc/{pid}/fd")).count() as u64,
                rss_kb: sum.rss_kb + field(&status, "VmRSS:"),
                peak_rss_kb: sum.peak_rss_kb + field(&status, "VmHWM:"),
            }
        })
    }

    /// The larger of each.
    fn most(self, other: Self) -> Self {
        Self {
            threads: self.threads.max(other.threads),
            open_files: self.open_files.max(other.open_files),
            rss_kb: self.rss_kb.max(other.rss_kb),
            peak_rss_kb: self.peak_rss_kb.max(other.peak_rss_kb),
        }
    }
}

/// Runs `work` and looks at the processes meanwhile; answers the most that was seen.
pub(crate) fn watching<T>(pids: &[u32], stop: &Stop, work: impl FnOnce() -> io::Result<T>) -> io::Result<(T, Size)> {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut most = Size::of(pids);
            while !done.load(Relaxed) && stop.check().is_ok() {
                std::thread::park_timeout(LOOK);
                most = most.most(Size::of(pids));
            }
            most
        });
        let outcome = work();
        done.store(true, Relaxed);
        watcher.thread().unpark();
        let most = watcher.join().map_err(|_| io::Error::other("the watcher ended early"))?;
        Ok((outcome?, most))
    })
}

/// Busy and all ticks of all processors, from `/proc/stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Machine {
    busy: u64,
    all: u64,
}

impl Machine {
    /// Now.
    pub(crate) fn now() -> Self {
        read("/proc/stat").map(|stat| Self::parse(&stat)).unwrap_or_default()
    }

    fn parse(stat: &str) -> Self {
        let line = stat.lines().next().unwrap_or("");
        // user nice system idle iowait irq softirq steal; guest time is within user time.
        let ticks: Vec<u64> = line.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
        let all = ticks.iter().sum();
        Self { busy: all - ticks.iter().skip(3).take(2).sum::<u64>(), all }
    }

    /// From 0 to 1, since `before`; `None` when no time passed.
    pub(crate) fn busy_since(&self, before: &Self) -> Option<f64> {
        let all = self.all.checked_sub(before.all).filter(|all| *all > 0)?;
        Some(self.busy.saturating_sub(before.busy) as f64 / all as f64)
    }
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

fn numbers_in(folder: &str) -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_brackets_does_not_shift_the_fields() {
        let rest = "S 1 2 3 4 5 6 7 8 9 10 70 30 5 6 20 0 1 0 100 0 0";
        for name in ["x", "a b", "a) S 9 9"] {
            assert_eq!(ticks(&format!("42 ({name}) {rest}")), Some((70, 30)), "{name}");
        }
        assert_eq!(ticks("42 (x) S 1"), None);
    }

    #[test]
    fn what_is_new_counts_whole_and_what_is_gone_not_at_all() {
        let before = Snapshot { ticks: [(1, (100, 50)), (2, (9, 9))].into(), switches: [(1, (5, 5))].into() };
        let now =
            Snapshot { ticks: [(1, (150, 60)), (3, (25, 0))].into(), switches: [(1, (8, 5)), (7, (1, 2))].into() };
        let cost = now.since(&before);
        assert_eq!((cost.user_seconds, cost.system_seconds), (0.75, 0.1));
        assert_eq!((cost.voluntary_switches, cost.involuntary_switches), (4, 2));
    }

    #[test]
    fn busy_is_what_is_neither_idle_nor_waiting_for_disks() {
        let at = |line: &str| Machine::parse(&format!("cpu  {line} 0 0\ncpu0 1 1 1 1\n"));
        let (before, now) = (at("10 0 10 70 10 0 0 0"), at("20 10 20 110 30 5 5 0"));
        assert_eq!(now.busy_since(&before), Some(0.4));
        assert_eq!(now.busy_since(&now), None);
    }

    #[test]
    fn this_process_has_threads_files_memory_and_used_time() {
        let own = [std::process::id()];
        let size = Size::of(&own);
        assert!(size.threads >= 1 && size.open_files >= 3 && size.peak_rss_kb >= size.rss_kb && size.rss_kb > 0);
        let before = Snapshot::of(&own);
        let mut sum = 0_u64;
        while Snapshot::of(&own).since(&before).cpu_seconds() < 0.02 {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(own_cpu_seconds() >= 0.02);
        assert_eq!(Size::of(&[u32::MAX]), Size::default());
    }

    #[test]
    fn the_watcher_sees_what_was_there_only_meanwhile() {
        let own = [std::process::id()];
        let before = Size::of(&own).open_files;
        let work = || {
            let files: Vec<_> = (0..50).map(|_| std::fs::File::open("/dev/null")).collect::<Result<_, _>>()?;
            // Two looks later it was seen.
            std::thread::sleep(2 * LOOK);
            Ok(files.len())
        };
        let (opened, most) = watching(&own, &Stop::default(), work).expect("watched");
        assert_eq!(opened, 50);
        assert!(most.open_files >= before.min(50), "{most:?}");
    }
}
