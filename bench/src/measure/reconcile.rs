//! Whether three counts of the same requests agree: the client's, the gateway's and the backend's.
//!
//! ```text
//! client: scheduled = ok + refused + other + errors + timeouts + unsent          exactly
//! gateway: counted  = what the client sent                                       within what was under way or broken
//! backend: counted  = what the client sent - what the gateway refused            within the same
//! ```
//!
//! A request that the client gave up may have reached the others or not, so each side may differ by as many as ended without an answer; a
//! closed loop that is ended by the clock leaves one request on each connection, as does its warm-up. A report tells how many that are.
//! Anything beyond that is not explained, and voids the run.

use super::counters::Gateway;
use crate::load::Outcome;

/// The three sides of one run.
#[derive(Clone, Debug)]
pub(crate) struct Sides<'a> {
    pub(crate) outcome: &'a Outcome,
    /// [`Run::cut_off`](crate::raw::Run::cut_off).
    pub(crate) cut_off: u64,
    /// Whether the gateway is one that tells its counters.
    pub(crate) tells: bool,
    /// `None` when it did not.
    pub(crate) gateway: Option<&'a Gateway>,
    /// `None` when other load ran at the same time.
    pub(crate) backend: Option<u64>,
}

/// What does not agree; empty when all do.
pub(crate) fn reconcile(sides: &Sides<'_>) -> String {
    let counts = &sides.outcome.counts;
    let mut faults = Vec::new();
    if let Some(scheduled) = sides.outcome.scheduled.filter(|scheduled| *scheduled != counts.total()) {
        faults.push(format!("{scheduled} were scheduled, {} ended", counts.total()));
    }
    if sides.tells && sides.gateway.is_none() {
        faults.push("the gateway did not tell its counters".to_owned());
    }
    let broken = counts.connect_errors + counts.socket_errors + counts.timeouts + sides.cut_off;
    let sent = sides.outcome.sent.unwrap_or(counts.answered() + counts.timeouts + counts.socket_errors);
    if let Some(gateway) = sides.gateway.filter(|gateway| gateway.requests.abs_diff(sent) > broken) {
        faults.push(format!("the client sent {sent}, the gateway counted {}", gateway.requests));
    }
    let refused = counts.refused.total();
    // wrk tells refusals by their status alone.
    let told = (refused.saturating_sub(broken), refused + counts.non_2xx + broken);
    let agrees = |gateway: &&Gateway| (told.0..=told.1).contains(&gateway.refused.total());
    if let Some(gateway) = sides.gateway.filter(|gateway| !agrees(gateway)) {
        faults.push(format!("{refused} refusals arrived, the gateway counted {}", gateway.refused.total()));
    }
    // Others refuse with statuses of their own, before or after they asked the backend; retries come on top for some.
    let (least, most) = (sent.saturating_sub(refused + counts.non_2xx), sent);
    if let Some(backend) = sides.backend.filter(|backend| backend + broken < least || *backend > most + broken) {
        let expected = if least == most { least.to_string() } else { format!("{least} to {most}") };
        faults.push(format!("{expected} should have reached the backend, which counted {backend}"));
    }
    faults.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Counts;
    use crate::raw::Tally;

    fn refused(count: u64) -> Tally {
        Tally::from_iter([("queue_full", count)])
    }

    /// 100 scheduled, 90 ok, 6 refused, 2 timed out, 2 unsent.
    fn outcome() -> Outcome {
        let counts = Counts { ok: 90, refused: refused(6), timeouts: 2, unsent: 2, ..Counts::default() };
        Outcome { scheduled: Some(100), sent: Some(98), counts, ..Outcome::default() }
    }

    #[track_caller]
    fn check(outcome: &Outcome, cut_off: u64, gateway: Option<(u64, u64)>, backend: Option<u64>, fault: &str) {
        let gateway = gateway.map(|(requests, refusals)| Gateway { requests, refused: refused(refusals) });
        let tells = gateway.is_some();
        let said = reconcile(&Sides { outcome, cut_off, tells, gateway: gateway.as_ref(), backend });
        assert!(if fault.is_empty() { said.is_empty() } else { said.contains(fault) }, "{said:?} for {fault:?}");
    }

    #[test]
    fn an_open_loop_agrees_but_for_what_was_given_up() {
        for (gateway, backend) in [(98, 92), (96, 90), (100, 94), (98, 98)] {
            check(&outcome(), 0, Some((gateway, 6)), Some(backend), "");
        }
        check(&outcome(), 0, None, None, "");
        check(&outcome(), 0, Some((95, 6)), None, "the client sent 98, the gateway counted 95");
        check(&outcome(), 0, Some((98, 9)), None, "6 refusals arrived, the gateway counted 9");
        check(&outcome(), 0, None, Some(89), "92 to 98 should have reached the backend, which counted 89");
        check(&outcome(), 0, None, Some(101), "which counted 101");
    }

    #[test]
    fn a_gateway_that_tells_its_counters_must() {
        let sides = Sides { outcome: &outcome(), cut_off: 0, tells: true, gateway: None, backend: Some(92) };
        assert_eq!(reconcile(&sides), "the gateway did not tell its counters");
    }

    #[test]
    fn each_scheduled_request_ends_once() {
        let lost = Outcome { scheduled: Some(101), ..outcome() };
        check(&lost, 0, None, None, "101 were scheduled, 100 ended");
    }

    #[test]
    fn a_closed_loop_is_cut_off_with_a_request_on_each_connection() {
        let counts = Counts { ok: 1000, ..Counts::default() };
        let closed = Outcome { counts, ..Outcome::default() };
        check(&closed, 10, Some((1010, 0)), Some(1010), "");
        check(&closed, 10, Some((1011, 0)), Some(1000), "the client sent 1000, the gateway counted 1011");
        check(&closed, 10, None, Some(989), "which counted 989");
    }
}
