//! The shape of a format's lines: how many fields a line has, and which of them are numbers. The example
//! of each format shows it. A file whose values are wrong has the shape of its format all the same.

use super::format::Format;
use super::formats::FORMATS;

/// Number of lines whose shape is compared.
const LINES: usize = 16;

/// Returns the formats whose shape most of the first lines of `head` have.
pub(super) fn candidates(head: &[u8]) -> Vec<&'static Format> {
    // The beginning of a file may end in the middle of a line.
    let whole = memchr::memrchr(b'\n', head).map_or(head, |end| &head[..end]);
    let lines = whole.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let lines: Vec<_> = lines.filter(|line| !line.is_empty()).take(LINES).collect();
    let differences = |format: &&'static Format| {
        let example = example_line(format)?;
        let of_lines: Vec<_> = lines.iter().filter_map(|line| differing(line, example)).collect();
        (of_lines.len() * 2 > lines.len()).then(|| of_lines.iter().sum::<usize>())
    };
    let fits = FORMATS.iter().filter_map(|format| Some((differences(&format)?, format)));
    let fits: Vec<_> = fits.collect();
    let least = fits.iter().map(|&(differences, _)| differences).min();
    let best = fits.into_iter().filter(|&(differences, _)| Some(differences) == least);
    best.map(|(_, format)| format).collect()
}

/// The last line that the example of a format quotes.
fn example_line(format: &Format) -> Option<&'static [u8]> {
    let (_, quoted) = format.example.strip_suffix('`')?.rsplit_once('`')?;
    Some(quoted.as_bytes())
}

/// Returns the number of fields that are a number only in `line` or only in `example`; `None` if
/// these are more than one, or the lines have other numbers of fields. White space separates them,
/// or commas if the example has no white space.
fn differing(line: &[u8], example: &[u8]) -> Option<usize> {
    let are_words = example.iter().any(u8::is_ascii_whitespace);
    let fields = |text: &[u8]| -> Vec<bool> {
        if are_words {
            let words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            return words.map(is_number).collect();
        }
        text.split(|&byte| byte == b',').map(|cell| is_number(cell.trim_ascii())).collect()
    };
    let (line, example) = (fields(line), fields(example));
    let differing = line.iter().zip(&example).filter(|(field, other)| field != other).count();
    (line.len() == example.len() && differing <= 1).then_some(differing)
}

fn is_number(field: &[u8]) -> bool {
    let digits = field.strip_prefix(b"-").unwrap_or(field);
    digits.first().is_some_and(u8::is_ascii_digit)
        && digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
}
