//! What holds for every policy and for the whole stack: one module a subject.

mod anticipatory;
mod array;
mod behaviour;
mod classic;
mod closed_replay;
mod conformance;
mod contract;
mod elevator;
mod following;
mod generated;
mod golden;
mod linux_mq;
mod linux_slices;
mod max_queued;
mod page_cache;
mod protection;
mod seeds;
mod shares;
mod token_bucket;
mod trace_properties;
mod unscheduled;
mod write_back;
