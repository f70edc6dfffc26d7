//! How a device misbehaves.

use penstock_core::{Device, Seed, Span};
use penstock_device::{Faults, Rates};
use serde_json::{Value as Json, json};

use crate::diagnose::JobError;
use crate::schema::build::{defined, field, required, table, with, without};
use crate::text::time;
use crate::tree::{Node, Reader};
use crate::units::{self, Share, share_text};

const KEYS: &[&str] = &["errors", "stalls", "stall"];

/// How a device misbehaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FaultSpec {
    /// Requests that fail.
    pub errors: Share,
    /// Requests that stall.
    pub stalls: Share,
    /// For how long.
    pub stall: Span,
}

pub(super) fn read(node: &Node) -> Result<FaultSpec, JobError> {
    let reader = Reader::new(node, "the faults", KEYS)?;
    let errors = reader.optional("errors", units::share)?.unwrap_or(Share::NONE);
    let stalls = reader.optional("stalls", units::share)?.unwrap_or(Share::NONE);
    let stall = if stalls > Share::NONE {
        reader.required("stall", "\"50ms\"", units::duration)?
    } else {
        let hint = "say how many requests stall, as in `stalls = \"0.5%\"`";
        reader.refuse(&["stall"], "says how long requests stall, but none does", hint)?;
        Span::ZERO
    };
    Ok(FaultSpec { errors, stalls, stall })
}

pub(super) fn schema() -> Json {
    let all = table(
        KEYS.iter().copied(),
        vec![
            field("errors", "Requests that fail.", defined("share")).or("0%"),
            field("stalls", "Requests that stall.", defined("share")).or("0%"),
            field("stall", "For how long they stall.", defined("time")),
        ],
    );
    let stalls =
        json!({"required": ["stalls"], "properties": {"stalls": defined("share-above-zero")}});
    with(all, json!({"if": stalls, "then": required(&["stall"]), "else": without(&["stall"])}))
}

impl FaultSpec {
    pub(super) fn text(&self) -> String {
        let [errors, stalls] = [self.errors, self.stalls].map(share_text);
        let mut text = format!("errors = \"{errors}\", stalls = \"{stalls}\"");
        if self.stalls.fraction() > 0.0 {
            text = format!("{text}, stall = {}", time(self.stall));
        }
        format!("{{ {text} }}")
    }

    /// `device`, the disk numbered `number`, misbehaving.
    pub(super) fn over(&self, device: Box<dyn Device>, seed: Seed, number: u32) -> Box<dyn Device> {
        let Self { errors, stalls, stall } = *self;
        let rates = Rates { errors: errors.fraction(), stalls: stalls.fraction(), stall };
        Box::new(Faults::new(device, rates, seed.stream("faults", number.into())))
    }
}
