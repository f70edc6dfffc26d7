//! Requests and times of each agent, for the detail of a run.

use penstock_core::{ClassId, Op, Request, Time};

use crate::measures::measure::{Finished, Measure};
use crate::measures::subject::Subject;
use crate::result::parts::{ThreadPart, unpack};
use crate::result::{AgentDetail, RunResult};

/// Counts what each agent does; an agent's stream is its index.
struct PerAgent<'a> {
    classes: Vec<ClassId>,
    names: Vec<&'a str>,
    agents: Vec<Counted>,
}

/// Requests of an agent.
#[derive(Clone, Copy)]
struct Counted {
    requests: u64,
    bytes: u64,
    began: Time,
    ended: Option<Time>,
}

/// Returns the measure for a run of agents whose detail is asked for.
pub(crate) fn measure<'a>(subject: &Subject<'a>) -> Option<Box<dyn Measure + 'a>> {
    let classes = subject.load.workload.agent_classes();
    if !subject.detail || classes.is_empty() {
        return None;
    }
    let none = Counted { requests: 0, bytes: 0, began: Time::NEVER, ended: None };
    let (agents, names) = (vec![none; classes.len()], subject.class_names());
    Some(Box::new(PerAgent { classes, names, agents }))
}

impl Measure for PerAgent<'_> {
    fn arrived(&mut self, _: Time, req: &Request) {
        let agent = &mut self.agents[req.stream.0 as usize];
        agent.began = agent.began.min(req.due);
    }

    fn finished(&mut self, _: Time, req: &Request, how: &Finished) {
        let agent = &mut self.agents[req.stream.0 as usize];
        agent.ended = agent.ended.max(Some(how.at));
        if how.error.is_none() && req.op != Op::Flush {
            agent.requests += 1;
            agent.bytes += u64::from(req.len);
        }
    }

    fn part(&mut self, _: Time) -> Option<ThreadPart> {
        Some(Box::new(self.agents.clone()))
    }

    fn join(&mut self, part: ThreadPart) {
        for (agent, other) in self.agents.iter_mut().zip(unpack::<Vec<Counted>>(part)) {
            agent.requests += other.requests;
            agent.bytes += other.bytes;
            agent.began = agent.began.min(other.began);
            agent.ended = agent.ended.max(other.ended);
        }
    }

    fn write(&mut self, _: Time, result: &mut RunResult) {
        let seconds = |at: Time| at.ns() as f64 / 1e9;
        let written = |(agent, class): (&Counted, &ClassId)| AgentDetail {
            of_class: self.names[class.index()].to_owned(),
            requests: agent.requests,
            bytes: agent.bytes,
            began_s: Some(agent.began).filter(|at| *at < Time::NEVER).map(seconds),
            ended_s: agent.ended.map(seconds),
        };
        let detail = result.detail.as_mut().expect("its measure comes first");
        detail.agents = self.agents.iter().zip(&self.classes).map(written).collect();
    }
}
