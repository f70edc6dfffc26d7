//! What a policy declares about itself, for the registry.

use alloc::boxed::Box;

use penstock_core::{Policy, Served, Span};

use crate::params::{Kind, Param, Params, Value};

/// What everyone else knows of a policy.
pub struct Entry {
    /// As it is called on the command line and in job files.
    pub name: &'static str,
    /// One sentence: what it does.
    pub summary: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Makes one from its parameters, for what it serves.
    pub build: fn(&Params, &Served<'_>) -> Box<dyn Policy>,
    /// How long it may keep a request waiting while `streams` streams are active; `None` if it
    /// promises nothing. The contract tests hold it to this.
    pub bound: fn(&Params, streams: u32) -> Option<Bound>,
    /// What callers have to know of it.
    pub facts: Facts,
}

/// What a policy declares for callers that size buffers, count requests or warn. No caller decides by
/// the policy's name.
pub struct Facts {
    /// The longest command that it makes by merging, in bytes; `None` if it merges nothing.
    pub merges: fn(&Params) -> Option<u32>,
    /// The longest request that it calls short, in bytes; `None` if it does not tell them by length.
    pub short: fn(&Params) -> Option<u32>,
    /// It shares by the weights of the classes.
    pub heeds_weights: bool,
}

impl Facts {
    /// It merges nothing, no request is short to it, and weights say nothing to it.
    pub const NONE: Self = Self { merges: |_| None, short: |_| None, heeds_weights: false };
}

impl Entry {
    /// Its parameters, each at its default.
    pub fn defaults(&self) -> Params {
        Params::defaults(self.params)
    }

    /// `params` for a real device: where `auto` stands for a table there, the table.
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

/// A starvation bound. Once a request has waited `after`, the policy may send at most `overtakes`
/// commands of younger requests before the next command of an older one, or of itself.
///
/// So a request behind `n` commands of older ones begins after at most `(n + 1) · overtakes`
/// commands of younger ones, counted from its patience's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bound {
    /// Its patience.
    pub after: Span,
    /// Commands of younger requests for each command of an older one or of itself.
    pub overtakes: u32,
}

impl Bound {
    /// Strict order of arrival.
    pub const FIFO: Self = Self { after: Span::ZERO, overtakes: 0 };
}
