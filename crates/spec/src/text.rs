//! A job written out: TOML with every default in place, that reads back as the same job.

use std::fmt::Write;

use penstock_core::{Op, Span};
use penstock_policy::{Params, Value};
use penstock_workload::{Arrivals, Pace, Pattern};

use crate::agents::AgentSpec;
use crate::job::{Job, OFF, Stop, View};
use crate::stop::DONE;
use crate::traces;
use crate::units::{duration_text, rate_text, size_text};

/// The whole job.
pub(crate) fn job(job: &Job) -> String {
    let stop: String = match job.stop {
        Stop::Drained => "drained".into(),
        Stop::LastArrival => "last-arrival".into(),
        Stop::Done(class) => format!("{DONE}{}", job.classes[class.index()].name),
        Stop::At(at) => duration_text(at),
    };
    let mut out = Lines::default();
    out.line("seed", job.seed);
    if job.trace.is_none() {
        out.line("duration", time(job.duration));
    }
    out.line("warmup", time(job.warmup));
    out.line("stop", quoted(&stop));
    out.line("max_outstanding", job.max_outstanding);
    if let Some(spec) = &job.device {
        spec.write(&mut out);
    }
    out.section("[live]");
    out.line("depth", job.live.depth);
    out.line("batch", job.live.batch);
    out.line("timeout", job.live.timeout.map_or_else(|| quoted(OFF), time));
    if let Some(View { start, length }) = job.live.view {
        let (start, length) = (size(start), size(length));
        out.line("view", format!("{{ start = {start}, length = {length} }}"));
    }
    if let Some(spec) = &job.page_cache {
        spec.write(&mut out);
    }
    for class in &job.classes {
        out.section(&format!("[class.{}]", class.name));
        out.line("weight", class.weight);
        out.line("prio", class.prio);
    }
    for spec in &job.agents {
        agent(&mut out, spec, &job.classes[spec.class.index()].name);
    }
    if let Some(programs) = &job.programs {
        programs.write(&mut out, &job.classes);
    }
    if let Some(trace) = &job.trace {
        traces::text(&mut out, trace, &job.classes);
    }
    for (name, params) in &job.policies {
        out.section(&format!("[policy.{name}]"));
        for (name, value) in params.iter() {
            out.line(name, param(value));
        }
    }
    out.0
}

fn agent(out: &mut Lines, agent: &AgentSpec, class: &str) {
    let region = [agent.region.from, agent.region.to].map(|edge| quoted(&edge.text()));
    out.section("[[agent]]");
    out.line("class", quoted(class));
    out.line("op", quoted(if agent.op == Op::Read { "read" } else { "write" }));
    out.line("sync", agent.sync);
    out.line("cache", quoted(if agent.buffered { "buffered" } else { "direct" }));
    out.line("size", size(agent.size.into()));
    let random = agent.pattern == Pattern::Random;
    out.line("pattern", quoted(if random { "random" } else { "sequential" }));
    out.line("region", format!("[{}]", region.join(", ")));
    out.line("arrivals", format!("{{ {} }}", arrivals(&agent.arrivals)));
    out.line("start", time(agent.start));
    out.line("stop", time(agent.stop));
}

fn arrivals(arrivals: &Arrivals) -> String {
    match arrivals {
        Arrivals::Open { rate, pace, curve } => {
            let kind = if *pace == Pace::Poisson { "poisson" } else { "fixed" };
            let mut text = format!("kind = \"{kind}\", rate = \"{}\"", rate_text(*rate));
            if !curve.is_empty() {
                let factors: Vec<String> = curve.iter().map(f64::to_string).collect();
                text = format!("{text}, curve = [{}]", factors.join(", "));
            }
            text
        }
        Arrivals::Closed { depth, think } => {
            format!("kind = \"closed\", depth = {depth}, think = {}", time(*think))
        }
        Arrivals::Turns { count: u64::MAX } => "kind = \"turns\"".into(),
        Arrivals::Turns { count } => format!("kind = \"turns\", count = {count}"),
    }
}

fn param(value: &Value) -> String {
    match value {
        Value::Size(bytes) => size(*bytes),
        Value::Duration(span) => time(*span),
        Value::Count(number) => number.to_string(),
        Value::Switch(truth) => truth.to_string(),
        Value::Word(word) => quoted(word),
        Value::Group(params) => format!("{{ {} }}", members(params)),
    }
}

pub(crate) fn members(params: &Params) -> String {
    let member = |(name, value): &(&str, Value)| format!("{name} = {}", param(value));
    params.iter().map(member).collect::<Vec<_>>().join(", ")
}

pub(crate) fn time(span: Span) -> String {
    quoted(&duration_text(span))
}

pub(crate) fn size(bytes: u64) -> String {
    quoted(&size_text(bytes))
}

/// A TOML string: a name may come from a file's and hold anything.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out = format!("{out}\\u{:04X}", u32::from(c)),
            c => out.push(c),
        }
    }
    out + "\""
}

#[derive(Default)]
pub(crate) struct Lines(String);

impl Lines {
    pub(crate) fn section(&mut self, header: &str) {
        self.0 += "\n";
        self.0 += header;
        self.0 += "\n";
    }

    pub(crate) fn line(&mut self, key: &str, value: impl std::fmt::Display) {
        writeln!(self.0, "{key} = {value}").expect("a string takes everything");
    }
}
