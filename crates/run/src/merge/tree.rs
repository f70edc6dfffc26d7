//! A tree of losers: of many runs the one whose record comes next, with a comparison for each level.
//!
//! Source: D. E. Knuth, The Art of Computer Programming 3, section 5.4.1.

use std::cmp::Ordering;

use super::record::compare;
use super::run::RunReader;

/// The tree over some runs. A run that is used up is behind all others.
#[derive(Debug)]
pub(super) struct LoserTree {
    /// Of each inner node, from 1 on: the run that lost there.
    losers: Vec<u32>,
    /// The run whose record comes next.
    pub(super) winner: usize,
    /// Of each run: the beginning of its key.
    pub(super) prefixes: Vec<u64>,
    over: Vec<bool>,
    left: usize,
}

impl LoserTree {
    /// The tree of `runs`, each with its first record or used up.
    pub(super) fn new(runs: &[RunReader]) -> Self {
        let count = runs.len();
        let over: Vec<bool> = runs.iter().map(RunReader::is_over).collect();
        let prefix = |run: &RunReader| if run.is_over() { u64::MAX } else { run.prefix() };
        let left = over.iter().filter(|over| !**over).count();
        let mut tree = Self {
            losers: vec![0; count],
            winner: 0,
            prefixes: runs.iter().map(prefix).collect(),
            over,
            left,
        };
        let mut winners: Vec<usize> =
            (0..2 * count).map(|node| node.saturating_sub(count)).collect();
        for node in (1..count).rev() {
            let (one, other) = (winners[2 * node], winners[2 * node + 1]);
            let (winner, loser) =
                if tree.is_first(runs, one, other) { (one, other) } else { (other, one) };
            winners[node] = winner;
            tree.losers[node] = loser as u32;
        }
        tree.winner = winners.get(1).copied().unwrap_or(0);
        tree
    }

    /// Whether all runs are used up.
    pub(super) fn is_over(&self) -> bool {
        self.left == 0
    }

    /// The winner has another record.
    pub(super) fn replay(&mut self, runs: &[RunReader]) {
        let mut winner = self.winner;
        let mut node = usize::midpoint(winner, self.losers.len());
        while node > 0 {
            let loser = self.losers[node] as usize;
            if self.is_first(runs, loser, winner) {
                self.losers[node] = winner as u32;
                winner = loser;
            }
            node /= 2;
        }
        self.winner = winner;
    }

    /// The winner is used up.
    pub(super) fn end(&mut self, runs: &[RunReader]) {
        self.prefixes[self.winner] = u64::MAX;
        self.over[self.winner] = true;
        self.left -= 1;
        self.replay(runs);
    }

    /// Whether the record of run `one` comes before that of run `other`. Of equal ones that of the run
    /// with the lower number does.
    #[inline]
    fn is_first(&self, runs: &[RunReader], one: usize, other: usize) -> bool {
        match self.prefixes[one].cmp(&self.prefixes[other]) {
            Ordering::Equal => self.is_first_of_equals(runs, one, other),
            order => order == Ordering::Less,
        }
    }

    fn is_first_of_equals(&self, runs: &[RunReader], one: usize, other: usize) -> bool {
        match (self.over[one], self.over[other]) {
            (false, false) => {
                let order = compare(runs[one].key(), runs[other].key());
                order.then(one.cmp(&other)) == Ordering::Less
            }
            (over, _) => !over,
        }
    }
}
