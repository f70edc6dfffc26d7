//! Every check holds, and the page and the pictures are current.

use penstock_validation::Checks;

#[test]
fn every_check_holds_and_the_page_says_so() {
    let checks = Checks::run();
    assert_eq!(checks.failed(), Vec::<String>::new());
    for (path, text) in checks.files() {
        let written = std::fs::read_to_string(&path).expect("the page or a picture");
        assert!(written == text, "{} is old: `make validate`", path.display());
    }
}
