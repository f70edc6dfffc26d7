//! The engine of a run: the one that an argument names, those that agents name, or the first that
//! works.

use penstock_jobs::{AgentSpec, Job, engines};
use penstock_live::Engine;

use crate::ask::candidate::Chosen;
use crate::failure::Failure;

/// The engine called `name`; an error if it does not work here.
fn named(name: &str) -> Result<Engine, Failure> {
    probed(engines::engine(name)?)
}

/// The engine called `name`, or the first that works if `name` is `None`.
pub(crate) fn named_or_usual(name: Option<&str>) -> Result<Engine, Failure> {
    name.map_or_else(|| Ok(usual()), named)
}

/// The engine of a run.
#[derive(Clone, Copy)]
pub(crate) struct RunEngine {
    /// The engine behind a Penstock policy.
    pub(crate) engine: Engine,
    /// Whether an argument names it, which overrides what agents name.
    is_named: bool,
}

impl RunEngine {
    /// The engine of `jobs`, called `name` if an argument names one. Also checks every engine that
    /// a thread of an agent may use.
    pub(crate) fn of(jobs: &[&Job], name: Option<&str>) -> Result<Self, Failure> {
        let engine = name.map_or_else(|| of_agents(jobs), named)?;
        Ok(Self { engine, is_named: name.is_some() })
    }

    /// The engine of a thread that runs without a policy; `named` is the engine that its agents
    /// name.
    pub(crate) fn of_thread(self, named: Option<Engine>) -> Engine {
        if self.is_named { self.engine } else { named.unwrap_or_else(usual) }
    }

    /// Checks that none of `policies` has to serve agents of `job` that name different engines.
    pub(crate) fn check_one(self, job: &Job, policies: &[Chosen]) -> Result<(), Failure> {
        if self.is_named { Ok(()) } else { check_one(job, policies) }
    }
}

/// The engine that the agents of `jobs` name, or the first that works.
fn of_agents(jobs: &[&Job]) -> Result<Engine, Failure> {
    let agents = || jobs.iter().flat_map(|job| job.workload.agents());
    for engine in agents().filter_map(AgentSpec::own_engine) {
        probed(engine)?;
    }
    Ok(agents().find_map(|agent| agent.engine).unwrap_or_else(usual))
}

/// Checks that none of `policies`, each of which uses one engine, has to serve agents of `job` that
/// name different ones.
fn check_one(job: &Job, policies: &[Chosen]) -> Result<(), Failure> {
    let ours = policies.iter().find(|policy| policy.kernel().is_none());
    let mut named = job.workload.agents().iter().filter_map(|agent| agent.engine);
    let (Some(ours), Some(first)) = (ours, named.next()) else { return Ok(()) };
    let Some(other) = named.find(|other| *other != first) else { return Ok(()) };
    let [first, other] = [first, other].map(Engine::name);
    let message = format!(
        "agents name the engines {first} and {other}; the policy {} stands before one",
        ours.name()
    );
    let hint =
        "name one with --engine, or leave the scheduling to the kernel: --policies kernel:as-is";
    Err(Failure::wrong(message, hint))
}

fn probed(engine: Engine) -> Result<Engine, Failure> {
    engine.probe()?;
    Ok(engine)
}

fn usual() -> Engine {
    Engine::ALL.into_iter().find(|engine| engine.probe().is_ok()).unwrap_or(Engine::Threads)
}
