//! Agreement of a policy with a scheduler of the kernel, by the events of its block layer.
//!
//! The policy follows the scheduler: before each decision both stand at the same place, so a
//! difference counts once. What chance gives stands next to it: the order of arrival, and a choice
//! at random.

use std::collections::BTreeMap;
use std::path::Path;

use penstock_core::{ClassInfo, IoClass, IoPrio, Op, ReqId, Request, Served, Span, Time};
use penstock_jobs::policies;
use penstock_policy::{Entry, POLICIES, Params, find};
use serde::Serialize;

use crate::failure::Failure;

mod events;
mod judge;
mod kernel_queue;
#[cfg(test)]
mod tests;

use events::{QueueEvent, QueueStep};
use judge::{Judge, Own};
use kernel_queue::{KernelQueue, QueuedRequest};

/// Number of differences that are described.
const DESCRIBED: usize = 10;

/// The classes of I/O priority.
const CLASSES: [(&str, IoClass); 3] = [
    ("real-time", IoClass::RealTime),
    ("best-effort", IoClass::BestEffort),
    ("idle", IoClass::Idle),
];

/// The agreement of a policy with a scheduler of the kernel.
#[derive(Debug, Serialize)]
pub struct AgreementResult {
    /// The policy.
    pub model: &'static str,
    /// Decisions of the kernel.
    pub decisions: u64,
    /// Number of decisions that the policy makes alike.
    pub agreed: u64,
    /// Number of decisions that the order of arrival makes alike.
    pub agreed_by_arrival: u64,
    /// Number of decisions that a choice at random makes alike, on average.
    pub agreed_by_chance: f64,
    /// Commands that were issued without an insertion in the capture: flushes, and requests from
    /// before it. They are not decisions of the scheduler.
    pub without_insertion: u64,
    /// The differences, by their kind: `class`, `direction`, `swapped` with the command after it,
    /// `oldest` of its direction on one side only, `wrap` to a lower address, or `position`.
    pub differences: BTreeMap<&'static str, u64>,
    /// Decisions that the policy would have made at another time: the kernel waited although there was
    /// room, or did not wait when the policy would have. They are compared as of the kernel's time.
    pub untimely: u64,
    /// The largest number of commands in flight.
    pub tags: u32,
    /// Seconds from the first event to the last.
    pub duration_s: f64,
    /// Seconds in which the kernel had requests and free tags, and issued nothing.
    pub kernel_idle_s: f64,
    /// Seconds of these in which the policy would have sent nothing either.
    pub model_idle_s: f64,
    /// The classes of I/O priority that had requests.
    pub classes: Vec<AgreedClass>,
    /// The first differences.
    pub first: Vec<Difference>,
}

/// The requests of a class of I/O priority.
#[derive(Debug, Serialize)]
pub struct AgreedClass {
    /// Its name.
    pub name: &'static str,
    /// Commands that the device completed.
    pub completed: u64,
    /// Commands a second.
    pub per_s: f64,
    /// Mean time from insertion to completion.
    pub mean_s: f64,
}

/// A decision that differs.
#[derive(Debug, Serialize)]
pub struct Difference {
    /// Time since the first event.
    pub at_s: f64,
    /// Number of the decision, from 1.
    pub decision: u64,
    /// Its kind.
    pub kind: &'static str,
    /// The kernel's choice.
    pub kernel: WaitingRequest,
    /// The policy's choice. Null if it would have sent nothing.
    pub model: Option<WaitingRequest>,
    /// The queued requests, the oldest first.
    pub queued: Vec<WaitingRequest>,
}

/// A request that waits.
#[derive(Clone, Debug, Serialize)]
pub struct WaitingRequest {
    /// `read`, `write` or `discard`.
    pub op: &'static str,
    /// First byte.
    pub start: u64,
    /// Bytes.
    pub bytes: u32,
    /// Its class of I/O priority.
    pub class: &'static str,
    /// Time for which it has waited.
    pub waited_s: f64,
}

/// Holds the policy `model`, with parameters as `fifo_batch=1`, against the decisions of the kernel's
/// `scheduler` in the capture at `path`.
///
/// # Errors
/// The file cannot be read or is no capture, or the policy cannot follow a scheduler.
pub fn agreement(
    path: &Path,
    scheduler: &str,
    model: &str,
    sets: &[String],
) -> Result<AgreementResult, Failure> {
    let entry = find(model).filter(|entry| entry.facts.follower.is_some()).ok_or_else(|| {
        let followers = POLICIES.iter().filter(|entry| entry.facts.follower.is_some());
        let names: Vec<&str> = followers.map(|entry| entry.name).collect();
        Failure::wrong(
            format_args!(
                "the policy {model:?} cannot be held against a scheduler by its decisions"
            ),
            format_args!("name one of these: {}", names.join(", ")),
        )
    })?;
    let params = policies::set(entry, sets)?;
    let events = events::read(path, scheduler).map_err(|error| Failure::wrong_in(path, &error))?;
    Ok(compared(entry, &params, &events))
}

/// Compares the policy `entry`, which follows, with what `events` have.
fn compared(entry: &'static Entry, params: &Params, events: &[QueueEvent]) -> AgreementResult {
    let classes = CLASSES.map(|(name, class)| ClassInfo {
        ioprio: IoPrio::new(class, 4).unwrap_or(IoPrio::DEFAULT),
        ..ClassInfo::new(name)
    });
    let served = Served { classes: &classes, ..Served::ONE_DISK };
    let arrival = find("noop").expect("the order of arrival is a policy");
    let judges = Judge::new(entry, params, &served)
        .zip(Judge::new(arrival, &arrival.defaults(), &served))
        .expect("both follow");
    Following::new(judges, tags(events)).result(entry.name, events)
}

/// Returns the number of commands that the driver takes: the largest one in flight after one of a
/// hundred issues. More are seen when two processors record events in another order.
fn tags(events: &[QueueEvent]) -> u32 {
    let mut queue = KernelQueue::default();
    let mut after_issue = BTreeMap::<u32, u64>::new();
    for event in events {
        match event.step {
            QueueStep::Inserted => _ = queue.insert(event),
            QueueStep::MergedBehind => _ = queue.merge(event, true),
            QueueStep::MergedBefore => _ = queue.merge(event, false),
            QueueStep::Issued => {
                if let Some(issued) = queue.issued(event) {
                    queue.issue(issued.request.id, event, |_| {});
                    *after_issue.entry(queue.in_flight()).or_default() += 1;
                }
            }
            QueueStep::Completed => _ = queue.complete(event),
        }
    }
    let enough = after_issue.values().sum::<u64>() / 100;
    let mut seen = 0;
    for (tags, issues) in after_issue.into_iter().rev() {
        seen += issues;
        if seen > enough {
            return tags;
        }
    }
    0
}

/// The comparison while it goes over the events.
struct Following {
    model: Judge,
    arrival: Judge,
    queue: KernelQueue,
    tags: u32,
    /// Time since which there have been fewer commands in flight than tags.
    room: Option<Time>,
    begun: Time,
    decisions: u64,
    agreed: u64,
    by_arrival: u64,
    by_chance: f64,
    without_insertion: u64,
    untimely: u64,
    idle: (Span, Span),
    /// Number of completed commands of each class, and the sum of their times.
    completed: [(u64, Span); 3],
    /// End of the last command.
    position: u64,
    differences: BTreeMap<&'static str, u64>,
    /// The kind of the last difference and the model's choice in it.
    last: Option<(&'static str, ReqId)>,
    first: Vec<Difference>,
}

impl Following {
    fn new((model, arrival): (Judge, Judge), tags: u32) -> Self {
        Self {
            model,
            arrival,
            queue: KernelQueue::default(),
            tags,
            room: Some(Time::ZERO),
            begun: Time::ZERO,
            decisions: 0,
            agreed: 0,
            by_arrival: 0,
            by_chance: 0.0,
            without_insertion: 0,
            untimely: 0,
            idle: (Span::ZERO, Span::ZERO),
            completed: [(0, Span::ZERO); 3],
            position: 0,
            differences: BTreeMap::new(),
            last: None,
            first: Vec::new(),
        }
    }

    fn result(mut self, model: &'static str, events: &[QueueEvent]) -> AgreementResult {
        self.begun = events.first().map_or(Time::ZERO, |event| event.at);
        let mut now = self.begun;
        for event in events {
            self.pass(now, event.at);
            now = event.at;
            self.event(event);
            let room = self.queue.in_flight() < self.tags;
            self.room = room.then(|| self.room.unwrap_or(now));
        }
        let duration_s = seconds(now.since(self.begun));
        let classes =
            self.completed.iter().zip(CLASSES).filter(|((completed, _), _)| *completed > 0);
        let classes = classes.map(|(&(completed, waited), (name, _))| AgreedClass {
            name,
            completed,
            per_s: completed as f64 / duration_s,
            mean_s: seconds(waited) / completed as f64,
        });
        AgreementResult {
            model,
            decisions: self.decisions,
            agreed: self.agreed,
            agreed_by_arrival: self.by_arrival,
            agreed_by_chance: self.by_chance,
            without_insertion: self.without_insertion,
            untimely: self.untimely,
            tags: self.tags,
            duration_s,
            kernel_idle_s: seconds(self.idle.0),
            model_idle_s: seconds(self.idle.1),
            classes: classes.collect(),
            differences: self.differences,
            first: self.first,
        }
    }

    /// Lets time pass, and counts that in which nothing is issued although something could be.
    fn pass(&mut self, from: Time, now: Time) {
        let waited = self.model.pass(from, now);
        self.arrival.pass(from, now);
        if !self.queue.queued().is_empty() && self.queue.in_flight() < self.tags {
            self.idle.0 += now.since(from);
            self.idle.1 += waited;
        }
    }

    fn event(&mut self, event: &QueueEvent) {
        match event.step {
            QueueStep::Inserted => {
                let request = self.queue.insert(event);
                self.model.insert(event.at, &request);
                self.arrival.insert(event.at, &request);
            }
            QueueStep::MergedBehind => _ = self.queue.merge(event, true),
            QueueStep::MergedBefore => _ = self.queue.merge(event, false),
            QueueStep::Issued => match self.queue.issued(event) {
                Some(issued) => self.decision(event, &issued),
                None => self.without_insertion += 1,
            },
            QueueStep::Completed => {
                let command = self.queue.complete(event);
                for QueuedRequest { request, since, .. } in &command {
                    self.model.complete(event.at, request, *since);
                    self.arrival.complete(event.at, request, *since);
                }
                if let Some(QueuedRequest { request, since, .. }) = command.first() {
                    let (completed, waited) = &mut self.completed[usize::from(request.class.0)];
                    *completed += 1;
                    *waited += event.at.since(*since);
                }
            }
        }
    }

    fn decision(&mut self, event: &QueueEvent, issued: &QueuedRequest) {
        let id = issued.request.id;
        self.decisions += 1;
        self.by_chance += 1.0 / self.queue.queued().len() as f64;
        self.by_arrival +=
            u64::from(self.arrival.follow(event.at, &issued.request, None).choice == Some(id));
        let own = self.model.follow(event.at, &issued.request, self.room);
        self.untimely += u64::from(own.untimely);
        let before = self.last.take();
        if own.choice == Some(id) {
            self.agreed += 1;
        } else {
            self.difference(event, issued, own);
        }
        if let Some((kind, choice)) = before
            && choice == id
        {
            self.recount(kind);
        }
        self.position = event.start + u64::from(event.len);
        self.queue.issue(id, event, |merged| {
            self.model.leave(event.at, merged);
            self.arrival.leave(event.at, merged);
        });
    }

    fn difference(&mut self, event: &QueueEvent, issued: &QueuedRequest, own: Own) {
        let chosen = own.choice.and_then(|id| self.queue.get(id)).copied();
        let kind = chosen.map_or("class", |chosen| self.kind(issued, &chosen));
        *self.differences.entry(kind).or_default() += 1;
        self.last = own.choice.map(|id| (kind, id));
        if self.first.len() < DESCRIBED {
            let waiting = |queued: &QueuedRequest| waiting(queued, event.at);
            self.first.push(Difference {
                at_s: seconds(event.at.since(self.begun)),
                decision: self.decisions,
                kind,
                kernel: waiting(issued),
                model: chosen.as_ref().map(waiting),
                queued: self.queue.queued().iter().map(waiting).collect(),
            });
        }
    }

    /// Returns the first thing in which two choices differ.
    fn kind(&self, issued: &QueuedRequest, chosen: &QueuedRequest) -> &'static str {
        let (kernel, model) = (&issued.request, &chosen.request);
        let is_oldest = |request: &Request| {
            let same = |queued: &&QueuedRequest| {
                (queued.request.op, queued.request.class) == (request.op, request.class)
            };
            self.queue.queued().iter().find(same).map(|oldest| oldest.request.id)
                == Some(request.id)
        };
        if kernel.class != model.class {
            "class"
        } else if kernel.op != model.op {
            "direction"
        } else if is_oldest(kernel) != is_oldest(model) {
            "oldest"
        } else if (kernel.start < self.position) != (model.start < self.position) {
            "wrap"
        } else {
            "position"
        }
    }

    /// Counts the last difference as an order that two processors swapped: the model's choice came
    /// next.
    fn recount(&mut self, kind: &'static str) {
        if let Some(count) = self.differences.get_mut(kind) {
            *count -= 1;
        }
        self.differences.retain(|_, count| *count > 0);
        *self.differences.entry("swapped").or_default() += 1;
    }
}

fn waiting(queued: &QueuedRequest, now: Time) -> WaitingRequest {
    let QueuedRequest { request, since, .. } = queued;
    let op = match request.op {
        Op::Read => "read",
        Op::Write => "write",
        _ => "discard",
    };
    let class = CLASSES[usize::from(request.class.0)].0;
    let waited_s = seconds(now.since(*since));
    WaitingRequest { op, start: request.start, bytes: request.len, class, waited_s }
}

fn seconds(span: Span) -> f64 {
    span.ns() as f64 / 1e9
}
