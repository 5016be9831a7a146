//! In which order contestants take their turns: forwards and backwards by turns (ABBA), so that what drifts over time, such as the heat of
//! the processor, meets all alike.

/// The contestants' indices in the order of their turns in `round`, which counts from 1.
pub(crate) fn turns(contestants: usize, round: u32) -> Vec<usize> {
    let forwards = 0..contestants;
    if round % 2 == 1 { forwards.collect() } else { forwards.rev().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_round_goes_backwards() {
        let rounds: Vec<_> = (1..=4).map(|round| turns(3, round)).collect();
        assert_eq!(rounds, [[0, 1, 2], [2, 1, 0], [0, 1, 2], [2, 1, 0]]);
        assert!(turns(0, 1).is_empty());
    }

    #[test]
    fn over_two_rounds_nobody_is_earlier_than_another() {
        for n in 1..6 {
            let position = |who, round| turns(n, round).iter().position(|turn| *turn == who).expect("a turn");
            assert!((0..n).all(|who| position(who, 1) + position(who, 2) == n - 1));
        }
    }
}
