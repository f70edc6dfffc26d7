//! A policy written in Python, as the engine calls it.
//!
//! Python makes all decisions: this module converts arguments and answers, and an answer that the
//! engine could not act on ends the run with a message. So does an exception. The run is on the
//! thread that called Python's `compare`, so that Ctrl-C reaches a policy that does not return, and
//! a debugger finds it where it expects.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use penstock_core::{
    ClassInfo, Counter, Errno, Flags, Go, Out, Part, Policy, Request, Served, Time,
};
use penstock_run::{Build, Quit, QuitFlag};
use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};

use crate::below::{Below, LentDevice, op_word};
use crate::ledger::{Answer, Ledger};

/// The exception of a policy, kept until the run has ended.
pub(crate) type Raised = Arc<Mutex<Option<PyErr>>>;

/// Returns the function with which the engine makes a policy of `object`, a `penstock.Policy`.
pub(crate) fn build(object: Py<PyAny>, raised: Raised) -> Build {
    Arc::new(move |served, quit| -> Box<dyn Policy> {
        Python::attach(|py| match Scripted::new(py, &object, served, &raised, &quit) {
            Ok(policy) => Box::new(policy),
            // The package's own names are missing: nothing that a person could do here.
            Err(error) => panic!("penstock.policy is not whole: {error}"),
        })
    })
}

/// The policy, and what its calls need.
struct Scripted {
    object: Py<PyAny>,
    types: PythonTypes,
    ledger: Ledger,
    /// Time of the last call.
    now: Time,
    /// Number of wake-ups in a row, although there is nothing to wait for but time.
    idle: Cell<u32>,
    raised: Raised,
    quit: QuitFlag,
}

/// Types and words of `penstock.policy`.
struct PythonTypes {
    request: Py<PyType>,
    part: Py<PyType>,
    go: Py<PyType>,
    below: Py<Below>,
    classes: Vec<Py<PyString>>,
}

/// The reason why a call failed.
enum Trouble {
    Raised(PyErr),
    Wrong { what: String, hint: &'static str },
}

impl From<PyErr> for Trouble {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

impl Trouble {
    /// `answer` is not allowed because of `why`; `hint` lists the allowed answers.
    fn wrong(answer: &Bound<'_, PyAny>, why: &str, hint: &'static str) -> Self {
        Self::Wrong { what: format!("answered {}: {why}", shown(answer)), hint }
    }

    /// `answer` has a type that is not allowed.
    fn of_type(answer: &Bound<'_, PyAny>, hint: &'static str) -> Self {
        let kind = answer.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
        Self::wrong(answer, &format!("of type {kind}"), hint)
    }
}

/// Allowed answers of `dispatch`.
const GOES: &str = "allowed: None; a request that was enqueued and is not sent whole; or \
                    Go(id, len, chain), with a len of at most what is left and a chain of ids of \
                    whole requests, each of the same op and beginning where the one before ends";

/// Allowed answers of `wakeup`.
const WAKES: &str = "allowed: a whole number of nanoseconds later than now; or None, if nothing \
                     is kept back or something is in flight";

/// Allowed answers of `counters`.
const COUNTERS: &str = "allowed: a dict of names and whole numbers from 0 to 2^64 - 1";

/// Maximum number of wake-ups in a row, with nothing else happening, after which a policy must have
/// sent something: else its run would never end.
const PATIENCE: u32 = 100_000;

impl Scripted {
    fn new(
        py: Python<'_>,
        object: &Py<PyAny>,
        served: &Served<'_>,
        raised: &Raised,
        quit: &QuitFlag,
    ) -> PyResult<Self> {
        let module = py.import("penstock.policy")?;
        let kind = |name| Ok::<_, PyErr>(module.getattr(name)?.cast_into::<PyType>()?.unbind());
        let types = PythonTypes {
            request: kind("Request")?,
            part: kind("Part")?,
            go: kind("Go")?,
            below: Py::new(py, Below)?,
            classes: served
                .classes
                .iter()
                .map(|class| PyString::new(py, &class.name).unbind())
                .collect(),
        };
        let class = |info: &ClassInfo| {
            let ioprio = info.ioprio.to_string();
            let facts = (info.name.as_str(), info.weight.get(), info.prio.0, ioprio);
            kind("ClassInfo")?.bind(py).call1(facts)
        };
        let classes: Vec<_> = served.classes.iter().map(class).collect::<PyResult<_>>()?;
        let classes = PyTuple::new(py, classes)?;
        let served = kind("Served")?.bind(py).call1((classes, served.disks.get()))?;
        let policy = Self {
            object: object.clone_ref(py),
            types,
            ledger: Ledger::new(),
            now: Time::ZERO,
            idle: Cell::new(0),
            raised: raised.clone(),
            quit: quit.clone(),
        };
        let begun = policy.object.bind(py).call_method1(intern!(py, "begin"), (served,));
        if let Err(error) = begun {
            policy.quit(py, "begin", error.into());
        }
        Ok(policy)
    }

    fn has_quit(&self) -> bool {
        self.quit.get().is_some()
    }

    /// Ends the run because a call of `method` failed.
    fn quit(&self, py: Python<'_>, method: &str, trouble: Trouble) {
        let failed =
            |what: String, hint: &str| Quit::Failed { at: self.now, what, hint: hint.into() };
        let quit = match trouble {
            Trouble::Wrong { what, hint } => failed(format!("{method} {what}"), hint),
            Trouble::Raised(error) => {
                let ordinary = error.is_instance_of::<PyException>(py);
                let said = error.to_string();
                // An exception without a message is shown as its type alone.
                let said =
                    said.trim_end_matches(": ").replace(|c| c != '\n' && char::is_control(c), "?");
                let what = format!("{method} raised {said}");
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                // Ctrl-C, or an exit: no mistake of the policy.
                if ordinary { failed(what, "its traceback says where") } else { Quit::Interrupted }
            }
        };
        // The first reason counts.
        let _ = self.quit.set(quit);
    }

    fn request<'py>(&self, py: Python<'py>, req: &Request) -> PyResult<Bound<'py, PyAny>> {
        self.types.request.bind(py).call1((
            self.ledger.next(),
            op_word(py, req.op),
            req.start,
            req.len,
            req.due.ns(),
            &self.types.classes[req.class.index()],
            req.prio.0,
            req.stream.0,
            req.is_sync(),
            req.flags.has(Flags::FUA),
        ))
    }

    fn ask(&mut self, py: Python<'_>, out: &mut Out<'_>) -> Result<Option<Go>, Trouble> {
        let asked = LentDevice { now: self.now, device: out.below };
        let arguments = (self.now.ns(), &self.types.below);
        let answer = asked
            .while_in(|| self.object.bind(py).call_method1(intern!(py, "dispatch"), arguments))?;
        if answer.is_none() {
            return Ok(None);
        }
        let read = self.read(&answer)?;
        let sent = self.ledger.send(&read, out.chain);
        sent.map(Some).map_err(|why| Trouble::wrong(&answer, &why, GOES))
    }

    /// Reads a request, which stands for all that is left of it, or a `Go`: both are named tuples.
    fn read(&self, answer: &Bound<'_, PyAny>) -> Result<Answer, Trouble> {
        let py = answer.py();
        let whole = answer.is_instance(self.types.request.bind(py))?;
        if !whole && !answer.is_instance(self.types.go.bind(py))? {
            return Err(Trouble::of_type(answer, GOES));
        }
        let members = answer.cast::<PyTuple>().map_err(PyErr::from)?;
        let part = |why| move |_| Trouble::wrong(answer, why, GOES);
        let number = members.get_item(0)?.extract().map_err(part("its id is not one"))?;
        if whole {
            return Ok(Answer { number, len: 0, chain: Vec::new() });
        }
        let len = members.get_item(1)?.extract().map_err(part("its len is no size in bytes"))?;
        let chain = members.get_item(2)?;
        let chain = chain.extract().map_err(part("its chain is not a sequence of ids"))?;
        Ok(Answer { number, len, chain })
    }

    fn count(
        &self,
        py: Python<'_>,
        report: &mut dyn FnMut(Counter<'_>, u64),
    ) -> Result<(), Trouble> {
        let answer = self.object.bind(py).call_method0(intern!(py, "counters"))?;
        let counters: BTreeMap<String, u64> =
            answer.extract().map_err(|_| Trouble::of_type(&answer, COUNTERS))?;
        for (name, value) in &counters {
            report(Counter::level(name), *value);
        }
        Ok(())
    }

    fn wakes(&self, py: Python<'_>) -> Result<Time, Trouble> {
        let answer = self.object.bind(py).call_method0(intern!(py, "wakeup"))?;
        let (rests, waiting) = (self.ledger.rests(), self.ledger.waiting());
        if answer.is_none() {
            if !rests {
                return Ok(Time::NEVER);
            }
            let what = format!(
                "answered None, and so did dispatch: {waiting} requests are queued, nothing is in \
                 flight, and nothing would ever go on"
            );
            return Err(Trouble::Wrong { what, hint: WAKES });
        }
        // Signed, as the engine's times end before `Time::NEVER`.
        let ns: i64 = answer.extract().map_err(|_| Trouble::of_type(&answer, WAKES))?;
        let ns = u64::try_from(ns).unwrap_or(0);
        self.idle.set(if rests { self.idle.get() + 1 } else { 0 });
        if self.idle.get() > PATIENCE {
            let why = format!(
                "it was woken {PATIENCE} times in a row with {waiting} requests queued and nothing \
                 in flight, and sent nothing"
            );
            return Err(Trouble::wrong(&answer, &why, WAKES));
        }
        if ns <= self.now.ns() {
            let why = format!("now is {}", self.now.ns());
            return Err(Trouble::wrong(&answer, &why, WAKES));
        }
        Ok(Time::from_ns(ns))
    }
}

impl Policy for Scripted {
    fn enqueue(&mut self, now: Time, req: &Request) {
        if self.has_quit() {
            return;
        }
        self.now = now;
        self.idle.set(0);
        Python::attach(|py| {
            let called = self.request(py, req).and_then(|seen| {
                self.ledger.enter(req, seen.clone().unbind());
                self.object.bind(py).call_method1(intern!(py, "enqueue"), (now.ns(), seen))
            });
            if let Err(error) = called {
                self.quit(py, "enqueue", error.into());
            }
        });
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        if self.has_quit() {
            return None;
        }
        self.now = now;
        Python::attach(|py| {
            let go = self.ask(py, out);
            go.unwrap_or_else(|trouble| {
                self.quit(py, "dispatch", trouble);
                None
            })
        })
    }

    fn complete(&mut self, now: Time, req: &Request, part: &Part) {
        if self.has_quit() {
            return;
        }
        self.now = now;
        self.idle.set(0);
        Python::attach(|py| {
            let seen = self.ledger.settle(py, req.id, part);
            let error = part.error.map(Errno::code);
            let part = (part.at.ns(), part.service.ns(), part.len, part.last, error);
            let called = self.types.part.bind(py).call1(part).and_then(|part| {
                self.object.bind(py).call_method1(intern!(py, "complete"), (now.ns(), seen, part))
            });
            if let Err(error) = called {
                self.quit(py, "complete", error.into());
            }
        });
    }

    fn wakeup(&self) -> Time {
        // A policy that has quit asks for the turn in which its run ends.
        if self.has_quit() {
            return self.now;
        }
        Python::attach(|py| {
            self.wakes(py).unwrap_or_else(|trouble| {
                self.quit(py, "wakeup", trouble);
                self.now
            })
        })
    }

    fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        if self.has_quit() {
            return;
        }
        Python::attach(|py| {
            if let Err(trouble) = self.count(py, report) {
                self.quit(py, "counters", trouble);
            }
        });
    }
}

/// `answer` as Python shows it, cut to a readable length.
fn shown(answer: &Bound<'_, PyAny>) -> String {
    const LONGEST: usize = 160;
    let text = answer.repr().map_or_else(|_| "something".into(), |text| text.to_string());
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
