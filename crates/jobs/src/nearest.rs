//! Finds the known name that was probably meant by an unknown one.

use strsim::osa_distance;

/// Longest name in characters that is compared. Longer ones are rarely typing errors, and the cost
/// grows with the product of the lengths.
const NAME_CHARS: usize = 64;
/// Most names that a hint lists.
const LISTED: usize = 12;

/// Returns the name of `known` that is nearest to `name`; `None` if none is near. Ties go to the first.
///
/// A name is near with at most one edit (a letter added, removed or changed, or two swapped) for every
/// three letters, or if one of the two begins with the other, which has at least three letters.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let name_len = name.chars().count();
    if name.is_empty() || name_len > NAME_CHARS {
        return None;
    }
    // Lower is nearer: typing errors, then unfinished words, then words with an end too many.
    let rank = |candidate: &str| {
        let candidate: String = candidate.to_lowercase().chars().take(NAME_CHARS).collect();
        let candidate_len = candidate.chars().count();
        let longest = name_len.max(candidate_len);
        let edits = osa_distance(&name, &candidate);
        match name_len.min(candidate_len) >= 3 {
            // A word of which no letter is left is another word.
            _ if edits <= (longest / 3).max(1) && edits < longest => Some((0, edits)),
            true if candidate.starts_with(&name) => Some((1, edits)),
            true if name.starts_with(&candidate) => Some((2, edits)),
            _ => None,
        }
    };
    let near = known.into_iter().filter_map(|candidate| Some((rank(candidate)?, candidate)));
    near.min_by_key(|&(rank, _)| rank).map(|(_, candidate)| candidate)
}

/// Returns a hint for an unknown name: the nearest known name, or the first `LISTED` known names.
pub fn suggest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "there are none".into(),
        None if known.len() <= LISTED => format!("known: {}", known.join(", ")),
        None => format!("known: {}, …", known[..LISTED].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 5] = ["size", "sync", "hdd-7200", "size-priority", "noop"];

    #[test]
    fn slips_of_the_hand_are_understood() {
        let near = |name| nearest(name, KNOWN);
        assert_eq!(near("sise"), Some("size"));
        assert_eq!(near("isze"), Some("size"));
        assert_eq!(near("hdd7200"), Some("hdd-7200"));
        assert_eq!(near("NOOP"), Some("noop"));
        assert_eq!(near("size-prio"), Some("size-priority"));
        assert_eq!(near("hdd"), Some("hdd-7200"));
    }

    #[test]
    fn the_unlike_is_not_suggested() {
        assert_eq!(nearest("b", ["a"]), None);
        for name in ["", "x", "elephant", "priority-of-size", &"size".repeat(50)] {
            assert_eq!(nearest(name, KNOWN), None, "{name}");
        }
        assert_eq!(suggest("x", ["a1b2", "c3d4"]), "known: a1b2, c3d4");
    }
}
