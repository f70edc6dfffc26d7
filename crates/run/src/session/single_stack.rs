//! A run with one stack for all classes, at each kind of place.

use penstock_core::{Clock, Virtual};
use penstock_live::{Caching, LiveClock, LiveDevice, Paced};

use crate::failure::Failure;
use crate::measures::below::DiskSnapshot;
use crate::place::{Backend, Place};
use crate::progress::report::Progress;
use crate::progress::snapshot::Watch;
use crate::result::RunResult;
use crate::session::bottom::Bottom;
use crate::session::runner::Runner;

impl Runner<'_> {
    /// Runs at `place` with one stack for all classes.
    pub(crate) fn run_single_stack(
        &self,
        place: &Place,
        progress: &mut dyn Progress,
    ) -> Result<RunResult, Failure> {
        match place.backend() {
            Backend::Modelled(_) | Backend::Mapped(_) => {
                let bottom = Bottom::of_models(self, place);
                match self.watch.and_then(Watch::paced) {
                    Some((speed, pace)) => {
                        let mut clock: &mut dyn Clock = &mut Paced::new(speed, pace);
                        self.run_over(bottom, place, &mut clock, None, progress)
                    }
                    None => self.run_over(bottom, place, &mut Virtual::default(), None, progress),
                }
            }
            Backend::Emulated { spec, speed, over } => {
                let (clock, file) = match over {
                    Some(live) => self
                        .stage(live, live.engine(), Caching::Direct)
                        .map(|(clock, file)| (clock, Some(file)))?,
                    None => (LiveClock::bare(), None),
                };
                let (bottom, answers) = Bottom::emulated(self, spec, *speed, file);
                let result = self.run_in_real_time(bottom, place, clock, progress)?;
                Ok(RunResult { emulation: Some((&*answers.lateness()).into()), ..result })
            }
            Backend::Live(live) => {
                // Before the clock starts: it takes a moment.
                let seen = DiskSnapshot::take(&live.target);
                let remark = self.drop_page_cache(live)?;
                let stage = self.stage(live, live.engine(), self.load.workload.caching())?;
                let mut result = self.run_live(place, stage, progress)?;
                result.remarks.extend(remark);
                Ok(seen.written_to(result))
            }
            Backend::Targets(_) => unreachable!("each target has a loop of its own"),
            Backend::Null => self.run_null(place, progress),
        }
    }

    /// Runs over a real target, opened as `stage`.
    pub(crate) fn run_live(
        &self,
        place: &Place,
        (clock, device): (LiveClock, LiveDevice),
        progress: &mut dyn Progress,
    ) -> Result<RunResult, Failure> {
        self.run_in_real_time(Bottom::real(self, device), place, clock, progress)
    }

    /// Runs without a target.
    pub(crate) fn run_null(
        &self,
        place: &Place,
        progress: &mut dyn Progress,
    ) -> Result<RunResult, Failure> {
        self.run_in_real_time(Bottom::null(self), place, LiveClock::bare(), progress)
    }

    /// Runs over `bottom` in the time of `clock`, and adds remarks on what the machine did not
    /// grant.
    fn run_in_real_time(
        &self,
        bottom: Bottom,
        place: &Place,
        mut clock: LiveClock,
        progress: &mut dyn Progress,
    ) -> Result<RunResult, Failure> {
        let guard = clock.guard();
        // One loop for all clocks that wait.
        let mut waiting: &mut dyn Clock = &mut clock;
        let result = self.run_over(bottom, place, &mut waiting, Some(guard), progress)?;
        let remarks = [clock.remarks(), &result.remarks].concat();
        Ok(RunResult { remarks, ..result })
    }
}
