//! `pread` and `pwrite`: the calls that most programs make.

use std::fs::File;
use std::io::{IoSlice, IoSliceMut};
use std::slice;
use std::sync::Arc;

use rustix::io::{Errno, pread, preadv2, pwrite, pwritev2, retry_on_intr};

use crate::engine::blocking::Call;
use crate::engine::buffers::Area;
use crate::engine::call_flags::CallFlags;
use crate::engine::driver::{Action, Command};
use crate::engine::uring::discard_flags;

/// Blocking calls on open files.
#[derive(Clone)]
pub(crate) struct Psync {
    files: Arc<[Arc<File>]>,
    area: Arc<Area>,
    flags: CallFlags,
}

impl Psync {
    pub(crate) fn new(files: &[Arc<File>], area: &Arc<Area>) -> Self {
        Self { files: files.into(), area: Arc::clone(area), flags: CallFlags::default() }
    }

    /// Sets the flags of its calls.
    pub(crate) fn with(mut self, flags: CallFlags) -> Self {
        self.flags = flags;
        self
    }
}

impl Call for Psync {
    fn serve(&mut self, command: &Command) -> i32 {
        let Command { action, file, start, len, buffer } = *command;
        let (file, bytes_of_buffer) = (&*self.files[file as usize], len as usize);
        let address = self.area.address(buffer, bytes_of_buffer);
        let flags = self.flags.for_action(action);
        let result = match action {
            Action::Read => {
                // SAFETY: the slot's own buffer: one command at a time has it, and this is it.
                let bytes = unsafe { slice::from_raw_parts_mut(address, bytes_of_buffer) };
                if flags.is_empty() {
                    retry_on_intr(|| pread(file, &mut *bytes, start))
                } else {
                    let mut bytes = [IoSliceMut::new(bytes)];
                    retry_on_intr(|| preadv2(file, &mut bytes, start, flags))
                }
            }
            Action::Write | Action::WriteThrough => {
                // SAFETY: the source, which is never written, or the slot's own buffer, as above.
                let bytes = unsafe { slice::from_raw_parts(address, bytes_of_buffer) };
                if flags.is_empty() {
                    retry_on_intr(|| pwrite(file, bytes, start))
                } else {
                    let bytes = [IoSlice::new(bytes)];
                    retry_on_intr(|| pwritev2(file, &bytes, start, flags))
                }
            }
            Action::Flush if self.flags.fsync => {
                retry_on_intr(|| rustix::fs::fsync(file)).map(|()| 0)
            }
            Action::Flush => retry_on_intr(|| rustix::fs::fdatasync(file)).map(|()| 0),
            Action::Discard => {
                let len = u64::from(len);
                let punch = || rustix::fs::fallocate(file, discard_flags(), start, len);
                retry_on_intr(punch).map(|()| 0)
            }
        };
        let count = |count| i32::try_from(count).expect("buffers are far below 2 GiB");
        result.map_or_else(|errno: Errno| -errno.raw_os_error(), count)
    }
}
