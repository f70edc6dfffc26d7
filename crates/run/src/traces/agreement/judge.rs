//! Holds a policy against the decisions of a scheduler, one by one.
//!
//! The scheduler takes one request ahead of a free tag of the driver: as soon as one is issued, the
//! next is chosen. So the policy is asked when a request was issued, and otherwise as soon as there
//! is one to choose. After each decision it follows the scheduler.

use penstock_core::{
    Device, Done, Follower, Out, Part, Policy, ReqId, Request, Served, Span, Time,
};
use penstock_policy::{Entry, Params};

/// A policy that follows a scheduler, and its own next choice.
pub(super) struct Judge {
    policy: Box<dyn Follower>,
    choice: Option<Choice>,
    chain: Vec<ReqId>,
    /// Time at which the scheduler next looks for one.
    look: Time,
}

/// The request that the policy would send next.
struct Choice {
    id: ReqId,
    at: Time,
    /// The policy after this decision.
    after: Box<dyn Follower>,
}

/// Time from an event to the choice that it leads to: in Linux 6.18 most take 10 to 20 µs. A request
/// that comes meanwhile may be chosen.
const TO_CHOOSE: Span = Span::from_us(20);

/// The policy's own decision at the time of the scheduler's.
#[derive(Clone, Copy)]
pub(super) struct Own {
    /// `None` if it would send nothing at all.
    pub(super) choice: Option<ReqId>,
    /// Whether it was made at another time than the scheduler's, which either waited although there
    /// was room or did not wait when the policy would have.
    pub(super) untimely: bool,
}

impl Judge {
    /// Builds the policy. `None` if it cannot follow a scheduler.
    pub(super) fn new(entry: &Entry, params: &Params, served: &Served<'_>) -> Option<Self> {
        let policy = (entry.facts.follower?)(&entry.unmerged(params.clone()), served);
        Some(Self { policy, choice: None, chain: Vec::new(), look: Time::NEVER })
    }

    /// Lets the scheduler look whenever it does before `now`. Returns the time since `from` in which
    /// it had chosen nothing.
    pub(super) fn pass(&mut self, from: Time, now: Time) -> Span {
        while self.choice.is_none() {
            let at = self.look.min(self.policy.wakeup());
            if at >= now {
                return now.since(from);
            }
            self.look(at);
            if self.choice.is_some() {
                return at.max(from).since(from);
            }
        }
        Span::ZERO
    }

    /// Queues a request.
    pub(super) fn insert(&mut self, now: Time, request: &Request) {
        self.each(|policy| policy.enqueue(now, request));
        self.look = self.look.min(now + TO_CHOOSE);
    }

    /// Ends a command.
    pub(super) fn complete(&mut self, now: Time, request: &Request, since: Time) {
        let part =
            Part { at: now, service: now.since(since), len: request.len, last: true, error: None };
        self.each(|policy| policy.complete(now, request, &part));
        self.look = self.look.min(now + TO_CHOOSE);
    }

    /// Follows the scheduler, which issued `request`, and returns the policy's own decision. There
    /// has been room for a command since `room`, if there is.
    pub(super) fn follow(&mut self, now: Time, request: &Request, room: Option<Time>) -> Own {
        if self.look <= now + TO_CHOOSE {
            self.look(now);
        }
        self.look = now + TO_CHOOSE;
        let timely = |choice: &Choice| {
            room.is_none_or(|room| now <= room.max(choice.at) + TO_CHOOSE + TO_CHOOSE)
        };
        let choice = self.choice.take();
        let untimely = !choice.as_ref().is_some_and(timely);
        let choice = choice.filter(timely).or_else(|| {
            let copy = self.policy.copy();
            let next_look = Some(copy.wakeup()).filter(|&wakeup| wakeup != Time::NEVER);
            self.ask(copy, next_look.map_or(now, |wakeup| wakeup.max(now))).ok()
        });
        let own = Own { choice: choice.as_ref().map(|choice| choice.id), untimely };
        match choice {
            Some(Choice { id, after, .. }) if id == request.id => self.policy = after,
            _ => self.policy.follow(now, request),
        }
        own
    }

    /// Takes out `request`, which went with the command that was followed last.
    pub(super) fn leave(&mut self, now: Time, request: &Request) {
        self.policy.follow(now, request);
    }

    fn each(&mut self, tell: impl Fn(&mut dyn Follower)) {
        tell(&mut *self.policy);
        if let Some(choice) = &mut self.choice {
            tell(&mut *choice.after);
        }
    }

    /// Asks the policy for its next choice, if it has made none.
    fn look(&mut self, now: Time) {
        self.look = Time::NEVER;
        if self.choice.is_some() {
            return;
        }
        match self.ask(self.policy.copy(), now) {
            Ok(choice) => self.choice = Some(choice),
            // It has taken nothing, but knows when it looks again.
            Err(policy) => self.policy = policy,
        }
    }

    /// Returns the choice of `policy`, or `policy` again if it has none.
    fn ask(
        &mut self,
        mut policy: Box<dyn Follower>,
        at: Time,
    ) -> Result<Choice, Box<dyn Follower>> {
        self.chain.clear();
        match policy.dispatch(at, &mut Out { chain: &mut self.chain, below: &Below }) {
            Some(go) => Ok(Choice { id: go.id, at, after: policy }),
            None => Err(policy),
        }
    }
}

/// A device below that takes anything and has no place that is nearer.
struct Below;

impl Device for Below {
    fn capacity(&self) -> u64 {
        u64::MAX
    }

    fn block(&self) -> u32 {
        512
    }

    fn room(&self) -> u32 {
        1
    }

    fn start(&mut self, _: Time, _: &Request) {}

    fn wakeup(&self) -> Time {
        Time::NEVER
    }

    fn advance(&mut self, _: Time, _: &mut Vec<Done>) {}
}
