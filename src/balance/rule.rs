//! The rules: which of the candidates is chosen. Ribbon's, as they behave in one zone, and one of ours.
//!
//! Pure but for turns and dice. They differ in what they look at: pings ([`Candidates::is_up`]), blackouts and limits
//! ([`Candidates::is_available`]), or neither; and in what they do when nobody passes: some answer with none, some with all.

use super::dice::Dice;
use super::weights::Weights;
use super::{Candidates, Member};
use crate::config::model::{BalanceConfig, BalancingRule};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

/// How often `RoundRobinRule` looks at the next server before it gives up.
const TRIES: usize = 10;
/// How many servers `AvailabilityFilteringRule` takes from round robin before it filters all.
const PICKS: usize = 11;
/// Below this sum there are no weights yet.
const NO_WEIGHT: f64 = 0.001;

/// A rule with its state.
#[derive(Debug)]
pub(super) enum Rule {
    RoundRobin(Turn),
    Random(Dice),
    WeightedResponseTime(Turn, Dice, Weights),
    BestAvailable(Turn),
    AvailabilityFiltering { all: Turn, filtered: Turn },
    Retry(Turn),
    ZoneAvoidance(Turn),
    LeastOutstanding(Dice),
}

impl Rule {
    pub(super) fn new(config: &BalanceConfig, servers: usize, dice: Dice, now: Instant) -> Self {
        match config.rule {
            BalancingRule::RoundRobin => Self::RoundRobin(Turn::from_second()),
            BalancingRule::Random => Self::Random(dice),
            BalancingRule::WeightedResponseTime => {
                let weights = Weights::new(servers, config.weight_interval, now);
                Self::WeightedResponseTime(Turn::from_second(), dice, weights)
            }
            BalancingRule::BestAvailable => Self::BestAvailable(Turn::from_second()),
            BalancingRule::AvailabilityFiltering => {
                Self::AvailabilityFiltering { all: Turn::from_second(), filtered: Turn::default() }
            }
            BalancingRule::Retry => Self::Retry(Turn::from_second()),
            BalancingRule::ZoneAvoidance => Self::ZoneAvoidance(Turn::default()),
            BalancingRule::LeastOutstanding => Self::LeastOutstanding(dice),
        }
    }

    /// One of the candidates that were not tried.
    pub(super) fn choose<'a>(&self, among: &Candidates<'a, '_>) -> Option<&'a Member> {
        match self {
            Self::RoundRobin(turn) => turn.round_robin(among),
            Self::Random(dice) => random(dice, among),
            Self::WeightedResponseTime(turn, dice, weights) => {
                weights.refresh(among.now, |server| among.members[server].stats.average_millis());
                weighted(dice, weights, among).or_else(|| turn.round_robin(among))
            }
            Self::BestAvailable(turn) => best_available(among).or_else(|| turn.round_robin(among)),
            Self::AvailabilityFiltering { all, filtered } => {
                let mut picks = (0..PICKS).filter_map(|_| all.round_robin(among));
                picks.find(|member| among.is_available(member)).or_else(|| filtered.available(among))
            }
            Self::Retry(turn) => turn.round_robin(among).or_else(|| among.find_up()),
            Self::ZoneAvoidance(turn) => turn.available(among),
            Self::LeastOutstanding(dice) => least_outstanding(dice, among),
        }
    }
}

/// Whose turn it is. Every request writes it, so it has a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Turn(AtomicUsize);

impl Turn {
    /// `RoundRobinRule` counts before it looks, so it begins with the second server.
    fn from_second() -> Self {
        Self(AtomicUsize::new(1))
    }

    fn next(&self, count: usize) -> usize {
        self.0.fetch_add(1, Relaxed) % count
    }

    /// The next one that is up, after at most ten that are not. Others move the turn too, so a further attempt could meet the same tried
    /// server ten times: it looks at all before it gives up.
    fn round_robin<'a>(&self, among: &Candidates<'a, '_>) -> Option<&'a Member> {
        let members = among.members;
        let tries = if members.is_empty() { 0 } else { TRIES };
        let found = (0..tries).map(|_| &members[self.next(members.len())]).find(|member| among.is_up(member));
        found.or_else(|| among.find_up().filter(|_| !among.tried.is_empty()))
    }

    /// In turn one of those that are available, else of all.
    fn available<'a>(&self, among: &Candidates<'a, '_>) -> Option<&'a Member> {
        let passing = self.one_of(among, |member| among.is_available(member));
        passing.or_else(|| self.one_of(among, |member| among.is_untried(member)))
    }

    fn one_of<'a>(&self, among: &Candidates<'a, '_>, pass: impl Fn(&Member) -> bool) -> Option<&'a Member> {
        let passing = || among.members.iter().filter(|member| pass(member));
        let count = passing().count();
        match count {
            // Nothing to take turns in, and nothing to write.
            0 | 1 => passing().next(),
            // Meanwhile some may have ceased to pass.
            _ => passing().nth(self.next(count)).or_else(|| passing().next()),
        }
    }
}

fn random<'a>(dice: &Dice, among: &Candidates<'a, '_>) -> Option<&'a Member> {
    let up = || among.members.iter().filter(|member| among.is_up(member));
    let count = up().count();
    (count > 0).then(|| up().nth(dice.below(count)).or_else(|| up().next())).flatten()
}

/// One that is up, by its share of their weights; none while there are no weights.
fn weighted<'a>(dice: &Dice, weights: &Weights, among: &Candidates<'a, '_>) -> Option<&'a Member> {
    let up = among.members.iter().zip(weights.now()).filter(|(member, _)| among.is_up(member));
    let sum: f64 = up.clone().map(|(_, weight)| weight).sum();
    if sum < NO_WEIGHT {
        return None;
    }
    let mut left = dice.share() * sum;
    up.into_iter().find_map(|(member, weight)| {
        left -= weight;
        (left < 0.0).then_some(member)
    })
}

fn best_available<'a>(among: &Candidates<'a, '_>) -> Option<&'a Member> {
    let lit = |member: &&Member| among.is_untried(member) && !member.stats.is_blacked_out(among.now);
    among.members.iter().filter(lit).min_by_key(|member| member.stats.in_flight())
}

/// The less busy one of two that are up and available, else of two of all.
fn least_outstanding<'a>(dice: &Dice, among: &Candidates<'a, '_>) -> Option<&'a Member> {
    let good = |member: &Member| among.is_up(member) && among.is_available(member);
    less_busy(dice, among, good).or_else(|| less_busy(dice, among, |member| among.is_untried(member)))
}

fn less_busy<'a>(dice: &Dice, among: &Candidates<'a, '_>, pass: impl Fn(&Member) -> bool) -> Option<&'a Member> {
    let passing = || among.members.iter().filter(|member| pass(member));
    let count = passing().count();
    if count < 2 {
        return passing().next();
    }
    let first = dice.below(count);
    let other = dice.below(count - 1);
    let other = other + usize::from(other >= first);
    let two = [first, other].map(|place| passing().nth(place));
    two.into_iter().flatten().min_by_key(|member| member.stats.in_flight()).or_else(|| passing().next())
}
