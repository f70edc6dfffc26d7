//! Renders an error in an input as one message with its place.
//!
//! ```text
//! error: unknown key `sise`
//!   --> examples/bank-day.toml:14:1
//!    |
//! 14 | sise = "4KiB"
//!    | ^^^^
//!    = hint: did you mean `size`?
//! ```
//!
//! Only the first error is reported: errors that follow from it would hide it. The message says
//! what was found and what was expected, the hint what to write instead.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use thiserror::Error;
use unicode_width::UnicodeWidthChar;

/// Most columns of a line of input in a message; a longer line is cut around the error.
const LINE_COLUMNS: usize = 160;
/// Columns that are shown before the error in a line that is cut.
const BEFORE_CARET: usize = 60;
/// Replacement for a tab.
const TAB: &str = "    ";
/// Most characters of a value that a message quotes: enough to recognise it.
const QUOTED_CHARS: usize = 40;

/// A text that the user wrote: a file, or one `--set` argument.
#[derive(PartialEq, Eq, Debug)]
pub struct Source {
    name: String,
    text: String,
    kind: SourceKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SourceKind {
    File,
    Set,
}

impl Source {
    /// Creates the source of a file.
    pub fn file(name: &str, text: &str) -> Arc<Self> {
        Arc::new(Self { name: name.into(), text: text.into(), kind: SourceKind::File })
    }

    /// Creates the source of one `--set` argument.
    pub fn set(text: &str) -> Arc<Self> {
        Self::option("--set", text)
    }

    /// Creates the source of one argument of the option `name`.
    pub fn option(name: &str, text: &str) -> Arc<Self> {
        Arc::new(Self { name: name.into(), text: text.into(), kind: SourceKind::Set })
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Name of the text: a file's path, or `--set`.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A place in a text: where a key or a value was written.
#[derive(Clone)]
pub struct Origin {
    source: Arc<Source>,
    span: Range<usize>,
}

impl Origin {
    /// The bytes `span` of `source`, limited to the text.
    pub fn new(source: &Arc<Source>, span: Range<usize>) -> Self {
        let inside = |at: usize| {
            let at = at.min(source.text.len());
            (0..=at).rev().find(|&at| source.text.is_char_boundary(at)).unwrap_or(0)
        };
        let start = inside(span.start);
        Self { source: Arc::clone(source), span: start..inside(span.end).max(start) }
    }

    /// The bytes `span` of this place.
    #[must_use]
    pub fn part(&self, span: Range<usize>) -> Self {
        let at = |offset: usize| self.span.start.saturating_add(offset);
        Self::new(&self.source, at(span.start)..at(span.end))
    }

    /// The text at this place.
    pub fn text(&self) -> &str {
        &self.source.text[self.span.clone()]
    }

    /// Whether this place is the whole name in a section's header: `[agent]`.
    pub(crate) fn header(&self) -> bool {
        let text = &self.source.text;
        text[..self.span.start].ends_with('[') && text[self.span.end..].starts_with(']')
    }

    /// The text that contains this place.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// Whether this place is in a `--set` argument.
    pub fn is_set(&self) -> bool {
        self.source.kind == SourceKind::Set
    }

    /// Line and column, counted from 1 in characters.
    pub fn line_and_column(&self) -> (usize, usize) {
        let before = &self.source.text[..self.span.start];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        (line, column)
    }
}

/// Any two places are equal, so that a job read back from another text can equal the first.
impl PartialEq for Origin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Origin {}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.line_and_column();
        write!(f, "{}:{line}:{column}", self.source.name)
    }
}

/// An error in the user's input. Its `Display` is the whole message; a command that prints it exits
/// with 2.
#[derive(Clone, Debug, Error)]
#[error("{0}")]
pub struct JobError(Box<Report>);

#[derive(Clone, Debug)]
struct Report {
    message: String,
    origin: Option<Origin>,
    hint: Option<String>,
}

impl JobError {
    /// Creates an error without a place or a hint.
    pub fn new(message: impl Into<String>) -> Self {
        Self(Box::new(Report { message: message.into(), origin: None, hint: None }))
    }

    /// Adds the place, unless the error already has one, which is more precise.
    #[must_use]
    pub fn at(mut self, origin: &Origin) -> Self {
        self.0.origin.get_or_insert_with(|| origin.clone());
        self
    }

    /// Adds a hint; it replaces an earlier one.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The sentence that says what was found and what was expected.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The place of the error, if it has one.
    pub fn origin(&self) -> Option<&Origin> {
        self.0.origin.as_ref()
    }
}

/// Quotes `text` in backticks, cut to `QUOTED_CHARS`.
pub fn quote(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARS) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", printable(&self.message))?;
        let gutter = match &self.origin {
            Some(origin) if origin.is_set() => Some(write_set(f, origin)?),
            Some(origin) => Some(write_line(f, origin)?),
            None => None,
        };
        match (&self.hint, gutter) {
            (Some(hint), Some(gutter)) => {
                write!(f, "\n{:gutter$} = hint: {}", "", printable(hint))
            }
            // There is no gutter to align the hint with.
            (Some(hint), None) => write!(f, "\nhint: {}", printable(hint)),
            (None, _) => Ok(()),
        }
    }
}

/// Replaces control characters: a message must not control a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Writes the line with carets below it; returns the width of the line number.
fn write_line(f: &mut fmt::Formatter<'_>, origin: &Origin) -> Result<usize, fmt::Error> {
    let Origin { source, span } = origin;
    let (line, column) = origin.line_and_column();
    let start = source.text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let end = source.text[span.start..].find('\n').map_or(source.text.len(), |at| span.start + at);
    let shown =
        DisplayLine::new(&source.text[start..end], span.start - start..span.end.min(end) - start);
    let number = line.to_string();
    let gutter = number.len();
    write!(f, "\n{:gutter$}--> {}:{line}:{column}\n{:gutter$} |", "", printable(&source.name), "")?;
    if !shown.text.is_empty() {
        write!(f, "\n{number} | {}", shown.text)?;
        write!(f, "\n{:gutter$} | {:indent$}{}", "", "", shown.carets, indent = shown.indent)?;
    }
    Ok(gutter)
}

/// Writes the argument with carets below it; returns the width of the gutter.
fn write_set(f: &mut fmt::Formatter<'_>, origin: &Origin) -> Result<usize, fmt::Error> {
    const ARROW: &str = "  --> --set ";
    const GUTTER: &str = "   |";
    let shown = DisplayLine::new(&origin.source.text, origin.span.clone());
    let indent = ARROW.len() - GUTTER.len() + shown.indent;
    write!(f, "\n{ARROW}{}\n{GUTTER}{:indent$}{}", shown.text, "", shown.carets)?;
    Ok(2)
}

/// A line for display, with tabs expanded and cut to a width, and the position of its carets.
struct DisplayLine {
    text: String,
    indent: usize,
    carets: String,
}

impl DisplayLine {
    /// Prepares `line` with the bytes `span` underlined.
    fn new(line: &str, span: Range<usize>) -> Self {
        let line = line.trim_end();
        let width = |text: &str| text.chars().map(columns).sum::<usize>();
        let clip = |at: usize| at.min(line.len());
        let before = width(&line[..clip(span.start)]);
        // An error at the end of a line is marked behind its last character.
        let marked = width(&line[clip(span.start)..clip(span.end)]).max(1);
        let (from, to) = if width(line) > LINE_COLUMNS {
            let from = before.saturating_sub(BEFORE_CARET);
            (from, from + LINE_COLUMNS)
        } else {
            (0, usize::MAX)
        };
        let mut text = String::new();
        let (mut column, mut indent) = (0, 0);
        if from > 0 {
            text.push('…');
            indent += 1;
        }
        for c in line.chars() {
            let next = column + columns(c);
            if column >= from && next <= to {
                push_char(&mut text, c);
                indent += if column < before { columns(c) } else { 0 };
            }
            column = next;
        }
        if column > to {
            text.push('…');
        }
        let carets = "^".repeat(marked.min(to.saturating_sub(before).max(1)));
        Self { text: text.trim_end().into(), indent, carets }
    }
}

fn push_char(text: &mut String, c: char) {
    match c {
        '\t' => text.push_str(TAB),
        c if c.is_control() => text.push('\u{fffd}'),
        c => text.push(c),
    }
}

/// Returns the columns of a character on a terminal, as [`push_char`] writes it.
fn columns(c: char) -> usize {
    match c {
        '\t' => TAB.len(),
        c => c.width().unwrap_or(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;

    fn error(line: &str, part: &str) -> String {
        let text = format!("a = 1\n{line}\nz = 2\n");
        let start = text.find(part).unwrap();
        let origin = Origin::new(&Source::file("job.toml", &text), start..start + part.len());
        JobError::new("here").at(&origin).to_string()
    }

    #[test]
    fn carets_stand_below_tabs_and_wide_characters() {
        assert_snapshot!(error("\tx = \"größe 大きい\" # bad", "bad"), @r#"
        error: here
         --> job.toml:2:20
          |
        2 |     x = "größe 大きい" # bad
          |                          ^^^
        "#);
    }

    #[test]
    fn long_lines_are_cut_around_the_caret() {
        let line = format!("x = [{}bad{}]", "1, ".repeat(100), ", 2".repeat(100));
        let shown = error(&line, "bad");
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[3].starts_with("2 | …") && lines[3].ends_with('…'), "{shown}");
        assert_eq!(lines[3].chars().count(), 4 + LINE_COLUMNS + 2);
        let caret = lines[4].find('^').unwrap();
        assert!(lines[3].chars().skip(caret).collect::<String>().starts_with("bad,"), "{shown}");
    }

    #[test]
    fn the_end_of_a_text_is_a_place() {
        let origin = Origin::new(&Source::file("job.toml", "a = [1,\n"), 8..8);
        assert_snapshot!(JobError::new("unclosed array").at(&origin).hint("close it"), @r"
        error: unclosed array
         --> job.toml:2:1
          |
          = hint: close it
        ");
    }

    #[test]
    fn an_argument_is_shown_whole() {
        let origin = Origin::new(&Source::set("agent.0.sise=4KiB"), 8..12);
        assert_snapshot!(JobError::new("unknown key `sise`").at(&origin).hint("`size`?"), @r"
        error: unknown key `sise`
          --> --set agent.0.sise=4KiB
           |                ^^^^
           = hint: `size`?
        ");
    }

    #[test]
    fn what_an_input_says_does_not_reach_the_terminal_as_it_is() {
        let source = Source::set("a\u{1b}[31m=1");
        let error = JobError::new("\u{7}").at(&Origin::new(&source, 0..usize::MAX));
        assert!(!error.to_string().contains(['\u{1b}', '\u{7}']));
        assert_eq!(quote(&"x".repeat(99)), format!("`{}…`", "x".repeat(40)));
    }
}
