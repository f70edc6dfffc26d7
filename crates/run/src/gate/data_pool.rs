//! Buffers for the data of a served device's requests, and the thread that answers its long reads.
//!
//! The kernel copies the bytes of an answer before the call returns. Short requests do not wait for that behind
//! long ones, nor do commands that could be sent.

use std::io;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};

use penstock_core::{Errno, Op};
use penstock_live::Handover;
use penstock_live::serve::BlockRequest;

use super::locks::lock;

/// Reads that may wait for their answer; beyond it they are answered where they end.
const LONG_READS: usize = 256;

/// Bytes from which a read is long: copying as many takes longer than handing them over.
const LONG: usize = 128 << 10;

/// Buffers that no request has.
#[derive(Default)]
struct FreeBuffers {
    short: Mutex<Vec<Vec<u8>>>,
    /// Buffers for long requests, so that none has to grow by zeros that are overwritten at once.
    long: Mutex<Vec<Vec<u8>>>,
}

impl FreeBuffers {
    /// The buffers with room for requests of `len` bytes.
    fn of(&self, len: usize) -> MutexGuard<'_, Vec<Vec<u8>>> {
        lock(if len >= LONG { &self.long } else { &self.short })
    }

    fn put(&self, bytes: Vec<u8>) {
        self.of(bytes.capacity()).push(bytes);
    }
}

/// The buffers and the thread of a device.
pub(super) struct DataPool {
    free: Arc<FreeBuffers>,
    long_reads: SyncSender<(BlockRequest, Vec<u8>)>,
}

impl DataPool {
    /// Creates a pool without buffers.
    ///
    /// # Errors
    /// The system cannot create a thread.
    pub(super) fn new() -> io::Result<Self> {
        let free = Arc::<FreeBuffers>::default();
        let back = Arc::clone(&free);
        let (long_reads, ended) = sync_channel::<(BlockRequest, Vec<u8>)>(LONG_READS);
        // It ends with the pool.
        Handover::spawn("penstock-reads", move || {
            for (request, bytes) in ended {
                request.answer(Ok(&bytes));
                back.put(bytes);
            }
        })?;
        Ok(Self { free, long_reads })
    }

    /// Takes a buffer for `len` bytes, which has the length and the bytes of an earlier request.
    pub(super) fn take(&self, len: u32) -> Vec<u8> {
        self.free.of(len as usize).pop().unwrap_or_default()
    }

    /// Answers `request` with `error`, or with `bytes` if it is a read. The buffer is the pool's again.
    pub(super) fn answer(&self, request: BlockRequest, bytes: Vec<u8>, error: Option<Errno>) {
        let mut answered = (request, bytes);
        let is_long = answered.0.op == Op::Read && answered.1.len() >= LONG;
        if is_long && error.is_none() {
            match self.long_reads.try_send(answered) {
                Ok(()) => return,
                Err(TrySendError::Full(it) | TrySendError::Disconnected(it)) => answered = it,
            }
        }
        let (request, bytes) = answered;
        request.answer(error.map_or(Ok(&bytes[..]), Err));
        self.free.put(bytes);
    }
}
