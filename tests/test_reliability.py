"""The page of what the tests show is compared with what they show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.public_cases import CASES, cases_of
from tests.reliability import DOCUMENT, ROWS, Found, document, floor, problems, said

NUMBERS = dict.fromkeys(ROWS, 1000)
SANITIZED = {"address": 90, "thread": 100}
PAGE = document(NUMBERS, SANITIZED)
FOUND = Found(dict.fromkeys(ROWS, 1100), frozenset(CASES), 110, {"thread": 110})


def test_a_page_is_current_where_a_run_shows_a_little_more() -> None:
    assert said(PAGE) == (NUMBERS, SANITIZED)
    assert list(problems(PAGE, FOUND)) == []


@pytest.mark.parametrize("shown", [999, 1_251, 0])
def test_a_run_that_shows_less_or_much_more_is_another_page(shown: int) -> None:
    found = replace(FOUND, counts={**FOUND.counts, "faults": shown})
    (problem,) = problems(PAGE, found)
    assert "faults injected" in problem
    assert f"it says 1,000, this run shows {shown:,}" in problem


def test_a_case_without_a_test_that_passed_is_named() -> None:
    found = replace(FOUND, cases=FOUND.cases - {"INT-7"})
    assert list(problems(PAGE, found)) == ["cases without a test that passed: INT-7"]


def test_other_words_are_another_page() -> None:
    assert list(problems(PAGE.replace("wrong launches | 0", "wrong launches | 1"), FOUND)) == [
        "its words are not those that would be written now"
    ]


@pytest.mark.parametrize("suites", [89, 113])
def test_a_sanitizer_that_did_not_run_is_compared_with_the_tests_that_it_would_run(
    suites: int,
) -> None:
    (problem,) = problems(PAGE, replace(FOUND, suites=suites))
    assert f"the address sanitizer, none with a report: it says 90, this run shows {suites}" in (
        problem
    )


def test_a_sanitizer_that_ran_is_compared_with_its_run() -> None:
    (problem,) = problems(PAGE, replace(FOUND, sanitized={"thread": 99}))
    assert "the thread sanitizer, none with a report: it says 100, this run shows 99" in problem


def test_a_page_without_a_sanitizer_is_another_page() -> None:
    page = document(NUMBERS, {"thread": 100})
    (problem,) = problems(page, FOUND)
    assert "the address sanitizer, none with a report: it says 0" in problem


@pytest.mark.parametrize(("number", "least"), [(0, 0), (9, 8), (103, 99), (12_345, 11_000)])
def test_numbers_are_what_a_run_shows_at_least(number: int, least: int) -> None:
    assert floor(number) == least


def test_ids_are_read_from_the_beginning_of_a_name() -> None:
    assert list(cases_of("test_ptr8_ptr9_a_pointer_of_i8_")) == ["PTR-8", "PTR-9"]
    assert list(cases_of("test_a_launch_of_int7_")) == []
    assert list(cases_of("test_sm90_images")) == []


def test_the_committed_page_has_the_words_of_now() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert document(*said(text)) == text
