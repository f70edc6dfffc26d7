//! The list of all policies.

use alloc::string::String;

use crate::entry::Entry;

/// Declares the list of policies and that of their source files.
macro_rules! policies {
    ($(crate::$name:ident::ENTRY,)*) => {
        /// Every policy, in the order in which `penstock list policies` prints them.
        pub static POLICIES: &[Entry] = &[$(crate::$name::ENTRY,)*];

        /// The source file of each policy, in the same order.
        static FILES: &[&str] = &[$(include_str!(concat!(stringify!($name), ".rs")),)*];
    };
}

policies![
    crate::fcfs::ENTRY,
    crate::noop::ENTRY,
    crate::deadline::ENTRY,
    crate::cfq::ENTRY,
    crate::elevator::ENTRY,
    crate::anticipatory::ENTRY,
    crate::mq_deadline::ENTRY,
    crate::kyber::ENTRY,
    crate::bfq::ENTRY,
    crate::size_priority::ENTRY,
    crate::sstf::ENTRY,
    crate::c_look::ENTRY,
    crate::look::ENTRY,
    crate::scan::ENTRY,
    crate::sptf::ENTRY,
    crate::class_priority::ENTRY,
    crate::round_robin::ENTRY,
    crate::read_first::ENTRY,
    crate::max_queued::ENTRY,
    crate::fairio::ENTRY,
    crate::sfq::ENTRY,
    crate::token_bucket::ENTRY,
    crate::latency_target::ENTRY,
    crate::iocost::ENTRY,
    crate::mclock::ENTRY,
];

/// The policies that are compared if none are named: few, and as different as possible.
pub const USUAL: &[&str] = &["noop", "deadline", "cfq", "class-priority", "size-priority"];

/// The word that stands for every policy in a list of names.
pub const ALL: &str = "all";

/// The policy called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    POLICIES.iter().find(|entry| entry.name == name)
}

/// Returns the module documentation of `entry`: paragraphs on its rule, use, promise and source.
/// `None` if it is not registered.
pub fn text(entry: &Entry) -> Option<String> {
    let number = POLICIES.iter().position(|known| known.name == entry.name)?;
    let lines = FILES[number].lines().map_while(|line| line.strip_prefix("//!"));
    let mut text = String::new();
    for line in lines {
        text.push_str(line.strip_prefix(' ').unwrap_or(line));
        text.push('\n');
    }
    // Removes the brackets of rustdoc links.
    Some(text.replace("[`", "`").replace("`]", "`"))
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn each_policy_has_the_text_of_its_module() {
        for entry in POLICIES {
            let text = text(entry).expect("it is registered");
            assert!(text.lines().count() > 3 && text.ends_with(".\n"), "{}: {text}", entry.name);
            let uses = text.split("\n\n").filter(|paragraph| paragraph.starts_with("Use it "));
            assert_eq!(uses.count(), 1, "{}: {text}", entry.name);
        }
    }

    /// The page about the schedulers of Linux is made of these paragraphs.
    #[test]
    fn a_scheduler_of_linux_has_a_rule_of_five_lines_a_use_and_what_it_leaves_out() {
        for entry in POLICIES.iter().filter(|entry| entry.facts.linux.is_some()) {
            let text = text(entry).expect("it is registered");
            let paragraphs: Vec<&str> = text.split("\n\n").collect();
            assert_eq!(paragraphs[0].lines().count(), 1, "{}: {text}", entry.name);
            assert!(paragraphs[1].lines().count() <= 5, "{}: {text}", entry.name);
            for (number, begins) in [(2, "Use it "), (paragraphs.len() - 1, "Source: ")] {
                assert!(paragraphs[number].starts_with(begins), "{}: {text}", entry.name);
            }
            for begins in ["Promise", "What it leaves out: "] {
                let count = paragraphs.iter().filter(|text| text.starts_with(begins)).count();
                assert_eq!(count, 1, "{} has `{begins}` so often: {text}", entry.name);
            }
        }
    }
}
