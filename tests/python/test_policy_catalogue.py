"""The page of all policies is what comes out, and has all of them."""

import policy_catalogue


def test_the_page_is_current() -> None:
    assert policy_catalogue.PAGE.read_text() == policy_catalogue.page(), "run `make policies`"
