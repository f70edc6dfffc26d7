//! A policy in front of a device is a device.
//!
//! One request may become many commands (split) and many may become one (merge). A command below
//! carries a length and the ticket of its request, or of the first request of its chain. That is
//! enough to settle it, so there is no table of commands.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::device::Device;
use crate::policy::{Go, Out, Part, Policy};
use crate::request::{Done, Errno, Op, ReqId, Request};
use crate::table::Table;
use crate::time::{Span, Time};

/// The I/O scheduler: `policy` decides what `device` gets next.
///
/// Flushes bypass the policy and go before the next decision. A flush covers what had finished when
/// it arrived, as in Linux and NBD. A command that the device does not admit is held until it does.
pub struct Queued<P, D> {
    policy: P,
    device: D,
    depth: u32,
    table: Table<Entry>,
    flushes: VecDeque<ReqId>,
    held: Option<Command>,
    /// Requests that the policy merged behind its last answer.
    chain: Vec<ReqId>,
    /// Time at which to ask the policy again: now, if it has not been asked since `start`.
    wake: Time,
    /// Requests that arrive at the instant of a completion enter the policy before its next
    /// decision.
    arrivals_first: bool,
}

/// A request of the layer above, and its progress.
struct Entry {
    /// The request as the policy knows it, with a ticket of this layer's table.
    req: Request,
    caller: ReqId,
    begun: Time,
    sent: u32,
    done: u32,
    service: Span,
    error: Option<Errno>,
    /// The neighbour that travels behind it in one command.
    next: Option<ReqId>,
}

/// A command for the device below: `len` bytes from the ticket's request on.
#[derive(Clone, Copy)]
struct Command {
    id: ReqId,
    len: u32,
}

impl<P: Policy, D: Device> Queued<P, D> {
    /// Puts `policy` in front of `device`, with no bound on the number of waiting requests.
    pub fn new(policy: P, device: D) -> Self {
        Self::with_depth(policy, device, u32::MAX)
    }

    /// Puts `policy` in front of `device`, with room for `depth` requests, including those at the
    /// device: a disk's own queue.
    pub fn with_depth(policy: P, device: D, depth: u32) -> Self {
        Self {
            policy,
            device,
            depth,
            table: Table::new(),
            flushes: VecDeque::new(),
            held: None,
            chain: Vec::new(),
            wake: Time::NEVER,
            arrivals_first: false,
        }
    }

    /// Sets whether the decision after a completion is made in a turn of its own at the same
    /// instant, so that requests that arrive at that instant are queued first. Use it for sources
    /// whose requests arrive exactly at completions, such as programs that count in whole time
    /// slices.
    #[must_use]
    pub fn arrivals_first(self, arrivals_first: bool) -> Self {
        Self { arrivals_first, ..self }
    }

    /// The policy, for its counters.
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// The device below.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Turns the completions of the device, from `from` on, into completions of the layer above.
    ///
    /// The vector is rewritten in place: a completion takes the place of a command already read.
    /// The other completions of a chain go to the end, so that nothing unread is overwritten.
    fn settle(&mut self, now: Time, done: &mut Vec<Done>, from: usize) {
        let end = done.len();
        let mut write = from;
        for read in from..end {
            let command = done[read];
            if self.entry(command.id).next.is_none() {
                if let Some(answer) = self.settle_part(now, &command) {
                    done[write] = answer;
                    write += 1;
                }
                continue;
            }
            // A merged chain divides its device time by length; whole sums stay exact.
            let mut next = Some(command.id);
            let (mut settled, mut charged) = (0, Span::ZERO);
            while let Some(id) = next {
                let Entry { req, next: behind, .. } = self.entry(id);
                next = *behind;
                let len = req.len;
                settled += len;
                let upto = command.service.share(u64::from(settled), u64::from(command.len));
                let part = Done { id, len, service: upto - charged, ..command };
                charged = upto;
                if let Some(answer) = self.settle_part(now, &part) {
                    if write <= read {
                        done[write] = answer;
                        write += 1;
                    } else {
                        done.push(answer);
                    }
                }
            }
        }
        if write < end {
            done.drain(write..end);
        }
    }

    /// Books one piece. Returns the completion for the layer above if its request has finished.
    fn settle_part(&mut self, now: Time, piece: &Done) -> Option<Done> {
        let entry = self.table.get_mut(piece.id).expect("a completion of an unknown request");
        entry.done += piece.len;
        let (service, error) = (entry.service + piece.service, entry.error.or(piece.error));
        (entry.service, entry.error) = (service, error);
        let last = entry.done == entry.req.len;
        if entry.req.op != Op::Flush {
            let Done { service, len, error, .. } = *piece;
            self.policy.complete(now, &entry.req, &Part { at: now, service, len, last, error });
        }
        if !last {
            return None;
        }
        // `service` and `error` are not read back from the entry: a processor stalls on a read that
        // is wider than the writes just before it.
        let Entry { req: Request { io, .. }, caller, begun, .. } = *entry;
        self.table.remove(piece.id);
        Some(Done { id: caller, at: now, begun, service, len: io.len, error })
    }

    /// Sends commands below while there is room and the policy has something. Returns whether it
    /// stopped because the policy had nothing.
    fn fill(&mut self, now: Time) -> bool {
        while self.device.room() > 0 {
            let command = if let Some(id) = self.flushes.pop_front() {
                Command { id, len: 0 }
            } else if let Some(command) = self.held.take() {
                command
            } else {
                let mut out = Out { chain: &mut self.chain, below: &self.device };
                let Some(go) = self.policy.dispatch(now, &mut out) else { return true };
                self.command(go)
            };
            if !self.send(now, command) {
                // A flush waits at the head of its queue: another command may be held already.
                match self.entry(command.id).req.op {
                    Op::Flush => self.flushes.push_front(command.id),
                    _ => self.held = Some(command),
                }
                return false;
            }
        }
        false
    }

    /// Turns a decision into a command and links its chain.
    fn command(&mut self, go: Go) -> Command {
        let entry = self.entry(go.id);
        let rest = entry.req.len - entry.sent;
        let mut len = if go.len == 0 { rest } else { go.len };
        assert!(len > 0 && len <= rest, "a policy sent {len} bytes of {rest}");
        if self.chain.is_empty() {
            return Command { id: go.id, len };
        }
        assert!(entry.sent == 0 && len == rest, "a chain begins whole");
        let mut last = go.id;
        let chain = core::mem::take(&mut self.chain);
        for &id in &chain {
            let (op, end) = (self.entry(last).req.op, self.entry(last).req.end());
            let member = self.entry(id);
            assert!(member.sent == 0 && member.next.is_none(), "a chain has whole members");
            assert!(member.req.op == op && member.req.start == end, "a chain has neighbours");
            len += member.req.len;
            self.table.get_mut(last).expect("looked up above").next = Some(id);
            last = id;
        }
        self.chain = chain;
        self.chain.clear();
        Command { id: go.id, len }
    }

    /// Starts `command` below. Returns `false` if the device does not admit it now.
    fn send(&mut self, now: Time, command: Command) -> bool {
        let Entry { req, sent, .. } = self.entry(command.id);
        let mut below = *req;
        below.io.start += u64::from(*sent);
        below.io.len = command.len;
        if !self.device.admits(below.op, below.start, below.len) {
            return false;
        }
        let mut next = Some(command.id);
        while let Some(id) = next {
            let entry = self.table.get_mut(id).expect("a chain of live requests");
            next = entry.next;
            if entry.sent == 0 {
                entry.begun = now;
            }
            entry.sent += command.len.min(entry.req.len - entry.sent);
        }
        self.device.start(now, &below);
        true
    }

    fn entry(&self, id: ReqId) -> &Entry {
        self.table.get(id).expect("a policy or a device named a request that is not here")
    }
}

impl<P: Policy, D: Device> Device for Queued<P, D> {
    fn capacity(&self) -> u64 {
        self.device.capacity()
    }

    fn block(&self) -> u32 {
        self.device.block()
    }

    fn room(&self) -> u32 {
        self.depth.saturating_sub(self.table.len())
    }

    fn position(&self, now: Time, op: Op, start: u64) -> Span {
        self.device.position(now, op, start)
    }

    fn start(&mut self, now: Time, req: &Request) {
        assert!(req.len > 0 || req.op == Op::Flush, "a request of no bytes: {req:?}");
        let id = self.table.insert_with(|id| Entry {
            req: req.io.with(id),
            caller: req.id,
            begun: Time::NEVER,
            sent: 0,
            done: 0,
            service: Span::ZERO,
            error: None,
            next: None,
        });
        if req.op == Op::Flush {
            self.flushes.push_back(id);
        } else {
            self.policy.enqueue(now, &req.io.with(id));
        }
        // Without room there is no reason to ask: the completion that makes room asks.
        if self.device.room() > 0 {
            self.wake = now;
        }
    }

    fn wakeup(&self) -> Time {
        self.wake.min(self.device.wakeup())
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        if self.device.wakeup() <= now || self.device.polled() {
            let from = done.len();
            self.device.advance(now, done);
            let finished = done.len() > from;
            self.settle(now, done, from);
            if finished && self.arrivals_first {
                self.wake = now;
                return;
            }
        }
        // A policy that cannot be asked must not name a wake-up, or the loop would spin. It cannot
        // be asked while the device is full or refuses the first command.
        let policy_is_empty = self.fill(now);
        self.wake = if policy_is_empty { self.policy.wakeup() } else { Time::NEVER };
    }

    fn polled(&self) -> bool {
        self.device.polled()
    }
}
