//! The engines of a run: the one that was named, those that agents name, or the first that works.

use penstock_jobs::{AgentSpec, Job, engines};
use penstock_live::Engine;

use crate::ask::candidate::Chosen;
use crate::failure::Failure;

/// The engine called `name`, which works here.
fn named(name: &str) -> Result<Engine, Failure> {
    probed(engines::engine(name)?)
}

/// The same, or the first that works if none is named.
pub(crate) fn named_or_usual(name: Option<&str>) -> Result<Engine, Failure> {
    name.map_or_else(|| Ok(usual()), named)
}

/// The engine of a run.
#[derive(Clone, Copy)]
pub(crate) struct RunEngine {
    /// Behind a policy of ours.
    pub(crate) engine: Engine,
    /// Whether an argument names it: what agents say gives way.
    is_named: bool,
}

impl RunEngine {
    /// The engine of `jobs`, called `name` if an argument names one. Every one that a thread of an agent may use
    /// works too.
    pub(crate) fn of(jobs: &[&Job], name: Option<&str>) -> Result<Self, Failure> {
        let engine = name.map_or_else(|| of_agents(jobs), named)?;
        Ok(Self { engine, is_named: name.is_some() })
    }

    /// That of a thread that asks by itself, of which `named` is what its agents say.
    pub(crate) fn of_thread(self, named: Option<Engine>) -> Engine {
        if self.is_named { self.engine } else { named.unwrap_or_else(usual) }
    }

    /// That none of `policies` has to serve agents of `job` that name different engines.
    pub(crate) fn check_one(self, job: &Job, policies: &[Chosen]) -> Result<(), Failure> {
        if self.is_named { Ok(()) } else { check_one(job, policies) }
    }
}

/// The engine that agents of `jobs` name, or the first that works.
fn of_agents(jobs: &[&Job]) -> Result<Engine, Failure> {
    let agents = || jobs.iter().flat_map(|job| job.workload.agents());
    for engine in agents().filter_map(AgentSpec::own_engine) {
        probed(engine)?;
    }
    Ok(agents().find_map(|agent| agent.engine).unwrap_or_else(usual))
}

/// That none of `policies`, each of which stands before one engine, has to serve agents of `job` that name
/// different ones.
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
