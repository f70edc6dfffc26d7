//! Order of agents: some wait until all agents of a class have ended, some end the others of theirs.

use penstock_core::ClassId;

use super::settings::Agent;

/// Ends of the agents, class by class; not kept if no agent waits for others or ends others.
pub(super) struct Ends {
    /// Number of agents of each class that have not ended.
    going: Vec<u32>,
    /// Numbers of the agents that wait, ascending.
    waiting: Vec<u32>,
    matters: bool,
}

impl Ends {
    /// Creates the ends of `agents`, none of which has ended.
    pub(super) fn new(agents: &[Agent]) -> Self {
        let classes = agents.iter().map(|agent| agent.class.index() + 1).max().unwrap_or(0);
        let mut going = vec![0; classes];
        for agent in agents {
            going[agent.class.index()] += 1;
        }
        let waits = |(number, agent): (u32, &Agent)| agent.waits().then_some(number);
        let waiting: Vec<u32> = (0..).zip(agents).filter_map(waits).collect();
        let matters = !waiting.is_empty() || agents.iter().any(|agent| agent.ends_class);
        Self { going, waiting, matters }
    }

    /// Whether any agent waits for others or ends others.
    pub(super) fn matters(&self) -> bool {
        self.matters
    }

    /// Notes that an agent of `class` has ended.
    pub(super) fn ended(&mut self, class: ClassId) {
        self.going[class.index()] -= 1;
    }

    /// Takes an agent that waits no longer: the first for which all classes of `after` have ended.
    pub(super) fn take_ready<'a>(&mut self, after: impl Fn(u32) -> &'a [ClassId]) -> Option<u32> {
        let has_ended = |class: &ClassId| self.going.get(class.index()).is_none_or(|&n| n == 0);
        let ready = |&agent: &u32| after(agent).iter().all(has_ended);
        let at = self.waiting.iter().position(ready)?;
        Some(self.waiting.remove(at))
    }
}
