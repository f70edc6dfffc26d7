//! Checks that agents that wait for others are going to begin.

use penstock_core::{ClassId, Span};

use crate::classes::Class;
use crate::diagnose::{JobError, quote};
use crate::workload::agents::AgentSpec;

/// Checks that each of `agents` that waits for classes is going to begin, in a job that runs for
/// `duration`.
pub(crate) fn check(
    agents: &[AgentSpec],
    classes: &[Class],
    duration: Span,
) -> Result<(), JobError> {
    for agent in agents {
        for &class in &agent.order.after {
            let fault = endless(agents, class, duration)
                .or_else(|| waits_for(agents, class, agent.class, classes.len()));
            if let Some((why, hint)) = fault {
                let name = quote(&classes[class.index()].name);
                let message = format!("the agent begins after class {name}, {why}");
                return Err(JobError::new(message).at(&agent.order.origin).hint(hint));
            }
        }
    }
    Ok(())
}

/// Returns why the agents of `class` do not end before the job, with a hint; `None` if they do.
fn endless(
    agents: &[AgentSpec],
    class: ClassId,
    duration: Span,
) -> Option<(&'static str, &'static str)> {
    let mut others = agents.iter().filter(|agent| agent.class == class).peekable();
    if others.peek().is_none() {
        return Some(("which no agent has", "name the class of other agents"));
    }
    if others.clone().any(AgentSpec::takes_turns) {
        return Some(("whose agents take turns", "agents that take turns end with the job"));
    }
    let endless = |agent: &AgentSpec| agent.quota.is_none() && agent.stop >= duration;
    others.any(endless).then_some((
        "which ends only with the job",
        "give its agents a `total`, a `count`, `passes` or a `stop`",
    ))
}

/// Returns the fault that agents of `class` wait, at the end of at most `most` steps, for `other`.
fn waits_for(
    agents: &[AgentSpec],
    class: ClassId,
    other: ClassId,
    most: usize,
) -> Option<(&'static str, &'static str)> {
    let mut reached = vec![class];
    for _ in 0..most {
        let next: Vec<ClassId> = agents
            .iter()
            .filter(|agent| reached.contains(&agent.class))
            .flat_map(|agent| agent.order.after.iter().copied())
            .filter(|class| !reached.contains(class))
            .collect();
        reached.extend(next);
    }
    let circle = ("which waits for the agent's class", "a circle of agents would never begin");
    reached.contains(&other).then_some(circle)
}
