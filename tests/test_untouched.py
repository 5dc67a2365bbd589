"""What is replaced in ours is put back; what ours does to itself is no replacement."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.warm import ROOT
from tracelens import Finding, analyze, report
from tracelens.plugins import untouched
from tracelens.plugins.untouched import put_back, remember
from tracelens.rules import Rule

LOGS = sorted((ROOT / "fixtures" / "logs" / "samples").glob("*.log"))


@pytest.fixture(autouse=True)
def whole(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Begin with what there is now, whatever other tests had replaced; leave it as it was."""
    monkeypatch.setattr(untouched, "_held", {})
    remember()
    yield
    put_back({"pack"})


def made(code: str) -> ModuleType:
    """Return a module of a pack."""
    module = ModuleType("pack.module")
    exec(code, vars(module))  # noqa: S102 -- written below
    return module


def test_our_own_work_is_no_replacement() -> None:
    assert LOGS
    for log in LOGS:
        analyze(str(log)).model_dump_json()
    assert put_back({"pack"}) == []


def test_methods_constants_and_functions_are_put_back() -> None:
    pack = made("def other(*args, **named):\n    return ()\n")
    before = (Rule.finding, report.Severity, json.dumps)
    Rule.finding = pack.other  # type: ignore[method-assign]
    report.Severity = None  # type: ignore[misc, assignment]
    json.dumps = pack.other
    names = {one.name: one.by for one in put_back({"pack"})}
    assert (Rule.finding, report.Severity, json.dumps) == before
    assert {name.rpartition(".")[2] for name in names} == {"finding", "Severity", "dumps"}
    assert put_back({"pack"}) == []


def test_what_others_do_to_the_standard_library_is_theirs() -> None:
    before = json.dumps
    try:
        json.dumps = lambda *_, **__: ""
        assert put_back({"pack"}) == []
    finally:
        json.dumps = before


def test_an_added_method_goes() -> None:
    pack = made("def other(*args, **named):\n    return 'x'\n")
    assert "__str__" not in vars(Finding)
    Finding.__str__ = pack.other  # type: ignore[method-assign]
    assert [one.by for one in put_back({"pack"})] == ["pack"]
    assert "__str__" not in vars(Finding)
