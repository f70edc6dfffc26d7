//! Which class is next: an index of those that may send, and one of those that wait.

use alloc::vec::Vec;

use crate::queue::Sorted;

use super::class::Class;
use super::settings::Fill;

/// The classes in order, kept current with every change of one.
#[derive(Debug)]
pub(super) struct Ranking {
    fill: Option<Fill>,
    /// With something queued and some of its share left, by arrival of its first request.
    eligible: Sorted<u64>,
    /// With something queued, in the order in which they fill an under-loaded disk.
    waiting: Sorted<(u128, u64)>,
    /// By class: where it stands.
    places: Vec<Standing>,
    waiting_count: u32,
    open_count: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Standing {
    eligible: Option<u64>,
    waiting: Option<(u128, u64)>,
    /// It has something queued or in flight, and some of its share left.
    open: bool,
}

impl Ranking {
    pub(super) fn new(fill: Option<Fill>) -> Self {
        Self {
            fill,
            eligible: Sorted::default(),
            waiting: Sorted::default(),
            places: Vec::new(),
            waiting_count: 0,
            open_count: 0,
        }
    }

    /// All classes may have changed; `first` is the arrival number of the first request that a class
    /// has queued.
    pub(super) fn refresh(&mut self, classes: &[Class], first: impl Fn(u32) -> Option<u64>) {
        for (n, class) in classes.iter().enumerate() {
            self.update(n as u32, class, first(n as u32));
        }
    }

    /// `class` has changed.
    pub(super) fn update(&mut self, number: u32, class: &Class, first: Option<u64>) {
        let at = number as usize;
        if at >= self.places.len() {
            self.places.resize(at + 1, Standing::default());
        }
        let place = &mut self.places[at];
        let left = class.left() > 0;
        let eligible = first.filter(|_| left && !class.held);
        if place.eligible != eligible {
            move_to(&mut self.eligible, number, &mut place.eligible, eligible);
        }
        let waiting = first.map(|first| match self.fill {
            Some(Fill::Weighted) => (class.normalized(), first),
            _ => (0, first),
        });
        if place.waiting != waiting {
            self.waiting_count -= u32::from(place.waiting.is_some());
            self.waiting_count += u32::from(waiting.is_some());
            move_to(&mut self.waiting, number, &mut place.waiting, waiting);
        }
        let open = class.busy() && left;
        self.open_count -= u32::from(place.open);
        self.open_count += u32::from(open);
        place.open = open;
    }

    /// The class whose first request is the oldest of those that have some of their share left.
    pub(super) fn eligible(&self) -> Option<u32> {
        self.eligible.at_or_after(0)
    }

    /// The class that fills an under-loaded disk.
    pub(super) fn to_fill(&self) -> Option<u32> {
        self.waiting.at_or_after((0, 0))
    }

    /// Classes with something queued.
    pub(super) fn waiting(&self) -> u32 {
        self.waiting_count
    }

    /// Classes with something queued or in flight, and some of their share left.
    pub(super) fn open(&self) -> u32 {
        self.open_count
    }
}

fn move_to<K: Copy + Ord + Default>(
    index: &mut Sorted<K>,
    class: u32,
    place: &mut Option<K>,
    key: Option<K>,
) {
    if place.is_some() {
        index.remove(class);
    }
    if let Some(key) = key {
        index.insert(class, key);
    }
    *place = key;
}
