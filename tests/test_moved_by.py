"""What rules must see to say anything (``Rule.moved_by``): without it they are not imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_start import imported
from tracelens import analyze
from tracelens.plugins import manifest
from tracelens.plugins.facts import RuleFacts, find
from tracelens.plugins.held import Held

FIXTURES = Path(__file__).parent.parent / "fixtures" / "rules"
MOVED = [rule for rule in manifest.current().rules if rule.moved_by]
#: Logs of as many kinds as there are rules, one of each that has something to say.
LOGS = [
    log for folder in sorted(FIXTURES.iterdir()) for log in sorted(folder.glob("fires*.log"))[:1]
]

GUARDS_ALONE = """\
V1120 14:58:01.120000 23420 torch/_dynamo/guards.py:2169] [0/0] [__guards] GUARDS:
V1120 14:58:01.120001 23420 torch/_dynamo/guards.py:2148] [0/0] [__guards] ___skip_backend_check()
"""
TF32 = (
    "/home/ana/env/lib/python3.11/site-packages/torch/_inductor/compile_fx.py:194: UserWarning: "
    "TensorFloat32 tensor cores for float32 matrix multiplication available but not enabled. "
    "Consider setting `torch.set_float32_matmul_precision('high')` for better performance.\n"
    "  warnings.warn(\n"
)


@pytest.mark.parametrize("rule", MOVED, ids=lambda rule: rule.code)
def test_what_moves_a_rule_is_in_tables_that_it_reads(rule: RuleFacts) -> None:
    tables = {table.parameter: table for table in rule.tables}
    for parameter, field, values in rule.moved_by:
        record = find(*tables[parameter].of.split(":"))
        assert not field or field in record.model_fields or hasattr(record, field)
        assert bool(field) == bool(values)


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.parent.name)
def test_a_rule_that_nothing_moves_would_say_nothing(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = analyze(log).model_dump_json()
    monkeypatch.setattr(Held, "moves", lambda held, rule: True)  # noqa: ARG005 -- its signature
    assert analyze(log).model_dump_json() == told


@pytest.mark.parametrize(("text", "said"), [(GUARDS_ALONE, False), (GUARDS_ALONE + TF32, True)])
def test_a_rule_is_imported_where_something_moves_it(
    text: str, *, said: bool, tmp_path: Path
) -> None:
    log = tmp_path / "run.log"
    log.write_text(text)
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    imported(cache, "analyze", str(log))  # all of them, for the index
    modules = imported(cache, "analyze", str(log))
    assert ("ENV002" in {finding.code for finding in analyze(log).findings}) is said
    assert ("tracelens.rules.env.tf32_advice" in modules) is said
    assert "tracelens.rules.env.python_3_13_0_guards" not in modules
