//! Where the files of a job file of fio lie: one behind the other on one target.

use crate::from_fio::agent::Made;
use crate::from_fio::lines::Section;
use crate::from_fio::notes::Notes;
use crate::from_fio::part::{behind, times};
use crate::workload::region::Edge;

/// Agents whose copies lie apart, as an agent for each copy.
pub(super) fn apart(made: Vec<Made>) -> Vec<Made> {
    let each = |one: Made| match one.part.apart {
        None => vec![one],
        Some(apart) => (0..one.copies).map(|copy| moved(&one, times(apart, copy))).collect(),
    };
    made.into_iter().flat_map(each).collect()
}

/// One copy, so far behind the first. What ends with the file still does.
fn moved(one: &Made, distance: Edge) -> Made {
    let mut copy = Made { copies: 1, ..one.clone() };
    for border in [&mut copy.part.from, &mut copy.part.to] {
        *border = behind(*border, distance).unwrap_or(*border);
    }
    copy
}

/// Moves the parts of different files behind each other. A file that several sections name is one file.
pub(super) fn place(made: &mut [Made], first: &Section, notes: &mut Notes) {
    let name = |one: &Made| one.file.clone().unwrap_or_else(|| format!("[{}]", one.class));
    let names: Vec<String> = made.iter().map(name).collect();
    if names.iter().all(|name| *name == names[0]) {
        return;
    }
    let ends: Option<Vec<u64>> = made
        .iter()
        .map(|one| match (one.part.from, one.part.to) {
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
    for (one, name) in made.iter_mut().zip(&names) {
        let base = placed.iter().find(|(other, _)| *other == name).map_or(0, |(_, base)| *base);
        for border in [&mut one.part.from, &mut one.part.to] {
            *border = behind(*border, Edge::At(base)).unwrap_or(*border);
        }
    }
}
