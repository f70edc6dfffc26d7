//! Checks that an agent suits the target of a run.

use crate::diagnose::{JobError, Origin};
use crate::kinds::Kind;
use crate::units::size_text;
use crate::workload::agents::{AgentSpec, VERIFY};
use crate::workload::quota::Quota;
use crate::workload::region;
use crate::workload::verify;

impl AgentSpec {
    /// Checks that its requests can go to `target`, which has no page cache.
    ///
    /// # Errors
    /// The agent is `buffered`.
    pub fn can_be_direct(&self, target: &str) -> Result<(), JobError> {
        if !self.buffered {
            return Ok(());
        }
        let message = format!("the agent is `buffered`; {target} has no page cache");
        let hint = "name a model or a file with --on, or set `cache = \"direct\"`";
        Err(JobError::new(message).at(&self.cache_origin).hint(hint))
    }

    /// Checks that its requests are whole units of `unit` bytes, as direct I/O on `target`
    /// requires.
    ///
    /// # Errors
    /// They are not: direct I/O would move more bytes than are counted.
    pub fn fits_units(&self, unit: u32, target: &str) -> Result<(), JobError> {
        if self.buffered {
            return Ok(());
        }
        let Some((subject, bytes)) = self.uneven(unit) else {
            return self.total_fits(unit, target);
        };
        let [size, step] = [bytes, unit.into()].map(size_text);
        let message =
            format!("{subject} of {size}; direct I/O on {target} moves whole units of {step}");
        Err(JobError::new(message)
            .at(&self.size_origin)
            .hint(region::multiples_near(bytes, unit.into())))
    }

    /// Returns the first length of its requests that is not a multiple of `unit`, with its name in
    /// messages.
    fn uneven(&self, unit: u32) -> Option<(&'static str, u64)> {
        let requests = self.sizes.possible().map(|size| ("requests", u64::from(size)));
        requests.chain(self.places.lengths()).find(|(_, bytes)| !bytes.is_multiple_of(unit.into()))
    }

    /// Checks that its requests are whole blocks if its data is verified.
    pub(super) fn fits_blocks(&self) -> Result<(), JobError> {
        if self.verify.is_none() {
            return Ok(());
        }
        let total = if let Some(Quota::Bytes(total)) = self.quota { total } else { 0 };
        let total =
            Some(("a total", total)).filter(|_| !total.is_multiple_of(verify::BLOCK.into()));
        match self.uneven(verify::BLOCK).or(total) {
            Some((subject, bytes)) => {
                Err(verify::uneven(&format!("{subject} of"), bytes, &self.verify_origin))
            }
            None => Ok(()),
        }
    }

    /// Returns where `verify` was written, or would be.
    pub(crate) fn verify_origin(&self) -> &Origin {
        &self.verify_origin
    }

    /// Checks that its data is not to be verified: `place` cannot do it, for the reason `why`.
    ///
    /// # Errors
    /// Its data is to be verified.
    pub fn unverified(&self, place: &str, why: &str) -> Result<(), JobError> {
        let Some(verify) = self.verify else { return Ok(()) };
        let word = Kind::text(&verify::KIND, &verify);
        let message = format!("`{} = {word}` on {place}: {why}", VERIFY.name);
        let hint =
            "name a file or a device with --on, as in --on ./data.img, or leave `verify` out";
        Err(JobError::new(message).at(&self.verify_origin).hint(hint))
    }

    /// Checks that its total, whose remainder is the last request, is in whole units.
    fn total_fits(&self, unit: u32, target: &str) -> Result<(), JobError> {
        let Some(Quota::Bytes(bytes)) = self.quota else { return Ok(()) };
        let unit = u64::from(unit);
        if bytes.is_multiple_of(unit) {
            return Ok(());
        }
        let [total, step] = [bytes, unit].map(size_text);
        let message = format!(
            "a total of {total} leaves a part of a unit for the last request; direct I/O on {target} \
             moves whole units of {step}"
        );
        Err(JobError::new(message).at(&self.total_origin).hint(region::multiples_near(bytes, unit)))
    }
}
