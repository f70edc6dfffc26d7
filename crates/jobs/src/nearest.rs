//! The name that was probably meant.

/// Longer names are not compared: they are hardly ever mistyped, and the cost is their product.
const NAME_CHARS: usize = 64;
/// More names than this are not listed in a hint.
const LISTED: usize = 12;

/// The one of `known` that is nearest to `name`; `None` if none is near.
///
/// Near is an edit (a letter more, less, changed, or two swapped) for every three letters, or that
/// one is the other's beginning, of at least three letters. Ties go to the first.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters: Vec<char> = name.to_lowercase().chars().collect();
    if letters.is_empty() || letters.len() > NAME_CHARS {
        return None;
    }
    // What is nearer comes first: a slip, then the rest of a word, then a word too long.
    let rank = |candidate: &str| {
        let other: Vec<char> = candidate.to_lowercase().chars().take(NAME_CHARS).collect();
        let allowed = (letters.len().max(other.len()) / 3).max(1);
        let edits = edits(&letters, &other);
        let shorter = letters.len().min(other.len());
        match shorter >= 3 {
            // Of one letter, another is no slip.
            _ if edits <= allowed && edits < letters.len().max(other.len()) => Some((0, edits)),
            true if other.starts_with(&letters) => Some((1, edits)),
            true if letters.starts_with(&other) => Some((2, edits)),
            _ => None,
        }
    };
    let near = known.into_iter().filter_map(|candidate| Some((rank(candidate)?, candidate)));
    near.min_by_key(|&(rank, _)| rank).map(|(_, candidate)| candidate)
}

/// A hint for an unknown name: the nearest, or all there are if they are few.
pub fn suggest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "there are none".into(),
        None if known.len() <= LISTED => format!("known: {}", known.join(", ")),
        None => format!("known: {}, …", known[..LISTED].join(", ")),
    }
}

/// Edits between two words, with swapped neighbours as one (optimal string alignment).
fn edits(a: &[char], b: &[char]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let changed = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (above[j] + 1).min(row[j - 1] + 1).min(above[j - 1] + changed);
            let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if swapped {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
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

    #[test]
    fn edits_are_counted() {
        let count = |a: &str, b: &str| {
            edits(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>())
        };
        assert_eq!(count("", "abc"), 3);
        assert_eq!(count("abc", "acb"), 1);
        assert_eq!(count("kitten", "sitting"), 3);
    }
}
