//! Merging for policies that keep their own order.
//!
//! A policy queues founders and gets the rest of their chains here. Only requests of one class
//! merge, and only if both are short or both are long in a policy that distinguishes these.

use alloc::vec::Vec;

use penstock_core::{Go, Out, ReqId, Request};

use super::chains::{Added, Chains};
use super::slots::put;
use crate::params::{Kind, Param, Params, Value};

/// The longest command that merging may make: 1,280 KiB, the kernel's default `max_sectors_kb`.
pub const MAX_SECTORS: Param = Param {
    name: "max_sectors",
    kind: Kind::SizeOr(&["off"]),
    default: Value::Size(1280 << 10),
    doc: "the longest command that merging neighbours may make; off: none are merged",
    source: "the kernel's default max_sectors_kb",
};

/// Returns the value of [`MAX_SECTORS`] in bytes; `None` if it is off.
pub(crate) fn max_sectors(params: &Params) -> Option<u32> {
    params.len(MAX_SECTORS.name)
}

/// Chains of queued requests, or none.
#[derive(Debug)]
pub struct Merges {
    chains: Option<Chains>,
    /// Tickets by slot, if nothing is merged.
    requests: Vec<ReqId>,
}

impl Merges {
    /// Takes `max_sectors`.
    pub fn new(params: &Params) -> Self {
        let chains = max_sectors(params).map(|limit| Chains::new(limit, true).unordered());
        Self { chains, requests: Vec::new() }
    }

    /// Queues `req`, which the policy treats as `long` or not.
    pub fn add(&mut self, req: &Request, long: bool) -> Added {
        if let Some(chains) = &mut self.chains {
            return chains.add(2 * req.class.index() as u32 + u32::from(long), req);
        }
        put(&mut self.requests, req.id.slot(), req.id);
        Added::Founded(req.id.slot())
    }

    /// First byte of the chain of `founder`. Only for policies that merge.
    pub fn start(&self, founder: u32) -> u64 {
        self.chains().start(founder)
    }

    /// The byte after the chain of `founder`. Only for policies that merge.
    pub fn end(&self, founder: u32) -> u64 {
        self.chains().end(founder)
    }

    /// Takes the chain of `founder` out and sends it as one command.
    pub fn take(&mut self, founder: u32, out: &mut Out<'_>) -> Go {
        match &mut self.chains {
            Some(chains) => chains.take(founder, out),
            None => Go::all(self.requests[founder as usize]),
        }
    }

    /// Whether requests are merged. If not, each request is a chain of its own.
    pub fn any(&self) -> bool {
        self.chains.is_some()
    }

    /// Ends a chain, so that nothing merges with it from now on. Returns its first request.
    pub fn close(&mut self, founder: u32) -> u32 {
        self.chains.as_mut().expect("a chain").close(founder)
    }

    /// Sends members of a closed chain as one command, from `head` on: at least one, and as many as
    /// fit in `most` bytes. Returns the command, its length, and the next member.
    pub fn run(&self, head: u32, most: u32, out: &mut Out<'_>) -> (Go, u32, Option<u32>) {
        self.chains().run(head, most, out)
    }

    /// The ticket and length of a member, and the next member.
    pub fn member(&self, slot: u32) -> (ReqId, u32, Option<u32>) {
        self.chains().member(slot)
    }

    fn chains(&self) -> &Chains {
        self.chains.as_ref().expect("only chains are joined")
    }
}
