//! Places the files of a job file of fio one behind the other on one target.

use crate::from_fio::agent::FioAgent;
use crate::from_fio::lines::Section;
use crate::from_fio::notes::Notes;
use crate::from_fio::part::{behind, times};
use crate::workload::region::Edge;

/// Replaces agents whose copies lie apart by one agent for each copy.
pub(super) fn apart(agents: Vec<FioAgent>) -> Vec<FioAgent> {
    let each = |agent: FioAgent| match agent.part.apart {
        None => vec![agent],
        Some(apart) => (0..agent.copies).map(|copy| moved(&agent, times(apart, copy))).collect(),
    };
    agents.into_iter().flat_map(each).collect()
}

/// Returns one copy, moved by `distance`. A part that ends with the file still does.
fn moved(agent: &FioAgent, distance: Edge) -> FioAgent {
    let mut copy = FioAgent { copies: 1, ..agent.clone() };
    for border in [&mut copy.part.from, &mut copy.part.to] {
        *border = behind(*border, distance).unwrap_or(*border);
    }
    copy
}

/// Moves the parts of different files behind each other. A file that several sections name is one
/// file.
pub(super) fn place(agents: &mut [FioAgent], first: &Section, notes: &mut Notes) {
    let name =
        |agent: &FioAgent| agent.file.clone().unwrap_or_else(|| format!("[{}]", agent.class));
    let names: Vec<String> = agents.iter().map(name).collect();
    if names.iter().all(|name| *name == names[0]) {
        return;
    }
    let ends: Option<Vec<u64>> = agents
        .iter()
        .map(|agent| match (agent.part.from, agent.part.to) {
            (Edge::At(_), Edge::At(end)) => Some(end),
            _ => None,
        })
        .collect();
    let Some(ends) = ends else {
        notes.on_section(
            first,
            "the sizes of all files are not known, so all of them are the same file here",
        );
        return;
    };
    let mut placed: Vec<(&String, u64)> = Vec::new();
    let mut free = 0_u64;
    for name in &names {
        if placed.iter().all(|(other, _)| *other != name) {
            placed.push((name, free));
            let ends = names.iter().zip(&ends).filter(|(other, _)| *other == name);
            free = free.saturating_add(ends.map(|(_, end)| *end).max().unwrap_or(0));
        }
    }
    for (agent, name) in agents.iter_mut().zip(&names) {
        let base = placed.iter().find(|(other, _)| *other == name).map_or(0, |(_, base)| *base);
        for border in [&mut agent.part.from, &mut agent.part.to] {
            *border = behind(*border, Edge::At(base)).unwrap_or(*border);
        }
    }
}
