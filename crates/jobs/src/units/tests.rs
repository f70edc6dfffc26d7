//! Quantities: accepted and refused texts, and that written quantities read back.

use super::*;
use proptest::prelude::*;

#[test]
fn quantities_are_read_exactly() {
    assert_eq!(parse_size("4KiB").unwrap(), 4096);
    assert_eq!(parse_size("1.5 GiB").unwrap(), 3 << 29);
    assert_eq!(parse_size("10MB").unwrap(), 10_000_000);
    assert_eq!(parse_duration("0.9ms").unwrap(), Span::from_us(900));
    assert_eq!(parse_duration("29µs").unwrap(), Span::from_us(29));
    assert_eq!(parse_duration("1d").unwrap(), Span::from_secs(86_400));
    let rate = |text| rate_text(parse_rate(text).unwrap());
    assert_eq!(rate("1200/min"), "20/s");
    assert_eq!(rate("3/ms"), "3000/s");
    assert_eq!(parse_share("12.5%").unwrap().of(800), 100);
}

#[test]
fn what_is_no_quantity_says_so() {
    let table = [
        ("", "expected a size, found nothing"),
        ("KiB", "expected a size, found `KiB`"),
        ("1.2.3B", "expected a size, found `1.2.3B`"),
        ("1.B", "expected a size, found `1.B`"),
        ("-4KiB", "`-4KiB` is negative; expected a size"),
        ("NaN", "expected a size, found `NaN`"),
        ("4096", "4096 has no unit; expected a size"),
        ("10ms", "expected a size, found a length of time: `10ms`"),
        ("4kb", "unknown unit `kb` in `4kb`"),
        ("0.3B", "`0.3B` is not a whole number of bytes"),
        ("99999999TiB", "`99999999TiB` is too large"),
        ("9999999999999999999999999999999999999999B", "is too large"),
    ];
    for (text, message) in table {
        let error = parse_size(text).unwrap_err();
        assert!(error.message().contains(message), "{text}: {error}");
    }
    assert!(parse_share("101%").is_err());
    assert!(parse_rate("2000000/us").is_err());
    assert!(parse_duration("0.1ns").is_err());
}

#[test]
fn no_quantity_is_so_large_that_sums_of_it_overflow() {
    assert_eq!(parse_size("1024TiB").unwrap(), SIZE_MOST);
    assert_eq!(parse_duration("10000d").unwrap(), SPAN_MOST);
    let hint = parse_size("1025TiB").unwrap_err().to_string();
    assert!(hint.ends_with("hint: a size is at most `1024TiB`"), "{hint}");
    for days in ["10001d", "106751d", "99999999d"] {
        let hint = parse_duration(days).unwrap_err().to_string();
        assert!(hint.ends_with("hint: a length of time is at most `10000d`"), "{hint}");
    }
}

#[test]
fn units_that_are_nearly_right_are_understood() {
    let hint = |text| parse_size(text).unwrap_err().to_string();
    assert!(hint("4k").ends_with("did you mean `4kB` or `4KiB`?"), "{}", hint("4k"));
    assert!(hint("4KB").ends_with("did you mean `4kB`?"), "{}", hint("4KB"));
    assert!(hint("4Kib").ends_with("did you mean `4KiB`?"), "{}", hint("4Kib"));
}

#[test]
fn texts_are_short() {
    assert_eq!(size_text(65_536), "64KiB");
    assert_eq!(size_text(10_000), "10kB");
    assert_eq!(size_text(1_000_001), "1000001B");
    assert_eq!(size_text(0), "0B");
    assert_eq!(duration_text(Span::from_secs(600)), "10min");
    assert_eq!(duration_text(Span::from_secs(90)), "90s");
    assert_eq!(duration_text(Span::from_us(1_500)), "1.5ms");
    assert_eq!(duration_text(Span::ZERO), "0s");
    assert_eq!(rate_text(0.5), "0.5/s");
    assert_eq!(share_text(parse_share("12.50%").unwrap()), "12.5%");
}

proptest! {
    #[test]
    fn what_is_written_reads_back(
        amount in prop_oneof![0..=SPAN_MOST.ns(), (0..4096_u64).prop_map(|n| n << 20), 0..10_000_u64],
        rate in 0.0..RATE_MAX,
        part in 0..=Share::WHOLE.0,
    ) {
        let bytes = amount.min(SIZE_MOST);
        prop_assert_eq!(parse_size(&size_text(bytes)).unwrap(), bytes);
        let span = Span::from_ns(amount);
        prop_assert_eq!(parse_duration(&duration_text(span)).unwrap(), span);
        prop_assert_eq!(parse_rate(&rate_text(rate)).unwrap().to_bits(), rate.to_bits());
        prop_assert_eq!(parse_share(&share_text(Share(part))).unwrap(), Share(part));
    }

    #[test]
    fn no_text_panics(text in "[-+0-9.eE a-zA-Z%/µ]{0,24}|\\PC{0,12}") {
        let _ = (parse_size(&text), parse_duration(&text));
        let _ = (parse_rate(&text), parse_share(&text));
    }
}
