//! A small drive whose times can be computed by hand: 4,096 bytes take 4.096 µs on a channel and
//! 8.192 µs on the link.

use super::*;
use penstock_core::{ClassId, Flags, Prio, Seed, StreamId};
use rand::RngExt;

/// A read of 4 KiB: decoded, fetched, over the channel, over the link with its overhead.
const READ: u64 = 20_000 + 50_000 + 4_096 + 8_192 + 2_000;
/// A write of 4 KiB: decoded and over the link.
const WRITE: u64 = 20_000 + 8_192 + 2_000;
/// A program of 32 KiB: over the channel, into the cells.
const PROGRAM: u64 = 32_768 + 500_000;

fn facts() -> Facts {
    Facts {
        capacity: 1 << 30,
        dies: 4,
        dies_per_chip: 1,
        channels: 2,
        page: 16_384,
        planes: 2,
        block_pages: 1_000,
        read_time: Span::from_us(50),
        program_time: Span::from_us(500),
        erase_time: Span::from_ms(3),
        suspend_time: None,
        channel_rate: 1_000_000_000,
        link: Link {
            rate: 500_000_000,
            full_duplex: false,
            turn: Some(16_384),
            overhead: Span::from_us(2),
        },
        command_overhead: Span::from_us(20),
        command_interval: Span::ZERO,
        write_buffer: 131_072,
        power_loss_protection: true,
        over_provisioning: 0.3,
        depth: 32,
    }
}

fn request(slot: u32, op: Op, start: u64, len: u32) -> Request {
    let io = Io {
        due: Time::ZERO,
        start,
        len,
        stream: StreamId(0),
        class: ClassId(0),
        op,
        prio: Prio(0),
        flags: Flags::NONE,
    };
    io.with(ReqId::new(slot, 0))
}

fn page(nth: u64) -> u64 {
    nth * 16_384
}

/// Starts all requests at once and serves them. Returns when each ended, by slot.
fn serve(ssd: &mut Ssd, requests: &[Request]) -> Vec<u64> {
    for req in requests {
        ssd.start(Time::ZERO, req);
    }
    let mut ended = vec![0; requests.len()];
    for done in drain(ssd) {
        ended[done.id.index()] = done.at.ns();
    }
    ended
}

/// Starts one request and continues to `until`. Returns when it ended.
fn serve_until(ssd: &mut Ssd, until: u64, req: &Request) -> u64 {
    let mut done = Vec::new();
    ssd.start(Time::ZERO, req);
    ssd.advance(Time::from_ns(until), &mut done);
    done[0].at.ns()
}

fn drain(ssd: &mut Ssd) -> Vec<Done> {
    let mut done = Vec::new();
    while ssd.wakeup() != Time::NEVER {
        ssd.advance(ssd.wakeup(), &mut done);
    }
    done
}

fn reads(facts: &Facts, starts: &[u64]) -> Vec<u64> {
    let read = |(slot, &start): (usize, &u64)| request(slot as u32, Op::Read, start, 4096);
    let requests: Vec<Request> = starts.iter().enumerate().map(read).collect();
    serve(&mut Ssd::new(facts), &requests)
}

#[test]
fn a_read_alone_is_the_sum_of_its_parts() {
    assert_eq!(reads(&facts(), &[0]), [READ]);
}

#[test]
fn dies_work_side_by_side_and_the_link_takes_turns() {
    // Two dies on two channels: only the link is shared.
    assert_eq!(reads(&facts(), &[page(0), page(1)]), [READ, READ + 10_192]);
    // Two dies on one channel: the second page has passed it when the first is on the link.
    assert_eq!(reads(&facts(), &[page(0), page(2)]), [READ, READ + 10_192]);
    // One die: it fetches one page after the other, once that before has left over the channel.
    assert_eq!(reads(&facts(), &[page(0), page(4)]), [READ, READ + 50_000 + 4_096]);
    // A third one waits for both, also if it comes when the first is on its way.
    let starts = [page(0), page(4), page(8)];
    assert_eq!(reads(&facts(), &starts)[2], READ + 2 * (50_000 + 4_096));
}

#[test]
fn a_page_that_waits_for_the_channel_holds_up_its_die() {
    // The channel of two dies passes a page in 82 us, and a die fetches one in 50.
    let facts = Facts { channel_rate: 50_000_000, ..facts() };
    let passes = 81_920;
    let fetched = 20_000 + 50_000;
    let ended = reads(&facts, &[page(0), page(2), page(6)]);
    let link = 8_192 + 2_000;
    assert_eq!(ended[..2], [fetched + passes + link, fetched + 2 * passes + link]);
    // The second die begins with its next page when its first has left: the channel is idle then.
    assert_eq!(ended[2], fetched + 2 * passes + 50_000 + passes + link);
}

#[test]
fn dies_of_a_chip_take_commands_together() {
    let facts = Facts { dies: 8, dies_per_chip: 2, ..facts() };
    // Chips of dies 0 and 4, 1 and 5, 2 and 6, 3 and 7; the first and third on one channel.
    let again = READ + 50_000 + 4_096;
    assert_eq!(reads(&facts, &[page(0), page(8)]), [READ, again], "one die");
    assert_eq!(reads(&facts, &[page(0), page(1)]), [READ, READ + 10_192], "two channels");
    // The chip takes the first command at once, and is busy when the second comes.
    assert_eq!(reads(&facts, &[page(0), page(4)]), [READ, again]);
    // Now two wait for the dies of the chip, which begins both when the first page has left; their
    // pages pass in the order of the dies.
    let starts = [page(0), page(4), page(8)];
    assert_eq!(reads(&facts, &starts), [READ, again + 10_192, again]);
}

#[test]
fn a_long_read_uses_the_dies_of_all_chips_together() {
    let facts = Facts { dies_per_chip: 2, ..facts() };
    // Two pages from each die: the link is idle until the first, and then busy.
    let ended = serve(&mut Ssd::new(&facts), &[request(0, Op::Read, 8_192, 131_072)]);
    assert_eq!(ended, [20_000 + 50_000 + 8_192 + 8 * 32_768 + 2_000]);
    // By a faster link, and a page more of the first die: after two pages of its chip have left.
    let link = Link { rate: 16_384_000_000, overhead: Span::ZERO, ..facts.link };
    let facts = Facts { link, ..facts };
    let ended = serve(&mut Ssd::new(&facts), &[request(0, Op::Read, 0, 65_536 + 16_384)]);
    assert_eq!(ended, [20_000 + 50_000 + 2 * 16_384 + 50_000 + 16_384 + 1_000]);
}

#[test]
fn data_go_before_the_commands_of_idle_chips() {
    // Pages take longer on the channel than in a die: the first chip of the channel is idle when its
    // page has left, and waits for that of the second.
    let facts = Facts { dies: 8, dies_per_chip: 2, channel_rate: 50_000_000, ..facts() };
    let passes = 81_920;
    let fetched = 20_000 + 50_000;
    let link = 8_192 + 2_000;
    let ended = reads(&facts, &[page(0), page(2), page(8)]);
    let (first, second) = (fetched + passes, fetched + 2 * passes);
    assert_eq!(ended, [first + link, second + link, second + 50_000 + passes + link]);
}

#[test]
fn a_chip_takes_no_reads_while_one_of_its_dies_programs() {
    let facts = Facts { dies: 8, dies_per_chip: 2, ..facts() };
    let mut ssd = Ssd::new(&facts);
    let passed = 20_000 + 65_536 + 2_000;
    let written = request(0, Op::Write, 0, 32_768);
    assert_eq!(serve_until(&mut ssd, passed, &written), passed);
    // Die 0 programs; die 4 is of the same chip, die 5 is not.
    for (slot, nth) in [(1, 4), (2, 5)] {
        ssd.start(Time::from_ns(200_000), &request(slot, Op::Read, page(nth), 4096));
    }
    let ended: Vec<u64> = drain(&mut ssd).iter().map(|done| done.at.ns()).collect();
    assert_eq!(ended, [200_000 + READ, passed + PROGRAM + READ - 20_000]);
}

#[test]
fn a_long_read_uses_all_dies() {
    let mut ssd = Ssd::new(&facts());
    let ended = serve(&mut ssd, &[request(0, Op::Read, 0, 65_536)]);
    assert_eq!(ended, [20_000 + 50_000 + 16_384 + 4 * 32_768 + 2_000]);
    // Half a page at either end: the first half is on the link soonest, and the die that fetches
    // the other has done so before the link is idle.
    let mut ssd = Ssd::new(&facts());
    let ended = serve(&mut ssd, &[request(0, Op::Read, 8_192, 65_536)]);
    assert_eq!(ended, [20_000 + 50_000 + 8_192 + 4 * 32_768 + 2_000]);
}

#[test]
fn commands_are_taken_up_one_each_interval() {
    let facts = Facts { command_interval: Span::from_us(30), ..facts() };
    assert_eq!(reads(&facts, &[page(0), page(1)]), [READ, READ + 30_000]);
}

#[test]
fn the_controller_fills_its_depth_and_no_more() {
    let mut ssd = Ssd::new(&facts());
    (0..32).for_each(|slot| ssd.start(Time::ZERO, &request(slot, Op::Read, 0, 4096)));
    assert_eq!(ssd.room(), 0);
    assert_eq!(drain(&mut ssd).len(), 32);
    assert_eq!(ssd.room(), 32);
}

#[test]
fn a_write_is_done_when_the_buffer_has_it() {
    let mut ssd = Ssd::new(&facts());
    assert_eq!(serve(&mut ssd, &[request(0, Op::Write, 0, 4096)]), [WRITE]);
}

#[test]
fn a_full_buffer_lets_writes_wait_for_a_program() {
    // 128 KiB pass at once, and fill four pages; a later write waits for the first of these.
    let mut ssd = Ssd::new(&facts());
    let passed = 20_000 + 262_144 + 2_000;
    assert_eq!(serve_until(&mut ssd, passed, &request(0, Op::Write, 0, 131_072)), passed);
    ssd.start(Time::from_ns(passed), &request(1, Op::Write, 131_072, 4096));
    let programmed = 20_000 + 2_000 + 65_536 + PROGRAM;
    assert_eq!(drain(&mut ssd)[0].at.ns(), programmed + 8_192 + 2_000);
}

#[test]
fn a_short_write_waits_for_a_page_of_a_long_one() {
    let mut ssd = Ssd::new(&facts());
    let long = request(0, Op::Write, 0, 131_072);
    let [long, short] = serve(&mut ssd, &[long, request(1, Op::Write, 1 << 20, 4096)])[..] else {
        panic!("two writes")
    };
    let page = 20_000 + 32_768 + 2_000;
    assert_eq!(short, page + 8_192 + 2_000);
    // The short one took room in the buffer, so the end of the long one waits for a program, which
    // begins when the second page of the long one has passed.
    assert_eq!(long, short + 32_768 + PROGRAM + 8_192);
}

#[test]
fn without_turns_a_short_write_waits_for_all_of_a_long_one() {
    let facts = Facts { link: Link { turn: None, ..facts().link }, ..facts() };
    let long = request(0, Op::Write, 0, 65_536);
    let ended = serve(&mut Ssd::new(&facts), &[long, request(1, Op::Write, 1 << 20, 4096)]);
    let long = 20_000 + 131_072 + 2_000;
    assert_eq!(ended, [long, long + 8_192 + 2_000]);
}

#[test]
fn a_link_of_two_directions_lets_writes_pass_reads() {
    let both = |full_duplex| {
        let facts = Facts { link: Link { full_duplex, ..facts().link }, ..facts() };
        let long = request(0, Op::Write, 0, 131_072);
        serve(&mut Ssd::new(&facts), &[long, request(1, Op::Read, page(3), 4096)])[1]
    };
    assert_eq!(both(true), READ);
    // The read is fetched while the second page of the write passes.
    assert_eq!(both(false), 20_000 + 2_000 + 2 * 32_768 + 8_192 + 2_000);
}

#[test]
fn a_short_read_waits_for_a_page_of_each_long_one() {
    let mut ssd = Ssd::new(&facts());
    let long = |slot| request(slot, Op::Read, u64::from(slot) << 20, 1 << 20);
    let mut all: Vec<Request> = (0..8).map(long).collect();
    // Its die fetches it behind their pages; by then most of these wait for the link.
    all.push(request(8, Op::Read, 0, 4096));
    let ended = serve(&mut ssd, &all);
    let fetched = 20_000 + 8 * 16 * (50_000 + 16_384) + 50_000 + 4_096;
    assert!(ended[8] <= fetched + 8 * 32_768 + 10_192, "{ended:?}");
    assert_eq!(ended[..8].iter().filter(|&&long| long > ended[8]).count(), 7);
}

#[test]
fn reads_wait_for_a_program_or_suspend_it() {
    let read_at = |suspend_time| {
        // Enough spare flash that one program owes no collection.
        let mut ssd = Ssd::new(&Facts { suspend_time, over_provisioning: 1.0, ..facts() });
        ssd.start(Time::ZERO, &request(0, Op::Write, 0, 32_768));
        let mut done = Vec::new();
        ssd.advance(Time::from_ns(100_000), &mut done);
        ssd.start(Time::from_ns(100_000), &request(1, Op::Read, 0, 4096));
        drain(&mut ssd)[0].at.ns() - 100_000
    };
    assert_eq!(read_at(Some(Span::from_us(15))), READ + 15_000);
    let programmed = 20_000 + 65_536 + 2_000 + PROGRAM;
    assert_eq!(read_at(None), programmed - 100_000 + READ - 20_000);
}

#[test]
fn a_flush_waits_for_the_cells_unless_they_do_not_matter() {
    for (power_loss_protection, expected) in [(true, 22_000), (false, PROGRAM + 22_000)] {
        let mut ssd = Ssd::new(&Facts { power_loss_protection, ..facts() });
        ssd.start(Time::ZERO, &request(0, Op::Write, 0, 4096));
        let mut done = Vec::new();
        let written = Time::from_ns(WRITE);
        ssd.advance(written, &mut done);
        assert_eq!(done.len(), 1);
        ssd.start(written, &request(1, Op::Flush, 0, 0));
        assert_eq!(drain(&mut ssd)[0].at.since(written).ns(), expected);
        let now = Time::from_ns(10_000_000);
        ssd.start(now, &request(1, Op::Flush, 0, 0));
        assert_eq!(drain(&mut ssd)[0].at.since(now).ns(), 22_000, "there is nothing left");
    }
}

#[test]
fn a_write_with_fua_is_in_the_cells() {
    for (power_loss_protection, expected) in [(true, WRITE), (false, WRITE + PROGRAM + 2_000)] {
        let mut ssd = Ssd::new(&Facts { power_loss_protection, ..facts() });
        let mut write = request(0, Op::Write, 0, 4096);
        write.io.flags = Flags::FUA;
        assert_eq!(serve(&mut ssd, &[write]), [expected]);
    }
}

/// Returns the bytes a second of writes of `len` bytes at depth 32, over ten seconds.
fn sustained(facts: &Facts, len: u32, random: bool) -> f64 {
    let mut ssd = Ssd::new(facts);
    let mut rng = Seed(1).stream("writes", 0);
    let (mut done, mut now, mut nth) = (Vec::new(), Time::ZERO, 0);
    while now < Time::ZERO + Span::from_secs(10) {
        while ssd.room() > 0 {
            let slots = facts.capacity / u64::from(len);
            let slot = if random { rng.random_range(0..slots) } else { nth % slots };
            ssd.start(now, &request(0, Op::Write, slot * u64::from(len), len));
            nth += 1;
        }
        now = ssd.wakeup();
        ssd.advance(now, &mut done);
    }
    done.len() as f64 * f64::from(len) / 10.0
}

#[test]
fn what_it_sustains_is_what_collection_leaves() {
    // No erasures, and a buffer that always has a page for each die.
    let facts = Facts { block_pages: 1_000_000, write_buffer: 1 << 20, ..facts() };
    let collect = 500e-6 + 50e-6 / (1.0 - 1.0 / 2.3614) + 2.0 * 32_768e-9;
    let program = PROGRAM as f64 / 1e9;
    // Two dies share a channel, which is never the slower part.
    let random = 4.0 * 32_768.0 / (program + 1.3614 * collect);
    let sequential = 4.0 * 32_768.0 / program;
    for (rate, expected) in [
        (sustained(&facts, 4096, true), random),
        (sustained(&facts, 65_536, true), random),
        (sustained(&facts, 4096, false), sequential),
    ] {
        assert!((rate / expected - 1.0).abs() < 0.03, "{rate} is not about {expected}");
    }
}

/// Moves 256 MiB in pieces of `len` with 16 MiB in flight. Returns how long it took.
fn moves(facts: &Facts, op: Op, len: u32, random: bool) -> f64 {
    const ALL: u64 = 256 << 20;
    const IN_FLIGHT: u64 = 16 << 20;
    let mut ssd = Ssd::new(&Facts { depth: 256, ..facts.clone() });
    let mut rng = Seed(1).stream("moves", 0);
    let (mut done, mut now) = (Vec::new(), Time::ZERO);
    let (mut requested, mut moved) = (0, 0);
    while moved < ALL {
        while requested < ALL && requested - moved < IN_FLIGHT {
            let places = facts.capacity / u64::from(len);
            let nth = if random { rng.random_range(0..places) } else { requested / u64::from(len) };
            ssd.start(now, &request(0, op, nth * u64::from(len), len));
            requested += u64::from(len);
        }
        now = ssd.wakeup();
        ssd.advance(now, &mut done);
        moved += done.drain(..).map(|completion| u64::from(completion.len)).sum::<u64>();
    }
    now.ns() as f64
}

#[test]
fn the_same_bytes_take_the_same_time_in_any_pieces() {
    // A command's own time on the link is left out: more commands take more of it.
    let link =
        Link { rate: 5_000_000_000, full_duplex: true, turn: Some(16_384), overhead: Span::ZERO };
    let facts = Facts { dies: 16, channels: 8, link, block_pages: 64, ..facts() };
    // Large, so that writes at random places rarely form a run.
    let facts = Facts { write_buffer: 4 << 20, over_provisioning: 0.1, capacity: 1 << 40, ..facts };
    for (op, random) in [(Op::Read, false), (Op::Read, true), (Op::Write, false), (Op::Write, true)]
    {
        let whole = moves(&facts, op, 8 << 20, random);
        for len in [64 << 10, 256 << 10, 1 << 20, 4 << 20] {
            let cut = moves(&facts, op, len, random);
            assert!(
                (cut / whole - 1.0).abs() < 0.02,
                "{op:?} random {random} {len}: {cut} {whole}"
            );
        }
    }
}

/// Returns the mean time of reads of 4 KiB, one at a time, next to a stream of writes in pieces of
/// `len`.
fn reads_next_to_writes(len: u32) -> f64 {
    let link =
        Link { rate: 5_000_000_000, full_duplex: true, turn: Some(16_384), overhead: Span::ZERO };
    let suspend_time = Some(Span::from_us(20));
    let facts = Facts { dies: 16, channels: 8, link, suspend_time, depth: 512, ..facts() };
    let mut ssd = Ssd::new(&Facts { write_buffer: 4 << 20, ..facts });
    let mut rng = Seed(1).stream("reads", 0);
    let read = |rng: &mut penstock_core::Rng| {
        request(0, Op::Read, rng.random_range(0..1 << 16) * 4096, 4096)
    };
    let write = |nth: u64| request(1, Op::Write, (1 << 29) + nth * u64::from(len), len);
    let (mut done, mut now, mut times) = (Vec::new(), Time::ZERO, Vec::new());
    let mut next = u64::from((16 << 20) / len);
    (0..next).for_each(|nth| ssd.start(now, &write(nth)));
    ssd.start(now, &read(&mut rng));
    while times.len() < 2_000 {
        now = ssd.wakeup();
        ssd.advance(now, &mut done);
        for completion in done.drain(..) {
            if completion.id.index() == 0 {
                times.push(now.since(completion.begun).ns() as f64);
                ssd.start(now, &read(&mut rng));
            } else {
                ssd.start(now, &write(next % (u64::from((1 << 29) / len))));
                next += 1;
            }
        }
    }
    times.iter().sum::<f64>() / times.len() as f64
}

#[test]
fn reads_do_not_feel_how_a_stream_of_writes_is_cut() {
    let short = reads_next_to_writes(64 << 10);
    let long = reads_next_to_writes(8 << 20);
    assert!((short / long - 1.0).abs() < 0.1, "{short} {long}");
}

#[test]
fn beyond_the_end_is_an_error_of_the_medium() {
    let mut ssd = Ssd::new(&facts());
    for op in [Op::Read, Op::Write] {
        ssd.start(Time::ZERO, &request(0, op, (1 << 30) - 512, 1024));
        assert_eq!(drain(&mut ssd)[0].error, Some(Errno::EIO));
    }
}

#[test]
fn a_discard_costs_a_command() {
    let mut ssd = Ssd::new(&facts());
    assert_eq!(serve(&mut ssd, &[request(0, Op::Discard, 0, 1 << 20)]), [22_000]);
}

/// Every request ends once, and the sum of device times is the time in which any was in flight.
#[test]
fn every_request_is_done_once_and_device_time_is_busy_time() {
    let facts = Facts { suspend_time: Some(Span::from_us(10)), ..facts() };
    let mut ssd = Ssd::new(&Facts { power_loss_protection: false, ..facts });
    let mut rng = Seed(7).stream("mix", 0);
    let mut now = Time::ZERO;
    for _ in 0..1_000 {
        let (begun, mut open, mut charged) = (now, Vec::new(), 0);
        for _ in 0..40 {
            let slot = open.len() as u32;
            let op = [Op::Read, Op::Write, Op::Write, Op::Flush][rng.random_range(0..4)];
            let len = if op == Op::Flush { 0 } else { rng.random_range(1..200_000) };
            let mut req = request(slot, op, rng.random_range(0..1 << 29), len);
            req.io.flags = if rng.random_range(0..9) == 0 { Flags::FUA } else { Flags::NONE };
            ssd.start(now, &req);
            open.push(true);
            // Until there is room, and now and then until nothing is left.
            while ssd.room() == 0 || slot == 39 && ssd.room() < 32 {
                let mut done = Vec::new();
                now = ssd.wakeup();
                ssd.advance(now, &mut done);
                for completion in done {
                    assert!(
                        std::mem::take(&mut open[completion.id.index()]),
                        "{completion:?} came twice"
                    );
                    assert!(completion.error.is_none() && completion.at == now);
                    charged += completion.service.ns();
                }
            }
        }
        assert!(!open.contains(&true));
        assert_eq!(charged, now.since(begun).ns());
        // Its remaining work for writes belongs to no request, whether it ends by then or not.
        now += Span::from_us(rng.random_range(0..2_000));
        ssd.advance(now, &mut Vec::new());
    }
}
