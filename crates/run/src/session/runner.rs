//! One policy's run: builds the stack, drives it, and measures.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;

use penstock_core::{
    Bounded, Clock, Device, End, Go, Limits, Observer, Policy, Queued, ReqId, RunError, Seed,
    Served, Source, Time, Unscheduled, Virtual, Witness, run,
};
use penstock_device::page_cache::{Options, Topology};
use penstock_device::{PageCache, Rack};
use penstock_jobs::PageCacheSpec;
use penstock_jobs::devices::ArraySpec;
use penstock_jobs::{Job, Stop};
use penstock_live::{
    Caching, Emulated, Engine, Guard, LiveClock, LiveDevice, Null, Order, Paced, Settings, Speed,
    Stage,
};

use crate::ask::candidate::{Chosen, QuitFlag};
use crate::failure::Failure;
use crate::measures;
use crate::measures::arm::Stretch;
use crate::measures::below::DiskSnapshot;
use crate::measures::busy::DeviceBusy;
use crate::measures::courses::Courses;
use crate::measures::device_stats::DeviceStats;
use crate::measures::durable::{Durable, Flushing};
use crate::measures::last_sent::LastSent;
use crate::measures::ledger::Ledger;
use crate::measures::measure::Measure;
use crate::measures::merge::MergeBook;
use crate::measures::programs::ProgramBook;
use crate::measures::subject::Subject;
use crate::measures::windows::Plan;
use crate::place::live_target::Live;
use crate::place::model_data::ModelData;
use crate::place::{Place, disks as disks_of};
use crate::progress::report::{Progress, Reporter, Rhythm};
use crate::progress::snapshot::{Watch, Watched};
use crate::record::recorded::Recorded;
use crate::record::{Header, RecordedDisk, RecordedLane, RecordedServed, Recorder};
use crate::result::RunResult;
use crate::session::ending::Ending;
use crate::session::observer::{CellObserver, Ends};
use crate::session::run_errors;
use crate::session::verify::{self, Verification};
use crate::workload::{Load, SourceEvents};

/// One policy's run, ready to begin.
#[derive(Clone, Copy)]
pub(crate) struct Runner<'a> {
    pub(crate) job: &'a Job,
    pub(crate) policy: &'a Chosen,
    pub(crate) load: &'a Load,
    pub(crate) seed: u64,
    pub(crate) record: Option<&'a Path>,
    /// Set if the full detail is wanted, with the arm in this stretch of the run.
    pub(crate) detail: Option<Stretch>,
    pub(crate) requests: bool,
    pub(crate) stability: bool,
    pub(crate) watch: Option<Watch<'a>>,
    /// Whether it is one of several threads, whose figures are joined.
    pub(crate) is_part: bool,
    /// The verifiers of its data.
    pub(crate) verification: &'a Verification,
}

/// Observers outside the stack of a run.
#[derive(Default)]
struct Observers<'a> {
    /// Watches a device that may not answer.
    guard: Option<&'a Guard>,
    /// Records programs, which run on models only.
    programs: Option<&'a ProgramBook>,
    /// Counts what the policy sends of a class, if the run ends with that.
    sent: Option<&'a LastSent>,
    /// The data on the models, if it is verified.
    data: Option<&'a ModelData>,
    /// Measures of the device and of programs.
    below: Vec<Box<dyn Measure>>,
    /// The series over time, if details are wanted.
    courses: Option<Courses>,
}

/// Hooks that all queues of a run with several queues share.
#[derive(Clone, Copy)]
struct QueueHooks<'a> {
    quit: &'a QuitFlag,
    courses: Option<&'a Courses>,
    sent: Option<&'a LastSent>,
}

impl Observers<'_> {
    /// Adds `courses` as a measure, so that they know when the run ended.
    fn with(mut self, courses: Option<&Courses>) -> Self {
        self.below.extend(courses.cloned().map(|courses| Box::new(courses) as Box<dyn Measure>));
        Self { courses: courses.cloned(), ..self }
    }
}

/// `policy`, which serves `disks` disks, observed for `courses` if there are any.
fn observed(
    policy: Box<dyn Policy>,
    disks: NonZeroU32,
    courses: Option<&Courses>,
) -> Box<dyn Policy> {
    match courses {
        Some(courses) => courses.over(policy, disks.get()),
        None => policy,
    }
}

/// Returns a function that writes a policy's decisions to the record.
fn decided(recorder: &Recorder) -> impl FnMut(Time, Go, &[ReqId]) + use<> {
    let recorder = recorder.clone();
    move |at, go, chain| recorder.decided(at, go, chain)
}

impl Runner<'_> {
    /// Runs at `place` with one stack for all classes.
    pub(crate) fn run_single_stack(
        &self,
        place: &Place,
        progress: &mut dyn Progress,
    ) -> Result<RunResult, Failure> {
        match place {
            Place::Modelled(_) | Place::Mapped(_) => match self.watch.and_then(Watch::paced) {
                Some((speed, pace)) => {
                    self.run_modelled(place, &mut Paced::new(speed, pace), progress)
                }
                None => self.run_modelled(place, &mut Virtual::default(), progress),
            },
            Place::Emulated { spec, speed, over, .. } => {
                let (mut clock, file) = match over {
                    Some(live) => self
                        .stage(live, live.engine(), Caching::Direct)
                        .map(|(clock, file)| (clock, Some(file)))?,
                    None => (LiveClock::bare(), None),
                };
                let warmup = Time::ZERO + self.job.warmup;
                let courses = self.courses();
                let arm = courses.as_ref().map(|courses| &courses.arm);
                let disks = DeviceStats::new(spec.disks(), warmup, *speed).with_arm(arm);
                let model = spec.build_watched(Seed(self.seed), &|number| disks.observer(number));
                let mut device = Emulated::new(self.bounded(model), *speed, file);
                let observers = Observers { below: vec![Box::new(disks)], ..Observers::default() }
                    .with(courses.as_ref());
                let result =
                    self.run_guarded(place, &mut device, &mut clock, progress, observers)?;
                Ok(RunResult { emulation: Some((&*device.answers().lateness()).into()), ..result })
            }
            Place::Live(live) => {
                // Before the clock starts: it takes a moment.
                let seen = DiskSnapshot::take(&live.target);
                let remark = self.drop_page_cache(live)?;
                let (mut clock, device) =
                    self.stage(live, live.engine(), self.load.workload.caching())?;
                let mut result = self.run_live(place, device, &mut clock, progress)?;
                result.remarks.extend(remark);
                Ok(seen.written_to(result))
            }
            Place::Targets(_) => unreachable!("each target has a loop of its own"),
            Place::Null => self.run_null(place, progress),
        }
    }

    /// Runs over the models of `place`, in their time.
    fn run_modelled(
        &self,
        place: &Place,
        clock: &mut impl Clock,
        progress: &mut dyn Progress,
    ) -> Result<RunResult, Failure> {
        let lanes = &self.load.lanes;
        let models = place.models(lanes.len());
        let disks = models.iter().map(|spec| spec.disks()).sum();
        let courses = self.courses();
        let arm = courses.as_ref().map(|courses| &courses.arm);
        let stats = DeviceStats::new(disks, Time::ZERO + self.job.warmup, Speed::ONE).with_arm(arm);
        let disks_of_each = models.iter().map(|spec| spec.disks());
        let stats = stats.with_names(self.load.lane_names().zip(disks_of_each));
        let warmup = self.job.warmup;
        let processors = self.load.workload.processors();
        let classes = self.load.classes.len();
        let book = processors.map(|cpus| ProgramBook::new(classes, cpus.count, warmup, cpus.until));
        let booked = |device: Box<dyn Device>| match &book {
            Some(book) => Box::new(book.over_device(device)),
            None => device,
        };
        let mut devices = Vec::new();
        let mut first = 0;
        for spec in &models {
            let below = spec.lanes(Seed(self.seed), first, &|number| stats.observer(number));
            devices.extend(below.into_iter().map(|device| booked(self.bounded(device))));
            first += spec.disks();
        }
        let mut below: Vec<Box<dyn Measure>> = vec![Box::new(stats)];
        below.extend(book.clone().map(|book| Box::new(book) as Box<dyn Measure>));
        let observers = Observers { programs: book.as_ref(), below, ..Observers::default() };
        let observers = observers.with(courses.as_ref());
        if lanes.len() > 1 {
            let devices = devices.into_iter().zip(models).map(|(one, spec)| (one, disks_of(spec)));
            return self.run_rack(devices.collect(), place, clock, progress, observers);
        }
        if let Some(array) = models[0].array_of_queues() {
            return self.run_array(array, devices, place, clock, progress, observers);
        }
        self.run(place, devices.swap_remove(0), clock, progress, observers)
    }

    /// Runs over independent `devices`, one for each lane of the load, each with its own queue and
    /// with this number of disks.
    fn run_rack(
        &self,
        devices: Vec<(Box<dyn Device>, NonZeroU32)>,
        place: &Place,
        clock: &mut impl Clock,
        progress: &mut dyn Progress,
        observers: Observers<'_>,
    ) -> Result<RunResult, Failure> {
        let quit = QuitFlag::default();
        let sent = self.last_sent();
        let courses = observers.courses.clone();
        let observers = Observers { sent: sent.as_ref(), ..observers };
        let recorder = self.recorder(|| {
            let queue = |(device, disks): &(Box<dyn Device>, NonZeroU32)| {
                let lane = RecordedLane { block: device.block(), disks: *disks };
                RecordedDisk { lane: Some(lane), ..RecordedDisk::of(device) }
            };
            let queues: Vec<_> = devices.iter().map(queue).collect();
            let capacity = queues.iter().map(|disk| disk.capacity).sum();
            Header { capacity, queues, ..self.header(place, &devices[0].0, NonZeroU32::MIN) }
        })?;
        let hooks = QueueHooks { quit: &quit, courses: courses.as_ref(), sent: sent.as_ref() };
        let queues = (0..).zip(devices).map(|(number, (device, disks))| {
            self.queue(
                device,
                disks,
                hooks,
                recorder.as_ref().map(|recorder| recorder.for_queue(number)),
            )
        });
        let mut stack = Rack::new(queues.collect());
        let result = self.drive(&mut stack, clock, progress, observers, recorder.clone(), &quit);
        let result = result.and_then(|result| {
            let policies = stack.devices().map(Queued::policy);
            self.counted(policies, courses.as_ref(), &quit, result)
        });
        self.recorded(recorder, result)
    }

    /// Runs over `disks`, each with its own queue, as one `array`.
    fn run_array(
        &self,
        array: &ArraySpec,
        disks: Vec<Box<dyn Device>>,
        place: &Place,
        clock: &mut impl Clock,
        progress: &mut dyn Progress,
        observers: Observers<'_>,
    ) -> Result<RunResult, Failure> {
        let quit = QuitFlag::default();
        let courses = observers.courses.clone();
        let courses = courses.as_ref();
        let recorder = self.recorder(|| {
            let queues = disks.iter().map(RecordedDisk::of).collect();
            Header { queues, ..self.header(place, &disks[0], NonZeroU32::MIN) }
        })?;
        // Dispatches of a class are not counted here: a request has pieces on several disks.
        let hooks = QueueHooks { quit: &quit, courses, sent: None };
        let queue = |(number, device): (u16, Box<dyn Device>)| {
            let recorder = recorder.as_ref().map(|recorder| recorder.for_queue(number));
            self.queue(device, NonZeroU32::MIN, hooks, recorder)
        };
        let disks = (0..).zip(disks).map(queue).collect();
        let mut stack = array.over(disks).expect("checked when it was read");
        let result = self.drive(&mut stack, clock, progress, observers, recorder.clone(), &quit);
        let result = result.and_then(|result| {
            self.counted(stack.disks().map(Queued::policy), courses, &quit, result)
        });
        self.recorded(recorder, result)
    }

    /// A queue with its own policy before `device`, which has `disks` disks; `recorder` records
    /// both.
    fn queue(
        &self,
        mut device: Box<dyn Device>,
        disks: NonZeroU32,
        hooks: QueueHooks<'_>,
        recorder: Option<Recorder>,
    ) -> Queued<Box<dyn Policy>, Box<dyn Device>> {
        let served = Served { classes: &self.load.classes, disks };
        let at_completions = self.job.workload.arrives_at_completions();
        let mut policy = self.policy.build(&served, hooks.quit);
        if let Some(sent) = hooks.sent {
            policy = Box::new(sent.counting(policy));
        }
        policy = observed(policy, disks, hooks.courses);
        if let Some(recorder) = recorder {
            policy = Box::new(Witness::new(policy, decided(&recorder)));
            device = Box::new(Recorded::new(device, recorder));
        }
        Queued::new(policy, device).arrivals_first(at_completions)
    }

    /// `device`, limited to the queue depth of the job if it sets one.
    fn bounded(&self, device: Box<dyn Device>) -> Box<dyn Device> {
        match self.job.live.depth {
            Some(depth) => Box::new(Bounded::new(device, depth)),
            None => device,
        }
    }

    /// Runs over the real `device`.
    pub(crate) fn run_live(
        &self,
        place: &Place,
        device: impl Device,
        clock: &mut LiveClock,
        progress: &mut dyn Progress,
    ) -> Result<RunResult, Failure> {
        let busy = DeviceBusy::new(Time::ZERO + self.job.warmup);
        let device = busy.over(device);
        let observers = Observers { below: vec![Box::new(busy)], ..Observers::default() }
            .with(self.courses().as_ref());
        self.run_guarded(place, device, clock, progress, observers)
    }

    /// Runs without a target.
    pub(crate) fn run_null(
        &self,
        place: &Place,
        progress: &mut dyn Progress,
    ) -> Result<RunResult, Failure> {
        let device = Null::new(self.job.live.target_depth());
        let observers = Observers::default().with(self.courses().as_ref());
        self.run_guarded(place, device, &mut LiveClock::bare(), progress, observers)
    }

    /// Runs over `device` in real time, and adds remarks on what the machine did not grant.
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

    /// Drops the pages of `live` from the page cache if the job goes through it. Returns a remark
    /// if not all could be dropped, or if the job keeps them.
    pub(crate) fn drop_page_cache(&self, live: &Live) -> Result<Option<String>, Failure> {
        if self.load.workload.caching() == Caching::Direct {
            return Ok(None);
        }
        if !self.job.live.drop_pages {
            return Ok(Some(format!(
                "pages of {} were not dropped from the page cache before the run, as \
                 live.page_cache = \"keep\" says",
                live.target.path().display()
            )));
        }
        live.target.drop_cached().map_err(|error| {
            let path = live.target.path().display();
            Failure::run(format!("cannot drop the pages of {path} from the page cache: {error}"))
        })
    }

    /// Maximum number of commands in flight of `engine` at `live`.
    pub(crate) fn depth(&self, live: &Live, engine: Engine) -> u32 {
        let depth = self.job.live.target_depth();
        // The depth set for the run need not suit the engine of an agent.
        if engine == live.engine() { depth } else { depth.min(engine.most_in_flight()) }
    }

    /// Opens `live` behind `engine` in real time, with buffers for the largest command of this run.
    pub(crate) fn stage(
        &self,
        live: &Live,
        engine: Engine,
        caching: Caching,
    ) -> Result<(LiveClock, LiveDevice), Failure> {
        // Merging makes commands longer than any request, and so do reading ahead and writing back.
        let cache = self.job.buffered().map_or(0, |_| Options::LONGEST);
        let longest = self.load.longest.max(self.policy.longest()).max(cache);
        let settings = Settings {
            batch: self.job.live.batch,
            caching,
            order: if self.job.live.advise { self.load.workload.order() } else { Order::Unknown },
            nowait: self.job.live.nowait,
            fsync: self.job.live.fsync,
            huge_pages: self.job.live.huge_pages,
            seed: Seed(self.seed),
            timeout: self.job.live.timeout,
            ..Settings::new(self.depth(live, engine), longest)
        };
        let target = live.target.clone();
        let Verification::Targets(verifiers) = self.verification else {
            return Ok(Stage::single(engine, target, settings)?);
        };
        let verifiers = vec![Some(verifiers[self.load.lane.unwrap_or(0)].clone())];
        let Stage { clock, mut devices } =
            Stage::verifying(engine, vec![target], settings, verifiers)?;
        Ok((clock, devices.pop().expect("a device for the target")))
    }

    fn run(
        &self,
        place: &Place,
        device: impl Device,
        clock: &mut impl Clock,
        progress: &mut dyn Progress,
        observers: Observers<'_>,
    ) -> Result<RunResult, Failure> {
        let quit = QuitFlag::default();
        let sent = self.last_sent();
        let courses = observers.courses.clone();
        // A figure about decisions needs a policy, even one that passes everything on.
        if self.policy.kernel().is_some() && sent.is_none() && courses.is_none() {
            let mut stack = Unscheduled::new(device);
            return self.drive_with_offset(&mut stack, clock, progress, observers, &quit);
        }
        let served = Served { classes: &self.load.classes, disks: place.disks() };
        let mut policy = self.policy.build(&served, &quit);
        if let Some(sent) = &sent {
            policy = Box::new(sent.counting(policy));
        }
        policy = observed(policy, place.disks(), courses.as_ref());
        let observers = Observers { sent: sent.as_ref(), ..observers };
        let at_completions = self.job.workload.arrives_at_completions();
        let recorder = self.recorder(|| self.header(place, &device, place.disks()))?;
        let Some(recorder) = recorder else {
            let mut stack = Queued::new(policy, device).arrivals_first(at_completions);
            let result = self.drive_with_offset(&mut stack, clock, progress, observers, &quit)?;
            return self.counted([stack.policy()], courses.as_ref(), &quit, result);
        };
        let policy = Witness::new(policy, decided(&recorder));
        let device = Recorded::new(device, recorder.clone());
        let mut stack = Queued::new(policy, device).arrivals_first(at_completions);
        let result =
            self.drive(&mut stack, clock, progress, observers, Some(recorder.clone()), &quit);
        let result = result
            .and_then(|result| self.counted([stack.policy()], courses.as_ref(), &quit, result));
        self.recorded(Some(recorder), result)
    }

    /// The header of the record of a queue before `device`, which has `disks` disks.
    fn header(&self, place: &Place, device: &impl Device, disks: NonZeroU32) -> Header {
        let served = Served { classes: &self.load.classes, disks };
        Header {
            penstock: crate::result::version::VERSION.into(),
            policy: self.policy.name().into(),
            job: self.job.name.clone(),
            text: self.job.text(),
            room: device.room(),
            capacity: place.capacity(),
            block: place.block(),
            polled: device.polled(),
            served: Some(RecordedServed::new(&served)),
            machine_cache: matches!(place, Place::Live(_))
                && self.load.workload.caching() != Caching::Direct,
            queues: Vec::new(),
        }
    }

    /// Creates the record with this `header`, if the run is to be recorded.
    fn recorder(&self, header: impl FnOnce() -> Header) -> Result<Option<Recorder>, Failure> {
        let create = |path: &Path| {
            Recorder::create(path, &header()).map_err(|error| Failure::unwritable(path, &error))
        };
        self.record.map(create).transpose()
    }

    /// Finishes the record, if there is one, and returns `result`.
    fn recorded(
        &self,
        recorder: Option<Recorder>,
        result: Result<RunResult, Failure>,
    ) -> Result<RunResult, Failure> {
        let (Some(path), Some(recorder)) = (self.record, recorder) else { return result };
        let written = recorder.finish().map_err(|error| Failure::half_written(path, &error));
        // The run's own error says more than a file that ended with it.
        result.and_then(|result| written.map(|()| result))
    }

    /// Runs over `stack`, at addresses that begin after the files before it.
    fn drive_with_offset(
        &self,
        stack: &mut impl Device,
        clock: &mut impl Clock,
        progress: &mut dyn Progress,
        observers: Observers<'_>,
        quit: &QuitFlag,
    ) -> Result<RunResult, Failure> {
        match self.load.base() {
            0 => self.drive(stack, clock, progress, observers, None, quit),
            base => {
                let mut rack = Rack::behind(base, vec![stack]);
                self.drive(&mut rack, clock, progress, observers, None, quit)
            }
        }
    }

    /// Runs over `stack`, and verifies the data on its models if the run does.
    fn drive(
        &self,
        stack: &mut impl Device,
        clock: &mut impl Clock,
        progress: &mut dyn Progress,
        observers: Observers<'_>,
        recorder: Option<Recorder>,
        quit: &QuitFlag,
    ) -> Result<RunResult, Failure> {
        let Verification::Models(plan) = self.verification else {
            return self.run_loop(stack, clock, progress, observers, recorder, quit);
        };
        let data = ModelData::new(plan);
        let mut stack = data.over(stack as &mut dyn Device);
        let observers = Observers { data: Some(&data), ..observers };
        let result = self.run_loop(&mut stack, clock, progress, observers, recorder, quit)?;
        Ok(verify::finished_on_models(&data, result))
    }

    fn run_loop(
        &self,
        stack: &mut impl Device,
        clock: &mut impl Clock,
        progress: &mut dyn Progress,
        observers: Observers<'_>,
        recorder: Option<Recorder>,
        quit: &QuitFlag,
    ) -> Result<RunResult, Failure> {
        let Observers { guard, programs, sent, data, below, .. } = observers;
        let most = self.job.max_outstanding;
        let merge = self.load.workload.merges().map(MergeBook::new);
        let events = SourceEvents {
            programs: programs.cloned().map(ProgramBook::receiver),
            merges: merge.clone().map(MergeBook::receiver),
        };
        let mut load = self.load.workload.source(Seed(self.seed), most, events);
        let flushing = (self.job.stop == Stop::Durable).then(Flushing::default);
        let names: Vec<&str> = self.load.classes.iter().map(|class| class.name.as_str()).collect();
        let cache = self.job.buffered().zip(self.load.below_cache.as_ref());
        let cache = cache.map(|(spec, layout)| (spec, layout, Ledger::default()));
        let ledger = cache.as_ref().map(|(.., ledger)| ledger.clone());
        let subject = self.subject(guard.is_some());
        // First: others ask the source for what did not take place.
        let book = merge.clone().map(|book| Box::new(book) as Box<dyn Measure>);
        let measures = book.into_iter().chain(measures::all(&subject)).collect();
        let reporter = self.reporter(&names, guard.is_some(), progress);
        let ends = Ends { quit, guard, programs, sent, data };
        let mut observer =
            CellObserver::new(subject.warmup, measures, below, ledger, recorder, reporter, ends)
                .ending_with(flushing.clone());
        let until = self.until();
        let limits = Limits { until, max_outstanding: most };
        let cache = cache.as_ref();
        let end = match flushing.clone() {
            None => run_cached(cache, None, &mut load, stack, clock, &mut observer, limits),
            Some(flushing) => {
                let flushed = self.load.byte_of_each_file();
                let mut source = Durable::new(&mut *load, &flushed, flushing.clone());
                let flushing = Some(flushing);
                run_cached(cache, flushing, &mut source, stack, clock, &mut observer, limits)
            }
        };
        // The policy's own message says more than how the run ended without it.
        run_errors::quit(quit.get(), self.policy.name())?;
        self.load.workload.check()?;
        let under = self.policy.name();
        let end = end.map_err(|error| {
            run_errors::failed(error, &names, observer.arrivals, merge.as_ref(), under)
        })?;
        if let Some((class, at)) = programs.and_then(ProgramBook::full) {
            return Err(run_errors::too_many(names[class.index()], most, at, under));
        }
        let over = observer.over();
        let at = over.unwrap_or(end.at);
        observer.ended(&mut *load, at, until);
        let early = over.is_none() && end.interrupted || quit.get().is_some();
        let Ending { ended, failure, remarks } = Ending::of(early, at, guard);
        // A run whose requests are all done early counts until the end of its load's time.
        let asked = self.load.asks_until.map_or(at, |asked| asked.min(until).max(at));
        let at = if over.is_some() || ended.is_some() { at } else { asked };
        let mut result = RunResult {
            interrupted: ended.is_some(),
            ended,
            failure,
            remarks,
            ..RunResult::new(self.policy.name(), self.policy.params_json())
        };
        result.remarks.extend(flushing.and_then(|flushing| flushing.remark()));
        observer.write(at, self.is_part, &mut result);
        Ok(result)
    }

    /// Adds the counters of `policies` to `result`; with the disk's number in the name, if there
    /// are several.
    fn counted<'p, P: Policy + 'p>(
        &self,
        policies: impl IntoIterator<Item = &'p P>,
        courses: Option<&Courses>,
        quit: &QuitFlag,
        mut result: RunResult,
    ) -> Result<RunResult, Failure> {
        let mut policy_stats = BTreeMap::new();
        let mut policies = policies.into_iter().enumerate().peekable();
        while let Some((disk, policy)) = policies.next() {
            let alone = disk == 0 && policies.peek().is_none();
            policy.counters(&mut |counter, value| {
                let name = if alone { String::new() } else { format!("disk{disk}.") };
                policy_stats.insert(format!("{name}{counter}"), value);
            });
            if let Some(courses) = courses {
                courses.series.ended(disk, policy);
            }
        }
        run_errors::quit(quit.get(), self.policy.name())?;
        match (courses, &mut result.detail) {
            (Some(courses), Some(detail)) => detail.policy = courses.series.all_series(),
            (Some(courses), detail) if self.is_part => *detail = Some(courses.series.detail()),
            _ => {}
        }
        Ok(RunResult { policy_stats, ..result })
    }

    /// The series over time, if details are wanted.
    fn courses(&self) -> Option<Courses> {
        let plan = || Plan::new(self.load.classes.len(), self.load.duration);
        self.detail.map(|stretch| Courses::new(plan(), stretch))
    }

    /// The facts about this run that its measures need; `live`: it runs in real time.
    pub(crate) fn subject(&self, live: bool) -> Subject<'_> {
        let warmup = Time::ZERO + self.job.warmup;
        let depth = self.job.live.target_depth();
        Subject {
            load: self.load,
            warmup,
            live,
            depth,
            detail: self.detail.is_some(),
            requests: self.requests,
            stability: self.stability,
            durable: self.job.stop == Stop::Durable,
        }
    }

    /// The reporter of a run of the classes `names`; `live`: it runs in real time.
    fn reporter<'a>(
        &'a self,
        names: &[&str],
        live: bool,
        progress: &'a mut dyn Progress,
    ) -> Reporter<'a> {
        let duration = self.load.duration;
        let watch = |watch: Watch<'_>| Watched::new(names, duration, watch.window(duration, live));
        let rhythm = match self.watch.and_then(Watch::paced) {
            _ if live => Rhythm::Live,
            Some((_, pace)) => Rhythm::Paced(pace),
            None => Rhythm::Model,
        };
        Reporter::new(duration, progress, rhythm, self.watch.map(watch))
    }

    /// The counter of the class whose requests the run waits for, if it does.
    fn last_sent(&self) -> Option<LastSent> {
        let Stop::Sent(class) = self.job.stop else { return None };
        self.job.workload.requests(class).map(|requests| LastSent::new(class, requests))
    }

    /// The time at which the run ends, whatever is outstanding.
    fn until(&self) -> Time {
        match self.job.stop {
            Stop::Drained | Stop::Durable | Stop::Done(_) | Stop::Sent(_) => Time::NEVER,
            Stop::LastArrival => self.load.last,
            Stop::At(span) => Time::ZERO + span,
        }
    }
}

/// Calls [`run`] with a page cache between the source and `stack`, if there is one; the run may end
/// with the flushes of `flushing`.
fn run_cached(
    cache: Option<&(&PageCacheSpec, &Topology, Ledger)>,
    flushing: Option<Flushing>,
    source: &mut impl Source,
    stack: &mut impl Device,
    clock: &mut impl Clock,
    observer: &mut impl Observer,
    limits: Limits,
) -> Result<End, RunError> {
    let Some((spec, layout, ledger)) = cache else {
        return run(source, stack, clock, observer, limits);
    };
    let stack: &mut dyn Device = stack;
    let mut cache = PageCache::over(&spec.options(), layout, ledger.over(stack, flushing));
    run(source, &mut cache, clock, observer, limits)
}
