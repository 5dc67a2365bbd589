"""Numbers that count: a package makes a size of them, and Dynamo can capture them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.test_recompile_advice import ids
from tracelens import analyze
from tracelens.rules.gbr._values import counts


@pytest.mark.parametrize(
    ("code", "is_count"),
    [
        ("maxm = int(idx_m[-1]) + 1", True),
        ("size = int(batch.max().item() + 1) if size is None else size", True),
        ("n = index.max().item() + 1", True),
        ('total = input.get("total", int(num_atoms.sum()))', True),
        ("level = int(self.levels.max())", False),  # the largest value, of anything
        ("loss = losses.sum().item()", False),
        ("parent = chain[int(parents[-1])] + 1", False),  # an item of a list
        ("k = int(math.sqrt(x)) + 1", False),
    ],
)
def test_a_count_is_told_by_how_it_is_made(code: str, is_count: bool) -> None:
    assert counts(code) is is_count


BREAK = """Graph break in user code at /home/ana/proj/.venv/lib/python3.12/site-packages/odd/{file}:8
Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call, e.g. f(x):

Unsupported Tensor.item() call with capture_scalar_outputs=False
  Explanation: Dynamo does not support tracing `Tensor.item()` with config.capture_scalar_outputs=False.
  Developer debug context: call_method TensorVariable() item () {{}}

User code traceback:
  File "/home/ana/proj/app.py", line 12, in <module>
    out = fast(batch)
  File "/home/ana/proj/.venv/lib/python3.12/site-packages/odd/{file}", line 8, in forward
    {code}
"""  # noqa: E501 -- lines of a log


GUARDS = (
    "V1127 04:00:01.000000 7 torch/_dynamo/guards.py:4483] [1/0] [__guards] TREE_GUARD_MANAGER:\n"
    "V1127 04:00:01.000000 7 torch/_dynamo/guards.py:4483] [1/0] [__guards] +- RootGuardManager\n"
    "V1127 04:00:01.000000 7 torch/_dynamo/guards.py:4483] [1/0] [__guards] | +- TYPE_MATCH: "
    "___check_type_id(L['self'], 1240), type=<class 'torch.nn.modules.activation.{}'>\n"
)


def told(codes: dict[str, str], folder: Path, guards: str = "") -> list[list[str]]:
    records = [
        "".join(
            "V1127 04:00:00.000000 7 torch/_dynamo/symbolic_convert.py:5124] "
            f"[{n}/0] [__graph_breaks] {line}\n"
            for line in BREAK.format(file=file, code=code).split("\n")
        )
        for n, (file, code) in enumerate(codes.items())
    ]
    (folder / "run.log").write_text("".join(records) + guards)
    report = analyze(folder / "run.log")
    return [ids(one) for one in report.findings if one.code == "GBR001"]


def test_a_count_in_a_package_is_captured(tmp_path: Path) -> None:
    assert [one[0] for one in told({"pool.py": "n = int(index[-1]) + 1"}, tmp_path)] == [
        "capture-count"
    ]


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("other.py", "part = parts[int(parents[0])]"),
        ("other.py", "width = int(widths[0])"),
    ],
)
def test_no_setting_that_another_line_fails_with(file: str, code: str, tmp_path: Path) -> None:
    found = told({"pool.py": "n = int(index[-1]) + 1", file: code}, tmp_path)
    assert found
    assert not any("capture-count" in one for one in found)


def test_attention_of_torch_is_in_the_way(tmp_path: Path) -> None:
    count = {"pool.py": "n = int(index[-1]) + 1"}
    assert "capture-count" in told(count, tmp_path, guards=GUARDS.format("Linear"))[0]
    attention = GUARDS.format("MultiheadAttention")
    assert "capture-count" not in told(count, tmp_path, guards=attention)[0]
