//! One policy's run: the stack is put together, driven, and measured.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::rc::Rc;

use penstock_core::{
    Clock, Device, Done, End, Limits, Observer, Policy, Queued, ReqId, Request, RunError, Seed,
    Served, Source, Tap, Time, Virtual, Witness, run,
};
use penstock_device::PageCache;
use penstock_device::page_cache::Options;
use penstock_live::{Emulated, Guard, LiveClock, LiveDevice, Null, Paced, Settings, Speed, Stage};
use penstock_spec::PageCacheSpec;
use penstock_spec::devices::DeviceSpec;
use penstock_spec::{Job, Stop};

use crate::below::{Schedulers, Seen};
use crate::busy::Busy;
use crate::candidate::{Chosen, Leave, Quit, Until};
use crate::device_stats::DeviceStats;
use crate::ending::Ending;
use crate::failure::Failure;
use crate::ledger::Ledger;
use crate::load::Load;
use crate::place::{Live, Place};
use crate::program_stats::ProgramBook;
use crate::record::{Header, RecordedServed, Recorder};
use crate::recorded::Recorded;
use crate::result::RunResult;
use crate::snapshot::{Watch, Watched};
use crate::stats::{Progress, Stats};

/// One policy's run, ready to begin.
#[derive(Clone, Copy)]
pub(crate) struct Bench<'a> {
    pub(crate) job: &'a Job,
    pub(crate) policy: &'a Chosen,
    pub(crate) load: &'a Load,
    pub(crate) seed: u64,
    pub(crate) record: Option<&'a Path>,
    pub(crate) detail: bool,
    pub(crate) watch: Option<Watch<'a>>,
}

/// What observes a run from outside its stack.
#[derive(Clone, Copy, Default)]
struct Observers<'a> {
    /// Of a device that may not answer.
    guard: Option<&'a Guard>,
    /// Of the disks of a model.
    disks: Option<&'a DeviceStats>,
    /// Of a real device.
    busy: Option<&'a RefCell<Busy>>,
    /// Of programs, which run on models only.
    programs: Option<&'a ProgramBook>,
}

impl Bench<'_> {
    /// The run at `place` with one stack for all classes.
    pub(crate) fn run_whole(
        &self,
        place: &Place,
        progress: &mut dyn Progress,
    ) -> Result<RunResult, Failure> {
        match place {
            Place::Modelled(spec) => {
                let (disks, device) = self.watched(spec, Speed::ONE);
                let programs = self.load.program_book(self.job.warmup);
                let device = match &programs {
                    Some(book) => Box::new(book.over_device(device)),
                    None => device,
                };
                let programs = programs.as_ref();
                let observers = Observers { disks: Some(&disks), programs, ..Observers::default() };
                match self.watch.and_then(Watch::paced) {
                    Some((speed, pace)) => {
                        self.run(place, device, &mut Paced::new(speed, pace), progress, observers)
                    }
                    None => self.run(place, device, &mut Virtual::default(), progress, observers),
                }
            }
            Place::Emulated { spec, speed, over, .. } => {
                let (mut clock, file) = match over {
                    Some(live) => self.stage(live).map(|(clock, file)| (clock, Some(file)))?,
                    None => (LiveClock::bare(), None),
                };
                let (disks, model) = self.watched(spec, *speed);
                let mut device = Emulated::new(model, *speed, file);
                let observers = Observers { disks: Some(&disks), ..Observers::default() };
                let result =
                    self.run_guarded(place, &mut device, &mut clock, progress, observers)?;
                Ok(RunResult { emulation: Some(device.lateness().into()), ..result })
            }
            Place::Live(live) => {
                // Before there is a clock: it takes a moment.
                let seen = Seen::now(&live.target);
                let (mut clock, device) = self.stage(live)?;
                Ok(seen.told(self.run_live(place, device, &mut clock, progress)?))
            }
            Place::Null => {
                let device = Null::new(self.job.live.depth);
                self.run_guarded(
                    place,
                    device,
                    &mut LiveClock::bare(),
                    progress,
                    Observers::default(),
                )
            }
        }
    }

    /// The model of `spec`, which runs at `speed`, and who watches its disks.
    fn watched(&self, spec: &DeviceSpec, speed: Speed) -> (DeviceStats, Box<dyn Device>) {
        let disks = DeviceStats::new(spec.disks(), Time::ZERO + self.job.warmup, speed);
        let device = spec.build_watched(Seed(self.seed), &|number| disks.of(number));
        (disks, device)
    }

    /// The run over the real `device`.
    pub(crate) fn run_live(
        &self,
        place: &Place,
        device: impl Device,
        clock: &mut LiveClock,
        progress: &mut dyn Progress,
    ) -> Result<RunResult, Failure> {
        let busy = Rc::new(RefCell::new(Busy::new(Time::ZERO + self.job.warmup)));
        let (begun, ended) = (Rc::clone(&busy), Rc::clone(&busy));
        let started = move |now, _: &Request| begun.borrow_mut().started(now);
        let finished = move |now, done: &[Done]| {
            for _ in done {
                ended.borrow_mut().finished(now);
            }
        };
        let device = Tap::new(device, started, finished);
        let observers = Observers { busy: Some(&busy), ..Observers::default() };
        self.run_guarded(place, device, clock, progress, observers)
    }

    /// The run over `device` in real time, with what the machine did not grant.
    fn run_guarded(
        &self,
        place: &Place,
        device: impl Device,
        clock: &mut LiveClock,
        progress: &mut dyn Progress,
        observers: Observers<'_>,
    ) -> Result<RunResult, Failure> {
        let guard = clock.guard();
        let observers = Observers { guard: Some(&guard), ..observers };
        let result = self.run(place, device, clock, progress, observers)?;
        let remarks = [clock.remarks(), &result.remarks].concat();
        Ok(RunResult { remarks, ..result })
    }

    /// Real time, and `live` behind its engine, for the largest command of this run.
    pub(crate) fn stage(&self, live: &Live) -> Result<(LiveClock, LiveDevice), Failure> {
        // Merging makes commands longer than any request, and so do reading ahead and writing back.
        let cache = self.job.buffered().map_or(0, |_| Options::LONGEST);
        let longest = self.load.longest.max(self.policy.longest()).max(cache);
        let settings = Settings {
            batch: self.job.live.batch,
            seed: Seed(self.seed),
            timeout: self.job.live.timeout,
            ..Settings::new(self.job.live.depth, longest)
        };
        Ok(Stage::single(live.engine, live.target.clone(), settings)?)
    }

    fn run(
        &self,
        place: &Place,
        device: impl Device,
        clock: &mut impl Clock,
        progress: &mut dyn Progress,
        observers: Observers<'_>,
    ) -> Result<RunResult, Failure> {
        let leave = Leave::default();
        let served = Served { classes: &self.load.classes, disks: place.disks() };
        let policy = self.policy.build(&served, &leave);
        let patient = self.job.programs.is_some();
        let Some(path) = self.record else {
            let mut stack = Queued::new(policy, device).arrivals_first(patient);
            let result = self.drive(&mut stack, clock, progress, observers, None, &leave)?;
            return self.counted(stack.policy(), &leave, result);
        };
        let header = Header {
            penstock: crate::version::VERSION.into(),
            policy: self.policy.name().into(),
            job: self.job.name.clone(),
            text: self.job.text(),
            room: device.room(),
            capacity: place.capacity(),
            block: place.block(),
            polled: device.polled(),
            served: Some(RecordedServed::new(&served)),
        };
        let recorder =
            Recorder::create(path, &header).map_err(|error| Failure::unwritable(path, &error))?;
        let above = recorder.clone();
        let decided = move |at, go, chain: &[ReqId]| above.decided(at, go, chain);
        let device = Recorded::new(device, recorder.clone());
        let mut stack = Queued::new(Witness::new(policy, decided), device).arrivals_first(patient);
        let result =
            self.drive(&mut stack, clock, progress, observers, Some(recorder.clone()), &leave);
        let result = result.and_then(|result| self.counted(stack.policy(), &leave, result));
        let written = recorder.finish().map_err(|error| Failure::half_written(path, &error));
        // The run's own error says more than a file that ended with it.
        result.and_then(|result| written.map(|()| result))
    }

    fn drive(
        &self,
        stack: &mut impl Device,
        clock: &mut impl Clock,
        progress: &mut dyn Progress,
        observers: Observers<'_>,
        recorder: Option<Recorder>,
        leave: &Leave,
    ) -> Result<RunResult, Failure> {
        let Observers { guard, programs, .. } = observers;
        let most = self.job.max_outstanding;
        let mut source = self.load.source(Seed(self.seed), most, programs);
        let names: Vec<&str> = self.load.classes.iter().map(|class| class.name.as_str()).collect();
        let cache = self.job.buffered().map(|spec| (spec, Ledger::default()));
        let ledger = cache.as_ref().map(|(_, ledger)| ledger.clone());
        let mut stats = self.stats(&names, guard.is_some(), progress, recorder).charged_by(ledger);
        let until = self.until();
        let limits = Limits { until, max_outstanding: most };
        let mut observer = Until { observer: &mut stats, leave, guard, programs };
        let end = match &cache {
            None => run(&mut source, stack, clock, &mut observer, limits),
            Some(cache) => buffered(cache, &mut source, stack, clock, &mut observer, limits),
        };
        // What it says of itself says more than how the run ended without it.
        self.check(leave)?;
        let end = end.map_err(|error| self.failed(error, &names, stats.arrivals()))?;
        if let Some((class, at)) = programs.and_then(ProgramBook::full) {
            return Err(self.too_many(names[class.index()], at));
        }
        let over = programs.and_then(ProgramBook::over);
        let at = over.unwrap_or(end.at);
        stats.ended(&mut source, at, until);
        let early = over.is_none() && end.interrupted || leave.get().is_some();
        let Ending { ended, failure, remarks } = Ending::of(early, at, guard);
        // A run that is done early counts until the load's end, as it might have been asked until then.
        let asked = self.load.asks_until.map_or(at, |asked| asked.min(until).max(at));
        let at = if over.is_some() || ended.is_some() { at } else { asked };
        let classes = stats.classes(&names, at);
        let device_stats = observers.disks.map(|disks| disks.told(at));
        let responses = self.load.measured.as_ref().zip(stats.take_responses());
        Ok(RunResult {
            against_measured: responses.and_then(|(measured, found)| measured.against(found)),
            policy: self.policy.name().into(),
            round: None,
            seed: None,
            params: self.policy.params_json(),
            duration_s: stats.measured_s(at),
            interrupted: ended.is_some(),
            ended,
            failure,
            schedule: stats.schedule(),
            emulation: None,
            remarks,
            schedulers: Schedulers::new(),
            device_busy: match &device_stats {
                Some(disks) => disks.all.utilisation,
                None => observers.busy.map_or(0.0, |busy| stats.share_of(&busy.borrow(), at)),
            },
            device_stats,
            policy_stats: BTreeMap::new(),
            classes: programs.iter().fold(classes, |classes, book| book.told(classes, at)),
            detail: stats.take_detail(&names, at),
        })
    }

    /// `result`, with what `policy` has counted.
    fn counted(
        &self,
        policy: &impl Policy,
        leave: &Leave,
        result: RunResult,
    ) -> Result<RunResult, Failure> {
        let mut policy_stats = BTreeMap::new();
        policy.counters(&mut |name, value| {
            policy_stats.insert(name.to_owned(), value);
        });
        self.check(leave)?;
        Ok(RunResult { policy_stats, ..result })
    }

    /// That the policy has not failed.
    fn check(&self, leave: &Leave) -> Result<(), Failure> {
        let Some(Quit::Failed { at, what, hint }) = leave.get() else { return Ok(()) };
        let name = self.policy.name();
        let message = format!("policy {name}, at {}: {what}", Seconds(*at));
        Err(Failure::run(message).hint(hint))
    }

    /// What measures a run of the classes `names`, on a real clock if it is `live`.
    fn stats<'a>(
        &'a self,
        names: &[&str],
        live: bool,
        progress: &'a mut dyn Progress,
        recorder: Option<Recorder>,
    ) -> Stats<'a> {
        let (warmup, duration) = (self.job.warmup, self.load.duration);
        let schedule = live.then(|| self.load.schedule(warmup, self.job.live.depth));
        let mut stats = Stats::new(names.len(), warmup, duration, schedule, progress, recorder)
            .rated(self.load.asks_until);
        if self.detail {
            stats = stats.detailed();
        }
        if let Some(measured) = &self.load.measured {
            stats = stats.compared(measured.len());
        }
        if let Some(watch) = self.watch {
            stats = stats.watched(Watched::new(names, duration, watch.window(duration, live)));
            if let Some((_, pace)) = watch.paced().filter(|_| !live) {
                stats = stats.paced(pace);
            }
        }
        stats
    }

    /// When the run ends, whatever is outstanding.
    fn until(&self) -> Time {
        match self.job.stop {
            Stop::Drained | Stop::Done(_) => Time::NEVER,
            Stop::LastArrival => self.load.last,
            Stop::At(span) => Time::ZERO + span,
        }
    }

    /// A program of `class` arrived at `at` where as many were under way as may be.
    fn too_many(&self, class: &str, at: Time) -> Failure {
        let (most, under) = (self.job.max_outstanding, self.policy.name());
        Failure::run(format_args!(
            "class {class} found {most} programs under way at {} under {under}",
            Seconds(at)
        ))
        .hint("processors or device cannot follow: let fewer arrive, or raise max_outstanding")
    }

    fn failed(&self, error: RunError, names: &[&str], arrivals: u64) -> Failure {
        let under = self.policy.name();
        match error {
            RunError::Overload { class, at, max_outstanding } => {
                let class = names[class.index()];
                Failure::run(format_args!(
                    "class {class} found {max_outstanding} requests outstanding at {} under {under}, \
                     after {arrivals} arrivals",
                    Seconds(at)
                ))
                .hint("the device cannot follow: lower the rate, or raise max_outstanding")
            }
            RunError::Stalled { at, outstanding } => Failure::run(format_args!(
                "{outstanding} requests are outstanding at {} under {under}, and nothing goes on",
                Seconds(at)
            ))
            .hint("this is a mistake of the policy or of the device: please report it"),
            RunError::Endless { outstanding } => Failure::run(format_args!(
                "{outstanding} requests are outstanding after a hundred years under {under}"
            ))
            .hint("the device cannot follow: lower the rate, or what a request takes"),
            RunError::Spinning { at } => Failure::run(format_args!(
                "time stands still at {} under {under}: the device takes no time",
                Seconds(at)
            ))
            .hint("give the device a base time, or the closed loops a think time"),
        }
    }
}

/// [`run`] with a page cache between the source and `stack`.
fn buffered(
    (spec, ledger): &(&PageCacheSpec, Ledger),
    source: &mut impl Source,
    stack: &mut dyn Device,
    clock: &mut impl Clock,
    observer: &mut impl Observer,
    limits: Limits,
) -> Result<End, RunError> {
    let mut cache = PageCache::new(&spec.options(), ledger.over(stack));
    run(source, &mut cache, clock, observer, limits)
}

/// A point of time as a person reads it.
struct Seconds(Time);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} s", self.0.since(Time::ZERO).ns() as f64 / 1e9)
    }
}
