//! What a modelled request costs on one core: `cargo bench -p penstock-device --bench hdd`.
//!
//! Random requests on a drive of 50 zones with slips, arms and platter alone: the model by itself
//! (`start` and `advance`), and under the whole loop with a queue of arrivals in front.
#![expect(clippy::disallowed_methods, reason = "a bench reads the machine's clock")]
#![expect(clippy::print_stdout, reason = "a bench reports")]

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

use penstock_core::{
    ClassId, Device, Done, Flags, Go, Io, Limits, Op, Out, Part, Policy, Prio, Queued, ReqId,
    Request, Source, Span, StreamId, Time, Virtual, run,
};
use penstock_device::hdd::{Drive, Hdd, MissOverheads, Options, SeekLaw, Spares, TrackOrder, Zone};

const REQUESTS: u64 = 4_000_000;

fn drive() -> Drive {
    let zone = |index: u32| Zone {
        first_cyl: index * 230,
        last_cyl: index * 230 + 228,
        sectors_per_track: 390 - 3 * index,
        offset: 0.0,
        empty_blocks: 0,
        track_skew: 58.0,
        cyl_skew: 101.0,
        spares: 0,
        slips: (0..u64::from(index % 5)).map(|slip| 1_000 + 7_919 * slip).collect(),
    };
    Drive {
        surfaces: 5,
        cylinders: 11_500,
        rpm: 7_200,
        zones: (0..50).map(zone).collect(),
        spares: Spares::ZoneEnd,
        order: TrackOrder::Normal,
        seek: SeekLaw::ThreePoint {
            single: Span::from_us(1_000),
            average: Span::from_us(7_000),
            full: Span::from_us(13_000),
        },
        head_switch: Span::from_us(62),
        write_settle_ns: 126_000,
        overheads: MissOverheads::default(),
        bus_per_sector: Span::ZERO,
    }
}

/// Random requests, each due when the last one is: a disk that is always busy.
struct Random {
    state: u64,
    left: u64,
    places: u64,
    len: u32,
    due: Time,
    think: Span,
}

impl Random {
    fn next(&mut self) -> Io {
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let place = ((u128::from(z ^ (z >> 31)) * u128::from(self.places)) >> 64) as u64;
        Io {
            due: self.due,
            start: place * 4_096,
            len: self.len,
            stream: StreamId(0),
            class: ClassId(0),
            op: Op::Read,
            prio: Prio(0),
            flags: Flags::NONE,
        }
    }
}

impl Source for Random {
    fn next_due(&self) -> Time {
        if self.left > 0 { self.due } else { Time::NEVER }
    }
    fn take(&mut self, _: Time) -> Option<Io> {
        self.left -= 1;
        let io = self.next();
        self.due += self.think;
        Some(io)
    }
    fn finished(&mut self, _: Time, _: &Request, _: &Done) {}
}

#[derive(Default)]
struct Fifo(VecDeque<ReqId>);

impl Policy for Fifo {
    fn enqueue(&mut self, _: Time, req: &Request) {
        self.0.push_back(req.id);
    }
    fn dispatch(&mut self, _: Time, _: &mut Out<'_>) -> Option<Go> {
        self.0.pop_front().map(Go::all)
    }
    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
}

fn main() {
    // Times between arrivals at which the queue is now empty and now a few requests long.
    for (name, len, think) in [("4 KiB", 4 << 10, 13), ("64 KiB", 64 << 10, 18)] {
        let mut hdd = Hdd::new(&drive(), Options::MECHANICAL).expect("a good drive");
        let places = (hdd.capacity() - u64::from(len)) / 4_096;
        let mut source = Random {
            state: 1,
            left: REQUESTS,
            places,
            len,
            due: Time::ZERO,
            think: Span::from_ms(think),
        };

        let (mut now, mut done) = (Time::ZERO, Vec::new());
        let begun = Instant::now();
        for _ in 0..REQUESTS {
            hdd.start(now, &source.next().with(ReqId { slot: 0, age: 0 }));
            now = hdd.wakeup();
            hdd.advance(now, &mut done);
            black_box(done.pop());
        }
        report(&format!("{name}, the model alone"), begun);

        let mut queued = Queued::new(Fifo::default(), hdd);
        source.due = now;
        let begun = Instant::now();
        run(&mut source, &mut queued, &mut Virtual::default(), &mut (), Limits::default())
            .expect("a run");
        report(&format!("{name}, under the loop"), begun);
    }
}

fn report(name: &str, begun: Instant) {
    let ns = begun.elapsed().as_nanos() as f64 / REQUESTS as f64;
    println!("{name}: {ns:.1} ns a request, {:.2} million a second", 1e3 / ns);
}
