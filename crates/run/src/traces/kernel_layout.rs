//! The block events of this kernel: which there are, and how it lays them out.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use penstock_workload::trace::capture::{Action, KERNEL_EVENTS, KernelEvents, PageError};

use crate::failure::Failure;

/// Reads the layout of the events whose actions are `wanted` from the tracefs at `tracefs`. Also returns
/// their names: which events there are depends on the kernel.
///
/// # Errors
/// If this kernel has other events.
pub(super) fn kernel_layout(
    tracefs: &Path,
    wanted: impl Fn(Action) -> bool,
) -> Result<(KernelEvents, Vec<&'static str>), Failure> {
    let cannot = |reason: &dyn std::fmt::Display| {
        Failure::cannot(
            format_args!("the block events of this kernel cannot be read: {reason}"),
            "`blktrace` may know them; `penstock replay` plays its files",
        )
    };
    let events = tracefs.join("events");
    let header = header(&events.join("header_page")).map_err(|error| cannot(&error))?;
    let mut formats = Vec::new();
    let mut names = Vec::new();
    for (name, _) in KERNEL_EVENTS.into_iter().filter(|&(_, action)| wanted(action)) {
        if let Ok(format) = fs::read_to_string(events.join("block").join(name).join("format")) {
            formats.push((name.to_owned(), format));
            names.push(name);
        }
    }
    let kernel = KernelEvents::new(&header, &formats).map_err(|error| cannot(&error))?;
    Ok((kernel, names))
}

/// Reads the layout of a page. The kernel gives this file to one read only.
fn header(path: &Path) -> io::Result<String> {
    let mut text = vec![0; 1 << 16];
    let len = File::open(path)?.read(&mut text)?;
    text.truncate(len);
    String::from_utf8(text).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// The failure of a page of the processor `cpu`.
pub(super) fn event_failure(cpu: u32, error: &PageError) -> Failure {
    Failure::run(format_args!("the kernel's events of processor {cpu}: {error}"))
}
