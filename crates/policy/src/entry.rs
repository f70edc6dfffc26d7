//! What a policy declares about itself, for the registry.

use alloc::boxed::Box;
use alloc::string::String;

use penstock_core::{Policy, Served, Span};

use crate::params::{Kind, Param, Params, Value};
use crate::queue::MAX_SECTORS;

/// What the other crates know of a policy.
pub struct Entry {
    /// Its name on the command line and in job files.
    pub name: &'static str,
    /// One sentence: what it does.
    pub summary: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Builds the policy from its parameters, for what it serves.
    pub build: fn(&Params, &Served<'_>) -> Box<dyn Policy>,
    /// How long it may keep a request waiting while `streams` streams are active; `None` if it
    /// promises nothing. The contract tests hold it to this.
    pub bound: fn(&Params, streams: u32) -> Option<Bound>,
    /// Facts that callers need.
    pub facts: Facts,
}

/// What a policy declares for callers that size buffers, count requests or warn. No caller decides by
/// the policy's name.
pub struct Facts {
    /// The longest command that it makes by merging, in bytes; `None` if it merges nothing.
    pub merges: fn(&Params) -> Option<u32>,
    /// The longest request that it treats as short, in bytes; `None` if it does not distinguish by
    /// length.
    pub short: fn(&Params) -> Option<u32>,
    /// It divides the device by the weights of the classes.
    pub heeds_weights: bool,
    /// It goes by the I/O priorities of the classes.
    pub heeds_ioprio: bool,
    /// The versions of Linux that have it, as `2.6 to 4.20`; `None` if it is of no kernel.
    pub linux: Option<&'static str>,
    /// What is wrong with parameters that are right one by one.
    pub conflict: fn(&Params) -> Option<Conflict>,
    /// Parameters that it has as the policy of a drive's own queue alone, since they need what only
    /// a drive knows.
    pub in_drive: &'static [Param],
}

/// A parameter that does not fit the others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// Its name.
    pub param: &'static str,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub hint: &'static str,
}

impl Facts {
    /// It merges nothing, treats no request as short, uses neither weights nor I/O priorities, is of
    /// no kernel, takes parameters in any combination, and has the same ones everywhere.
    pub const NONE: Self = Self {
        merges: |_| None,
        short: |_| None,
        heeds_weights: false,
        heeds_ioprio: false,
        linux: None,
        conflict: |_| None,
        in_drive: &[],
    };
}

impl Entry {
    /// Its parameters, each at its default.
    pub fn defaults(&self) -> Params {
        Params::defaults(self.params)
    }

    /// `params` without merging, if it merges at all.
    #[must_use]
    pub fn unmerged(&self, mut params: Params) -> Params {
        if self.params.iter().any(|param| param.name == MAX_SECTORS.name) {
            params.set(MAX_SECTORS.name, Value::Word("off"));
        }
        params
    }

    /// `params` for a real device: a parameter `auto` becomes its table, where it has one.
    #[must_use]
    pub fn real(&self, mut params: Params) -> Params {
        for param in self.params {
            if let Kind::SizeOrGroup(_, members) = param.kind
                && params.is(param.name, "auto")
            {
                params.set(param.name, Value::Group(Params::defaults(members)));
            }
        }
        params
    }
}

/// A starvation bound. Once a request has waited for `after`, the policy may send at most
/// `overtakes` commands of younger requests before the next command of this request or of an older
/// one.
///
/// So a request behind `n` commands of older ones begins after at most `(n + 1) · overtakes`
/// commands of younger ones, counted from the end of `after`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bound {
    /// How long a request waits before the bound holds.
    pub after: Span,
    /// Commands of younger requests for each command of an older one or of itself.
    pub overtakes: u32,
}

impl Bound {
    /// Strict order of arrival.
    pub const FIFO: Self = Self { after: Span::ZERO, overtakes: 0 };
}
