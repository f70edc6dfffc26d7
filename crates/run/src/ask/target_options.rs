//! Options that all commands share: where to run, what is allowed there, and with what each does
//! not go.

use penstock_jobs::{devices, machines};
use serde::{Deserialize, Deserializer};

use crate::failure::Failure;

/// Prefix of the name of an emulated device.
pub(crate) const EMULATED: &str = "emulated:";

/// Prefix of the path of a file over which a loop device is made.
pub(crate) const LOOP: &str = "loop:";

/// Prefix of the name of a model that is served as a block device.
pub(crate) const BLOCK: &str = "block:";

/// Where a command runs, and what it may do there.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TargetOptions {
    /// A device's name, a device file, a target (its path, or `loop:` and the path of a file),
    /// `emulated:DEVICE[@SPEED][:PATH]`, `block:DEVICE[@SPEED]` or `null`; the job's device, or the targets of its files, if not
    /// given.
    pub on: Option<String>,
    /// Size of the owned file to create at the path, if it is missing.
    pub create: Option<String>,
    /// Serial numbers or paths of block devices to run on, named a second time: data on them may be
    /// lost.
    #[serde(deserialize_with = "names")]
    pub i_will_lose_data: Vec<String>,
    /// Whether the block device may hold data that no format announces.
    pub even_if_not_empty: bool,
    /// Whether the target is only read: it may be anybody's, and the job may not write.
    pub read_only: bool,
    /// How a target is driven; the first engine that works if not given.
    pub engine: Option<String>,
    /// The words of the command that serves a model as a block device; they come before the model.
    pub server: Vec<String>,
}

impl TargetOptions {
    /// The options of a run on `on`, with nothing else given.
    pub fn on(on: impl Into<String>) -> Self {
        Self { on: Some(on.into()), ..Self::default() }
    }

    /// Whether `on` names a machine.
    pub(crate) fn machine(&self) -> Result<bool, Failure> {
        let on = self.on.as_deref().filter(|on| !is_real_time(on));
        Ok(on.map(machines::find).transpose()?.flatten().is_some())
    }

    /// Takes out the modelled device that `on` names, if it does, as an argument that makes it the
    /// job's: then further ones can change parts of it.
    pub fn take_device(&mut self) -> Option<String> {
        let on = self.on.take_if(|on| !is_real_time(on) && devices::is_one(on))?;
        Some(format!("device={on}"))
    }

    /// The options about a real target: the name of each, whether it is given, and whether it goes
    /// with a target that is only read.
    fn of_a_target(&self) -> [(&'static str, bool, bool); 5] {
        [
            ("--create", self.create.is_some(), false),
            ("--engine", self.engine.is_some(), true),
            ("--i-will-lose-data", !self.i_will_lose_data.is_empty(), false),
            ("--even-if-not-empty", self.even_if_not_empty, false),
            ("--read-only", self.read_only, true),
        ]
    }

    /// Checks that no option about a real target is given for `place`, which has none.
    pub(crate) fn check_without_a_target(&self, place: &str) -> Result<(), Failure> {
        match self.of_a_target().iter().find(|(_, given, _)| *given) {
            None => Ok(()),
            Some((option, ..)) => {
                let message = format!("{option} does not go with {place}");
                Err(Failure::wrong(message, "name a file with --on, as in --on ./data.img"))
            }
        }
    }

    /// Checks that nothing is given for `on`, a model that is served, that is about a target of the
    /// user's.
    pub(crate) fn check_serving(&self, on: &str) -> Result<(), Failure> {
        let others = self.of_a_target();
        let other = others.iter().find(|(option, given, _)| *given && *option != "--engine");
        let Some((option, ..)) = other else { return Ok(()) };
        let message = format!("{option} does not go with {on}");
        Err(Failure::wrong(message, "the device is made for the run: leave it out"))
    }

    /// Checks that nothing is given that makes or writes the target `on`, which is only read.
    /// `looped`: whether a loop device is to be made over it.
    pub(crate) fn check_reading(&self, on: &str, looped: bool) -> Result<(), Failure> {
        let writes = self.of_a_target().into_iter().find(|(_, given, reads)| *given && !reads);
        let other = writes.map(|(option, ..)| option).or(looped.then_some(LOOP));
        let Some(other) = other else { return Ok(()) };
        let message = format!("--read-only does not go with {other}");
        Err(Failure::wrong(message, format!("nothing is made or written: --on {on} alone")))
    }
}

/// Whether `on` names a model that answers in real time.
fn is_real_time(on: &str) -> bool {
    on.starts_with(EMULATED) || on.starts_with(BLOCK)
}

/// Reads one name, or several.
fn names<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum NameOrNames {
        One(String),
        Several(Vec<String>),
    }
    Ok(match NameOrNames::deserialize(from)? {
        NameOrNames::One(name) => vec![name],
        NameOrNames::Several(names) => names,
    })
}
