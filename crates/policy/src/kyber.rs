//! A FIFO for each kind of request, and as many tokens as its latencies allow.
//!
//! Reads, writes and discards are domains. A command takes a token of its domain and gives it back
//! when it completes; a domain without a free token waits. Every 100 ms the latencies of each
//! domain are compared with its target. If a domain misses its target in the device, the domains
//! that are well within theirs get fewer tokens. Within a domain requests go in order of arrival.
//!
//! Use it on a fast drive that takes many commands at once, where writes fill the drive's queue and
//! reads have to wait in it. It has no effect if commands wait above the drive, and does not help
//! reads if the writes miss their own target as well: then use a longer `write_lat_nsec`.
//!
//! Two percentiles are compared: the 90th of the latencies in the device and the 99th of the
//! latencies since arrival. If any domain misses its target in the device, the device is congested,
//! and each domain's tokens are scaled by its 99th percentile over its target, in quarters: half
//! the target, half the tokens. Otherwise tokens are only added, to a domain whose 99th percentile
//! misses its target. Domains take turns, in batches. O(log n) per request, to find its neighbours.
//!
//! Promise: none in numbers of commands, since a token is out for as long as the device takes. A
//! domain that has a token waits for at most one batch of each other domain, and is FIFO.
//!
//! What it leaves out: the kernel's fourth domain, for flushes and similar requests, since flushes
//! bypass every policy here; the tokens that requests need to enter the queue; queues of
//! processors. A window ends with the first completion after its 100 ms, not by a timer.
//!
//! Source: the kernel's documentation of Kyber and the messages of the changes that introduced it
//! (4.12) and its present rule (4.20). Batches, tokens and the number of latencies behind a
//! percentile are the kernel's constants, which are not parameters there either.

mod latencies;

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

use penstock_core::{Counter, Go, Op, Out, Part, Policy, Request, Span, Time};

use crate::entry::{Entry, Facts};
use crate::params::{Kind, Param, Params, Value};
use crate::queue::{Added, Chains, Links, List, MAX_SECTORS, max_sectors, put};
use latencies::{Latencies, TARGET};

const KERNEL: &str = "the kernel's kyber-iosched";

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "kyber",
    summary: "tokens for reads and writes, fewer for those that keep others from their latency",
    params: &[
        Param {
            name: "read_lat_nsec",
            kind: Kind::Duration,
            default: Value::Duration(Span::from_ms(2)),
            doc: "the latency that reads should have",
            source: KERNEL,
        },
        Param {
            name: "write_lat_nsec",
            kind: Kind::Duration,
            default: Value::Duration(Span::from_ms(10)),
            doc: "the latency that writes should have",
            source: KERNEL,
        },
        MAX_SECTORS,
    ],
    build: |params, _| Box::new(Kyber::new(params)),
    bound: |_, _| None,
    facts: Facts { merges: max_sectors, linux: Some("since 4.12"), ..Facts::NONE },
};

/// Time between two adjustments of the tokens.
const WINDOW: Span = Span::from_ms(100);

/// The latency that discards should have: long, because no caller waits for them.
const DISCARD_TARGET: Span = Span::from_secs(5);

/// The constants of a domain: its name in counters, its first and largest number of tokens, the
/// commands of a batch.
struct DomainLimits {
    name: &'static str,
    tokens: u32,
    batch: u32,
}

const DOMAINS: [DomainLimits; 3] = [
    DomainLimits { name: "read", tokens: 256, batch: 16 },
    DomainLimits { name: "write", tokens: 128, batch: 8 },
    DomainLimits { name: "discard", tokens: 64, batch: 1 },
];

/// A queue for each domain, and their tokens.
#[derive(Debug)]
pub struct Kyber {
    /// Merged requests, with a lane for each domain.
    chains: Chains,
    links: Links,
    domains: [Domain; DOMAINS.len()],
    /// The domain whose turn it is, and the number of commands that it may still send.
    turn: (usize, u32),
    window_ends: Time,
    /// Arrival times, by slot.
    arrived: Vec<Time>,
    /// Commands in flight, by slot of their first request.
    commands: Vec<Option<Command>>,
    /// Numbers of all windows, and of those in which the device was congested.
    windows: [u64; 2],
}

#[derive(Debug)]
struct Domain {
    fifo: List,
    tokens: u32,
    /// The fewest tokens that it ever had.
    fewest: u32,
    in_flight: u32,
    in_device: Latencies,
    since_arrival: Latencies,
    /// The last unused 99th percentile, for a window with too few latencies.
    unused_p99: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Command {
    domain: usize,
    arrived: Time,
    sent: Time,
}

impl Kyber {
    /// Takes the kernel's tunables.
    pub fn new(params: &Params) -> Self {
        let limit = max_sectors(params).unwrap_or(0);
        let domain = |n: usize, target| Domain {
            fifo: List::default(),
            tokens: DOMAINS[n].tokens,
            fewest: DOMAINS[n].tokens,
            in_flight: 0,
            in_device: Latencies::new(target),
            since_arrival: Latencies::new(target),
            unused_p99: None,
        };
        let targets = ["read_lat_nsec", "write_lat_nsec"].map(|name| params.duration(name));
        Self {
            chains: Chains::new(limit, true).unordered(),
            links: Links::default(),
            domains: [domain(0, targets[0]), domain(1, targets[1]), domain(2, DISCARD_TARGET)],
            turn: (0, 0),
            window_ends: Time::ZERO + WINDOW,
            arrived: Vec::new(),
            commands: Vec::new(),
            windows: [0; 2],
        }
    }

    /// Whether a domain has a request to send, and a token for it.
    fn is_ready(&self, domain: usize) -> bool {
        let Domain { fifo, tokens, in_flight, .. } = &self.domains[domain];
        !fifo.is_empty() && in_flight < tokens
    }

    /// The domain that sends the next command, and the commands left in its batch: the domain whose
    /// turn it is until its batch ends, otherwise the next one that is ready.
    fn next(&self) -> Option<(usize, u32)> {
        let (domain, left) = self.turn;
        if left > 0 && self.is_ready(domain) {
            return Some((domain, left));
        }
        let others = (1..=DOMAINS.len()).map(|n| (domain + n) % DOMAINS.len());
        others.filter(|&n| self.is_ready(n)).map(|n| (n, DOMAINS[n].batch)).next()
    }

    /// Compares the latencies of a window with the targets, and scales the tokens.
    fn adjust_tokens(&mut self, now: Time) {
        let mut congested = false;
        for domain in &mut self.domains {
            let p90 = domain.in_device.take_percentile(now, 90);
            congested |= p90.is_some_and(|p90| p90 > TARGET);
        }
        self.windows[0] += 1;
        self.windows[1] += u64::from(congested);
        for (domain, DomainLimits { tokens: most, .. }) in self.domains.iter_mut().zip(&DOMAINS) {
            domain.scale(now, congested, *most);
        }
    }
}

impl Domain {
    /// Scales its tokens by the 99th percentile of its latencies since arrival. The number falls
    /// only if the device is congested.
    fn scale(&mut self, now: Time, congested: bool, most: u32) {
        let measured = self.since_arrival.take_percentile(now, 99);
        // A percentile may reduce the tokens once, however long the next one takes.
        let unused = self.unused_p99.take();
        let p99 = if congested { measured.or(unused) } else { measured };
        if !congested {
            self.unused_p99 = measured.or(unused);
        }
        if let Some(p99) = p99
            && (congested || p99 > TARGET)
        {
            self.tokens = (self.tokens * p99 / TARGET).clamp(1, most);
            self.fewest = self.fewest.min(self.tokens);
        }
    }
}

impl Policy for Kyber {
    fn enqueue(&mut self, now: Time, req: &Request) {
        let domain = match req.op {
            Op::Read => 0,
            Op::Discard => 2,
            Op::Write | Op::Flush => 1,
        };
        put(&mut self.arrived, req.id.slot(), now);
        put(&mut self.commands, req.id.slot(), None);
        if let Added::Founded(founder) = self.chains.add(domain as u32, req) {
            self.links.push_back(&mut self.domains[domain].fifo, founder);
        }
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        let (domain, left) = self.next()?;
        self.turn = (domain, left - 1);
        let Domain { fifo, in_flight, .. } = &mut self.domains[domain];
        let founder = self.links.pop_front(fifo)?;
        *in_flight += 1;
        let go = self.chains.take(founder, out);
        let arrived = self.arrived[founder as usize];
        self.commands[go.id.index()] = Some(Command { domain, arrived, sent: now });
        Some(go)
    }

    fn complete(&mut self, now: Time, req: &Request, _: &Part) {
        // A merged command is recorded at its first request only.
        let Some(command) = self.commands[req.id.index()].take() else { return };
        let domain = &mut self.domains[command.domain];
        domain.in_flight -= 1;
        domain.in_device.add(now, now.since(command.sent));
        domain.since_arrival.add(now, now.since(command.arrived));
        if now >= self.window_ends {
            self.window_ends = now + WINDOW;
            self.adjust_tokens(now);
        }
    }

    fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        for (domain, DomainLimits { name, .. }) in self.domains.iter().zip(&DOMAINS) {
            report(Counter::level(&format!("{name}.tokens")), u64::from(domain.tokens));
            report(Counter::level(&format!("{name}.fewest_tokens")), u64::from(domain.fewest));
        }
        let [windows, congested] = self.windows;
        report(Counter::total("windows"), windows);
        report(Counter::total("congested_windows"), congested);
        self.chains.counters(report);
    }
}
