//! The declaration of a policy for the registry.

use alloc::boxed::Box;
use alloc::string::String;

use penstock_core::{Follower, Policy, Served, Span};

use crate::params::{Kind, Param, Params, Value};
use crate::queue::MAX_SECTORS;

/// A registered policy: all that the other crates know about it.
pub struct Entry {
    /// Its name on the command line and in job files.
    pub name: &'static str,
    /// Its rule, in a few words.
    pub summary: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Builds the policy from its parameters, for the classes and disks that it serves.
    pub build: fn(&Params, &Served<'_>) -> Box<dyn Policy>,
    /// Its starvation bound while `streams` streams are active; `None` if it promises none. The
    /// contract tests check it.
    pub bound: fn(&Params, streams: u32) -> Option<Bound>,
    /// Facts that callers need.
    pub facts: Facts,
}

/// Builds a policy that follows another scheduler, from its parameters and the classes.
pub type BuildFollower = fn(&Params, &Served<'_>) -> Box<dyn Follower>;

/// Properties of a policy for callers that size buffers, count requests or warn. No caller decides
/// by the policy's name.
pub struct Facts {
    /// The longest command that it makes by merging, in bytes; `None` if it does not merge.
    pub merges: fn(&Params) -> Option<u32>,
    /// The longest request that it treats as short, in bytes; `None` if it does not distinguish by
    /// length.
    pub short: fn(&Params) -> Option<u32>,
    /// Whether it divides the device by the weights of the classes.
    pub heeds_weights: bool,
    /// Whether it uses the I/O priorities of the classes.
    pub heeds_ioprio: bool,
    /// Its rule on a device that cannot say what each request would cost, as a real one; `None` if it does not ask.
    pub without_positions: Option<&'static str>,
    /// The versions of Linux that have it, as `2.6 to 4.20`; `None` if it is not from Linux.
    pub linux: Option<&'static str>,
    /// Finds parameters that are valid one by one but not together.
    pub conflict: fn(&Params) -> Option<Conflict>,
    /// Further parameters that it has only as the policy of a drive's own queue, because they need
    /// knowledge that only the drive has.
    pub in_drive: &'static [Param],
    /// Builds the policy to be held against another scheduler; `None` if it follows none.
    pub follower: Option<BuildFollower>,
}

/// A parameter whose value conflicts with the others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// Its name.
    pub param: &'static str,
    /// The error message.
    pub message: String,
    /// A correct setting.
    pub hint: &'static str,
}

impl Facts {
    /// The facts of a policy that does not merge, treats no request as short, uses neither weights
    /// nor I/O priorities nor positions, is not from Linux, takes the same parameters in any combination, and
    /// follows no other scheduler.
    pub const NONE: Self = Self {
        merges: |_| None,
        short: |_| None,
        heeds_weights: false,
        heeds_ioprio: false,
        without_positions: None,
        linux: None,
        conflict: |_| None,
        in_drive: &[],
        follower: None,
    };
}

impl Entry {
    /// The default values of its parameters.
    pub fn defaults(&self) -> Params {
        Params::defaults(self.params)
    }

    /// Turns off merging in `params`, if the policy merges at all.
    #[must_use]
    pub fn unmerged(&self, mut params: Params) -> Params {
        if self.params.iter().any(|param| param.name == MAX_SECTORS.name) {
            params.set(MAX_SECTORS.name, Value::Word("off"));
        }
        params
    }

    /// Replaces `auto` in `params` by the table that it stands for on a real device.
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
    /// Waiting time after which the bound holds.
    pub after: Span,
    /// Largest number of commands of younger requests before each command of this or an older one.
    pub overtakes: u32,
}

impl Bound {
    /// The bound of strict order of arrival.
    pub const FIFO: Self = Self { after: Span::ZERO, overtakes: 0 };
}
