"""The pytest fixtures `record` and `explore`: the functions of `pipesim`, with pipesim's reports if
the test fails."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

from pipesim.api import Exploration, Record
from pipesim.api import explore as explore_job
from pipesim.api import record as record_job

_RECORDS = pytest.StashKey[list[Record]]()
_EXPLORATIONS = pytest.StashKey[list[Exploration]]()


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Callable[..., Record]:
    """Returns a function with the arguments of `pipesim.record` that keeps the records for
    the report of a failed test."""
    records: list[Record] = []
    request.node.stash[_RECORDS] = records

    def record_and_remember(*args: Any, **kwargs: Any) -> Record:
        records.append(record_job(*args, **kwargs))
        return records[-1]

    return record_and_remember


@pytest.fixture
def explore(request: pytest.FixtureRequest) -> Callable[..., Exploration]:
    """Returns a function with the arguments of `pipesim.explore` that keeps the answers for the
    report of a failed test."""
    explorations: list[Exploration] = []
    request.node.stash[_EXPLORATIONS] = explorations

    def explore_and_remember(*args: Any, **kwargs: Any) -> Exploration:
        explorations.append(explore_job(*args, **kwargs))
        return explorations[-1]

    return explore_and_remember


@pytest.hookimpl(hookwrapper=True)  # type: ignore[misc]
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" and report.failed:
        for recorded in item.stash.get(_RECORDS, []):
            if recorded.output:
                report.sections.append(("pipesim record", recorded.output))
            for judged in recorded._reports:
                report.sections.append(("pipesim check", judged.text))
        for explored in item.stash.get(_EXPLORATIONS, []):
            report.sections.append(("pipesim explore", explored.text))
