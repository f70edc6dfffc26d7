//! Policies that follow another scheduler: whatever that one sends, they lose nothing and send nothing
//! twice.

use std::collections::BTreeMap;

use penstock_core::{
    ClassId, ClassInfo, Flags, Io, IoClass, IoPrio, Op, Out, Part, Prio, ReqId, Request, Served,
    Span, StreamId, Time,
};
use penstock_device::{Cost, Fixed, Law};
use penstock_policy::POLICIES;
use proptest::prelude::*;

/// Generates the place of a request, its operation, and its class.
fn any_request() -> impl Strategy<Value = (u64, bool, u16)> {
    (0_u64..50, any::<bool>(), 0_u16..3)
}

fn request(slot: u32, (block, writes, class): (u64, bool, u16)) -> Request {
    let op = if writes { Op::Write } else { Op::Read };
    let io = Io {
        due: Time::ZERO,
        start: block * 4096,
        len: 4096,
        stream: StreamId(0),
        class: ClassId(class),
        op,
        prio: Prio(0),
        flags: Flags::of_program(op),
    };
    io.with(ReqId::new(slot, 0))
}

proptest! {
    #[test]
    fn what_another_scheduler_sent_is_not_sent_again(
        requests in prop::collection::vec(any_request(), 1..60),
        sent in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
        step_ms in 0_u64..400,
    ) {
        let classes = [IoClass::RealTime, IoClass::BestEffort, IoClass::Idle]
            .map(|class| ClassInfo { ioprio: IoPrio::new(class, 4).unwrap(), ..ClassInfo::new("") });
        let served = Served { classes: &classes, ..Served::ONE_DISK };
        let law = Law::of(Cost::Linear { base: Span::from_ms(1), per_mb: Span::ZERO });
        let below = Fixed::with(law, law, 4, 1 << 40);
        for entry in POLICIES {
            let Some(build) = entry.facts.follower else { continue };
            let mut policy = build(&entry.unmerged(entry.defaults()), &served);
            let mut now = Time::ZERO;
            let mut waiting = BTreeMap::new();
            for (slot, &drawn) in (0..).zip(&requests) {
                let request = request(slot, drawn);
                policy.enqueue(now, &request);
                waiting.insert(request.id, request);
            }
            let whole = |now| Part { at: now, service: Span::ZERO, len: 4096, last: true, error: None };
            for index in &sent {
                now += Span::from_ms(step_ms);
                if waiting.is_empty() {
                    break;
                }
                let id = *waiting.keys().nth(index.index(waiting.len())).expect("it is there");
                let request = waiting.remove(&id).expect("it waits");
                policy.follow(now, &request);
                policy.complete(now, &request, &whole(now));
            }
            let mut chain = Vec::new();
            while !waiting.is_empty() {
                let go = policy.dispatch(now, &mut Out { chain: &mut chain, below: &below });
                let Some(go) = go else {
                    prop_assert!(policy.wakeup() > now && policy.wakeup() != Time::NEVER);
                    now = policy.wakeup();
                    continue;
                };
                prop_assert!(chain.is_empty(), "{} merges nothing", entry.name);
                let request = waiting.remove(&go.id);
                let request = request.expect("it was not sent before");
                policy.complete(now, &request, &whole(now));
            }
            let go = policy.dispatch(now, &mut Out { chain: &mut chain, below: &below });
            prop_assert_eq!(go, None);
        }
    }
}
