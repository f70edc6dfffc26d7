//! A tree of losers: finds the run whose record comes next, with a comparison for each level.
//!
//! Source: D. E. Knuth, The Art of Computer Programming 3, section 5.4.1.

use std::cmp::Ordering;

use super::record::compare;
use super::run_reader::RunReader;

/// The tree over the runs of a merge. A run that is used up comes after all others.
#[derive(Debug)]
pub(super) struct LoserTree {
    /// `losers[n]` is the run that lost at inner node `n`. Index 0 is unused.
    losers: Vec<u32>,
    /// The run whose record comes next.
    pub(super) winner: usize,
    /// The prefix of the key of each run's present record.
    pub(super) prefixes: Vec<u64>,
    /// Whether each run is used up.
    over: Vec<bool>,
    /// Number of runs that are not used up.
    left: usize,
}

impl LoserTree {
    /// Creates the tree of `runs`. Each has its first record, or is used up.
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
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            let (winner, loser) =
                if tree.is_first(runs, left, right) { (left, right) } else { (right, left) };
            winners[node] = winner;
            tree.losers[node] = loser as u32;
        }
        tree.winner = winners.get(1).copied().unwrap_or(0);
        tree
    }

    /// Returns whether all runs are used up.
    pub(super) fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Finds the winner again after the present one has gone to its next record.
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

    /// Marks the winner as used up, and finds the next.
    pub(super) fn remove_winner(&mut self, runs: &[RunReader]) {
        self.prefixes[self.winner] = u64::MAX;
        self.over[self.winner] = true;
        self.left -= 1;
        self.replay(runs);
    }

    /// Returns whether the record of run `a` comes before that of run `b`. If the keys are equal, the run
    /// with the lower number is first.
    #[inline]
    fn is_first(&self, runs: &[RunReader], a: usize, b: usize) -> bool {
        match self.prefixes[a].cmp(&self.prefixes[b]) {
            Ordering::Equal => self.is_first_of_equals(runs, a, b),
            order => order == Ordering::Less,
        }
    }

    /// Compares like [`is_first`](Self::is_first), for keys with the same prefix.
    fn is_first_of_equals(&self, runs: &[RunReader], a: usize, b: usize) -> bool {
        match (self.over[a], self.over[b]) {
            (false, false) => {
                let order = compare(runs[a].key(), runs[b].key());
                order.then(a.cmp(&b)) == Ordering::Less
            }
            (over, _) => !over,
        }
    }
}
