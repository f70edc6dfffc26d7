//! How a real target is driven: `[live]`.

use penstock_core::Span;
use penstock_live::Settings;

use crate::diagnose::{JobError, Source};
use crate::nearest::suggest;
use crate::text::{Lines, quoted, size, time};
use crate::tree::{self, Node, Reader};
use crate::units::{self, OFF};

/// Keys of `[live]`.
pub(crate) const KEYS: &[&str] = &["depth", "batch", "timeout", "view"];
/// Keys of the view of a target.
pub(crate) const VIEW_KEYS: &[&str] = &["start", "length"];
/// Commands at a real target at once, and handed on together: deeper than any device's queue.
pub(crate) const DEPTH_MOST: u64 = 4096;

/// How a real target is driven; a modelled device has limits of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Live {
    /// Commands at the target at once.
    pub depth: u32,
    /// Commands that are given to the kernel together, by engines that can; a tenth of the
    /// depth unless the job says.
    pub batch: u32,
    /// How long a command may be in flight before the run ends; without it, for ever.
    pub timeout: Option<Span>,
    /// The part of the target that may be used; all of it if not given.
    pub view: Option<View>,
}

/// A part of a target, in bytes: nothing outside is touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View {
    /// Its first byte.
    pub start: u64,
    /// How many there are.
    pub length: u64,
}

impl Default for Live {
    /// The depth of SATA's native command queueing.
    fn default() -> Self {
        Self::deep(32)
    }
}

impl Live {
    fn deep(depth: u32) -> Self {
        let timeout = Some(Settings::TIMEOUT);
        Self { depth, batch: Settings::usual_batch(depth), timeout, view: None }
    }

    /// The section, with every default in place.
    pub(crate) fn write(&self, out: &mut Lines) {
        out.section("[live]");
        out.line("depth", self.depth);
        out.line("batch", self.batch);
        out.line("timeout", self.timeout.map_or_else(|| quoted(OFF), time));
        if let Some(View { start, length }) = self.view {
            let (start, length) = (size(start), size(length));
            out.line("view", format!("{{ start = {start}, length = {length} }}"));
        }
    }
}

pub(crate) fn read(node: &Node) -> Result<Live, JobError> {
    let reader = Reader::new(node, "live", KEYS)?;
    let depth = reader.optional("depth", |node| node.count(1, DEPTH_MOST))?;
    let batch = reader.optional("batch", |node| node.count(1, DEPTH_MOST))?;
    let timeout = reader.optional("timeout", timeout)?;
    let view = reader.optional("view", view)?;
    let usual = depth.map_or_else(Live::default, |depth| Live::deep(depth as u32));
    Ok(Live {
        batch: batch.map_or(usual.batch, |batch| batch as u32),
        timeout: timeout.unwrap_or(usual.timeout),
        view,
        ..usual
    })
}

/// The time-out `text` of `what`, as `[live]` has it.
///
/// # Errors
/// It is neither a length of time above zero nor `off`.
pub fn timeout_in(what: &str, text: &str) -> Result<Option<Span>, JobError> {
    let root = tree::parse(&Source::file(what, &format!("timeout = {text:?}")))?;
    Reader::new(&root, what, &["timeout"])?.required("timeout", "timeout = \"30s\"", timeout)
}

/// A length of time above zero, or none.
pub(crate) fn timeout(node: &Node) -> Result<Option<Span>, JobError> {
    match node.word() {
        Some(OFF) => Ok(None),
        Some(text) if !text.starts_with(|c: char| c.is_ascii_digit()) => Err(node
            .expected("a length of time such as `30s`, or `off`")
            .hint(suggest(text, [OFF]))),
        _ => match units::duration(node)? {
            Span::ZERO => {
                let hint = "to wait for ever, write `off`";
                Err(node.expected("a length of time above zero").hint(hint))
            }
            span => Ok(Some(span)),
        },
    }
}

fn view(node: &Node) -> Result<View, JobError> {
    let reader = Reader::new(node, "the view", VIEW_KEYS)?;
    let start = reader.optional("start", units::size)?.unwrap_or(0);
    let length = reader.required("length", "\"1GiB\"", |node| match units::size(node)? {
        0 => Err(node.expected("a size above zero").hint("leave `view` out to use all of it")),
        length => Ok(length),
    })?;
    Ok(View { start, length })
}
