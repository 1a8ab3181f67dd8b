"""Hypothesis profiles, the option that rewrites corpus files, and what a long run counts."""

import os

import pytest
from hypothesis import HealthCheck, settings

from jsonrepair_lark import api

# Each example of a prefix law runs a few hundred repairs, so no profile has a deadline.
settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=60, deadline=None, derandomize=True, print_blob=True)
settings.register_profile(
    "soak",
    max_examples=2500,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# Streams parse each piece by itself here, which is what the laws are about.
api.BATCH_CHARACTERS = 0  # type: ignore[misc]  # a constant for everybody else
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "dev")
settings.load_profile(PROFILE)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-corpus",
        action="store_true",
        help="rewrite the expected sections of tests/corpus with what the library gives now",
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many prefixes were refused and closed, under the long profile."""
    if PROFILE != "soak":
        return
    # Imported here: other profiles get by without it, even where the library can't be imported.
    from .support.laws import tally

    terminalreporter.section("prefixes of generated documents")
    for name, count in sorted(tally.items()):
        terminalreporter.write_line(f"{name}: {count:,}")
