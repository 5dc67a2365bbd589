"""What was read of a run goes as soon as its report is there: nothing waits for a garbage search.

Searches are seldom, so what only they would find stays while the next runs are read.
"""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.evidence import Evidence
from tracelens.traces.reading import Reading

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.mark.parametrize(
    "name",
    [
        "logs/samples/aarch64-bf16-linear.log",
        "rules/IND001-fallback-kernel/fires-cumsum.log",
        "logs/chrome_trace/encoder-compiled-stack.json.gz",
    ],
)
def test_nothing_of_a_run_stays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[weakref.ref[object]] = []
    for kind in (Evidence, Reading):
        begin = kind.__init__

        def noted(self: object, *given: object, _begin=begin, **named: object) -> None:  # type: ignore[no-untyped-def]
            made.append(weakref.ref(self))
            _begin(self, *given, **named)

        monkeypatch.setattr(kind, "__init__", noted)
    was = gc.isenabled()
    gc.disable()
    try:
        report = analyze(str(FIXTURES / name))
        assert made
        assert [one() for one in made if one() is not None] == []
        assert report.inputs
    finally:
        if was:
            gc.enable()
