"""Figures as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.text import units


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (0.5, "0.500 ns"),
        (812, "812 ns"),
        (999.6, "1.00 µs"),
        (1_000, "1.00 µs"),
        (12_345, "12.3 µs"),
        (999_499, "999 µs"),
        (999_500, "1.00 ms"),
        (152_400_000, "152 ms"),
        (2_210_000_000, "2.21 s"),
        (1_234_000_000_000, "1,230 s"),
    ],
)
def test_a_latency_has_three_digits_and_its_unit(ns: float, text: str) -> None:
    assert units.latency(ns) == text


@given(st.floats(min_value=1, max_value=9e11))
def test_a_latency_is_within_half_a_digit_of_what_it_was(ns: float) -> None:
    figure, unit = units.latency(ns).split(" ")
    length = {unit: length for length, unit in units.LENGTHS}[unit]
    assert float(figure.replace(",", "")) * length == pytest.approx(ns, rel=0.00501)
    assert len(figure.replace(".", "").replace(",", "").lstrip("0")) == 3


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (9.996, "10.0"), (0.0819, "0.0819"), (123_456, "123,000"), (99.96, "100")],
)
def test_digits(value: float, text: str) -> None:
    assert units.digits(value) == text


@pytest.mark.parametrize(
    ("per_second", "text"), [(0, "0"), (6.674, "6.67"), (27.5, "27.5"), (123_456.7, "123,457")]
)
def test_a_rate_is_whole_above_a_hundred(per_second: float, text: str) -> None:
    assert units.rate(per_second) == text


@pytest.mark.parametrize(
    ("s", "text"), [(15, "15.0 s"), (600, "10.0 min"), (7200, "2.00 h"), (0.25, "250 ms")]
)
def test_long_times(s: float, text: str) -> None:
    assert units.seconds(s) == text


def test_shares_and_counts() -> None:
    assert units.percent(0.123456) == "12.3 %"
    assert units.count(1234567) == "1,234,567"
    assert units.megabytes(28_900_000) == "28.9"
