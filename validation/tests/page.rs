//! Every check holds, and the page says what comes out.

use penstock_validation::{page, sections};

#[test]
fn every_check_holds_and_the_page_says_so() {
    let sections = sections();
    for case in sections.iter().flat_map(|section| &section.cases) {
        assert!(case.holds(), "{case:#?}");
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/validation.md");
    let written = std::fs::read_to_string(path).expect("the page");
    assert!(written == page::page(&sections), "docs/validation.md is old: `make validate`");
}
