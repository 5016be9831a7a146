//! When requests are due: decided before the run, so that nothing that happens in it can move them.

use crate::random::Random;
use std::time::Duration;

/// How arrivals are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrivals {
    /// At equal distances.
    Constant,
    /// As of many clients that know nothing of each other: exponential distances from this seed.
    Poisson(u64),
}

/// Requests at a mean rate for some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Phase {
    /// Requests a second; more than 0.
    pub(crate) rate: f64,
    pub(crate) lasting: Duration,
}

/// The due times, from the begin of the run, in order; phases follow each other.
pub(crate) fn due_times(arrivals: Arrivals, phases: &[Phase]) -> Vec<Duration> {
    let mut due = Vec::new();
    let mut begin = Duration::ZERO;
    let mut random = match arrivals {
        Arrivals::Constant => None,
        Arrivals::Poisson(seed) => Some(Random::new(seed)),
    };
    for phase in phases {
        let distance = 1.0 / phase.rate;
        let mut at = 0.0;
        while at < phase.lasting.as_secs_f64() {
            // A distance first, or each phase would begin with a request at once.
            at = match &mut random {
                Some(random) => at + random.exponential(distance),
                None => at + distance,
            };
            if at <= phase.lasting.as_secs_f64() + distance / 1e6 {
                due.push(begin + Duration::from_secs_f64(at));
            }
        }
        begin += phase.lasting;
    }
    due
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(rate: f64, seconds: f64) -> Phase {
        Phase { rate, lasting: Duration::from_secs_f64(seconds) }
    }

    #[test]
    fn a_constant_rate_has_equal_distances() {
        let due = due_times(Arrivals::Constant, &[phase(4.0, 1.0), phase(2.0, 1.0)]);
        let seconds: Vec<f64> = due.iter().map(Duration::as_secs_f64).collect();
        assert_eq!(seconds, [0.25, 0.5, 0.75, 1.0, 1.5, 2.0]);
    }

    #[test]
    fn random_arrivals_have_the_rate_and_are_the_same_for_a_seed() {
        let phases = [phase(1000.0, 20.0)];
        let due = due_times(Arrivals::Poisson(1), &phases);
        // Twenty thousand, with a standard deviation of 141.
        assert!(due.len().abs_diff(20_000) < 600, "{}", due.len());
        assert!(due.windows(2).all(|pair| pair[0] <= pair[1]) && due[due.len() - 1] <= Duration::from_secs(20));
        assert_eq!(due, due_times(Arrivals::Poisson(1), &phases));
        assert_ne!(due, due_times(Arrivals::Poisson(2), &phases));
        // Of exponential distances, 1 - 1/e are shorter than the mean.
        let short = due.windows(2).filter(|pair| pair[1] - pair[0] < Duration::from_millis(1)).count();
        assert!((short as f64 / due.len() as f64 - 0.632).abs() < 0.02);
    }
}
