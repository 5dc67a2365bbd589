"""Recompiles and graph breaks: what the rules conclude from the history of a function."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.corpus import cases, log_of, needs_corpus
from tracelens import analyze
from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import sites
from tracelens.dynamo.recompile_history import Series, histories, series, settles
from tracelens.engine import judge, select_rules
from tracelens.evidence import Evidence
from tracelens.logs._checks import Comment
from tracelens.logs._stack import StackFrame
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.recompiles import Recompile
from tracelens.report import Finding, Severity
from tracelens.source import read

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
CODES = [
    "GBR001",
    "GBR002",
    "GBR003",
    "GBR012",
    "RCP001",
    "RCP002",
    "RCP003",
    "RCP004",
    "RCP023",
]
SIZE = "tensor '{}' size mismatch at index {}. expected {}, actual {}"
OBJECT = "___check_obj_id(func.__code__, 94296119093600), type=<class 'code'>"


def log(tmp_path: Path, *records: tuple[str, str, list[str]]) -> Evidence:
    """Read a log of recompiles: (compile id, function, failed guards)."""
    lines = []
    for number, (frame, function, failures) in enumerate(records):
        prefix = f"V1120 10:34:{number:02}.000000 7 torch/_dynamo/guards.py:5396] [{frame}]"
        texts = [
            f"Recompiling function {function} in /home/ana/proj/model.py:8",
            "    triggered by the following guard failure(s):",
            *(f"    - {failure}" for failure in failures),
        ]
        lines += [f"{prefix} [__recompiles] {text}" for text in texts]
    path = tmp_path / "run.log"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read([str(path)])[0]


def unsettled(evidence: Evidence) -> list[Series]:
    return [s for s in series(histories(evidence.table(Recompile))) if not settles(s)]


def test_a_size_that_changes_once_per_dimension_settles(tmp_path: Path) -> None:
    evidence = log(
        tmp_path,
        ("0/1", "f", ["0/0: " + SIZE.format("x", 1, 17, 23)]),
        ("0/2", "f", ["0/1: " + SIZE.format("x", 0, 4, 2), "0/0: " + SIZE.format("x", 0, 4, 2)]),
    )
    assert unsettled(evidence) == []


def test_a_size_that_is_held_static_does_not(tmp_path: Path) -> None:
    evidence = log(
        tmp_path,
        ("0/1", "f", ["0/0: " + SIZE.format("x", 0, 4, 8)]),
        ("0/2", "f", ["0/1: " + SIZE.format("x", 0, 8, 16), "0/0: " + SIZE.format("x", 0, 4, 16)]),
        ("0/3", "f", ["0/0: " + SIZE.format("x", 0, 4, 9), "0/2: " + SIZE.format("x", 0, 16, 9)]),
    )
    (values,) = unsettled(evidence)
    assert values.subject == ("f", "/home/ana/proj/model.py", 8, "x", 0)
    assert values.values == ["4", "8", "16", "9"]


def test_two_models_in_one_wrapper_are_two_histories(tmp_path: Path) -> None:
    evidence = log(
        tmp_path,
        ("0/1", "wrapper", ["0/0: " + SIZE.format("x", 0, 4, 8)]),
        ("0/2", "wrapper", [f"0/1: {OBJECT}", f"0/0: {OBJECT}"]),
        (
            "0/3",
            "wrapper",
            [
                "0/2: " + SIZE.format("x", 0, 4, 8),
                f"0/1: {OBJECT}",
                "0/0: " + SIZE.format("x", 0, 4, 8),
            ],
        ),
    )
    assert unsettled(evidence) == []
    (history,) = histories(evidence.table(Recompile))
    assert [step.variant for step in history.steps] == [0, 2, 2]


def test_prompts_and_single_tokens_are_told_apart(tmp_path: Path) -> None:
    evidence = log(
        tmp_path,
        ("0/1", "f", ["0/0: " + SIZE.format("ids", 1, 5, 1)]),
        (
            "0/2",
            "f",
            ["0/1: " + SIZE.format("ids", 1, 1, 7), "0/0: " + SIZE.format("ids", 1, 5, 7)],
        ),
        (
            "0/3",
            "f",
            ["0/2: " + SIZE.format("ids", 1, 7, 9), "0/1: " + SIZE.format("ids", 1, 1, 9)],
        ),
    )
    (values,) = unsettled(evidence)
    assert values.values == ["5", "7", "9"]


def test_zero_and_one_take_a_step_of_their_own(tmp_path: Path) -> None:
    evidence = log(
        tmp_path,
        ("0/1", "f", ["0/0: n == 1"]),
        ("0/2", "f", ["0/1: n == 2", "0/0: n == 1"]),
    )
    assert unsettled(evidence) == []


def test_an_older_entry_says_nothing_about_a_newer_variant(tmp_path: Path) -> None:
    other = "___check_type_id(self._modules['c'], 94865264879952), type=<class 'GCNConv'>"
    evidence = log(
        tmp_path,
        ("0/1", "f", ["0/0: " + SIZE.format("x", 0, 40, 31)]),
        ("0/2", "f", [f"0/1: {other}", "0/0: " + SIZE.format("x", 0, 40, 39)]),
    )
    assert unsettled(evidence) == []


def test_a_reset_begins_a_new_history(tmp_path: Path) -> None:
    changed = ["0/0: " + SIZE.format("x", 0, 4, 8)]
    evidence = log(tmp_path, ("0/1", "f", changed), ("0/1", "f", changed), ("0/1", "g", changed))
    found = histories(evidence.table(Recompile))
    assert [(history.function, len(history.steps)) for history in found] == [
        ("f", 1),
        ("f", 1),
        ("g", 1),
    ]


@pytest.mark.parametrize(
    ("file", "function", "steps"),
    [
        ("/home/ana/proj/model.py", "forward", 0),
        ("/home/ana/proj/model.py", "wrapper", 0),
        ("/v/lib/python3.11/site-packages/transformers/models/detr/modeling_detr.py", "forward", 0),
        ("/v/lib/python3.11/site-packages/transformers/utils/generic.py", "wrapper", 1),
        ("transformers/utils/generic.py", "wrapper", 1),
        ("/v/lib/python3.11/site-packages/torch/nn/modules/dropout.py", "forward", 2),
        ("nn/modules/dropout.py", "forward", 2),
        ("/v/lib/python3.11/site-packages/sympy/core/relational.py", "__bool__", 2),
        ("/home/ana/sympy/model.py", "forward", 0),
        ("/v/lib/python3.11/site-packages/torch/_dynamo/external_utils.py", "inner", 3),
        ("/usr/lib/python3.11/logging/__init__.py", "getLogger", 3),
        ("<string>", "__init__", 3),
        (r"C:\v\Lib\site-packages\torch\nn\modules\module.py", "_call_impl", 3),
    ],
)
def test_how_far_a_frame_is_from_the_user(file: str, function: str, steps: int) -> None:
    assert user_code.distance(file, function) == steps


def test_the_innermost_frame_that_tells_something_is_best() -> None:
    packages = "/v/lib/python3.11/site-packages"
    frames = [
        StackFrame(file="/home/ana/proj/train.py", line=1, function="main"),
        StackFrame(file=f"{packages}/transformers/modeling.py", line=2, function="forward"),
        StackFrame(file=f"{packages}/transformers/utils/generic.py", line=3, function="wrapper"),
        StackFrame(file=f"{packages}/torch/nn/modules/module.py", line=4, function="_call_impl"),
        StackFrame(file="/usr/lib/python3.11/inspect.py", line=5, function="signature"),
    ]
    best = user_code.best(frames)
    assert best is not None
    assert best.line == 2
    caller = user_code.caller(frames, best.file)
    assert caller is not None
    assert caller.line == 1
    assert user_code.caller(frames, frames[0].file) is None


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("proj/model.py", "/home/ana/proj/model.py"),
        ("sers/ana/model.py", "/Users/ana/model.py"),
        ("scripts/model.py", "/home/ana/proj/model.py"),
        ("other/file.py", "other/file.py"),
    ],
)
def test_a_comment_is_joined_with_the_full_path(short: str, full: str) -> None:
    comment = Comment(file=short, line=3, function="f")
    files = ["/Users/ana/model.py"] if short.startswith("sers") else ["/home/ana/proj/model.py"]
    line = user_code.located(comment, "f", files)
    assert line is not None
    assert (line.file, line.line) == (full, 3)


def ask(path: str) -> list[Finding]:
    evidence, inputs = read([path])
    rules = [rule for rule in select_rules(CODES) if rule.code in CODES]
    return list(judge(evidence, inputs, rules=rules).findings)


@needs_corpus
@pytest.mark.parametrize("case", cases("real/*"), ids=lambda c: c.name)
def test_an_expert_would_agree(case: Path) -> None:
    diagnosis = json.loads((case / "diagnosis.json").read_text(encoding="utf-8"))
    found = ask(log_of(case))
    shown = {finding.code for finding in found if finding.severity is not Severity.NONE}
    expected = {entry["code"] for entry in diagnosis["expected"]} & set(CODES)
    assert expected <= {finding.code for finding in found}
    assert shown & {entry["code"] for entry in diagnosis["must_not"]} == set()


@needs_corpus
def test_the_places_that_an_expert_names() -> None:
    (case,) = cases("real/detr_hungarian")
    places = {
        (finding.code, Path(finding.where.file).name, finding.where.line)
        for finding in ask(log_of(case))
        if finding.where is not None
    }
    assert {
        ("GBR002", "modeling_detr.py", 643),
        ("GBR002", "loss_for_object_detection.py", 429),
        ("GBR002", "loss_for_object_detection.py", 431),
        ("GBR001", "loss_for_object_detection.py", 265),
        ("RCP001", "loss_for_object_detection.py", 237),
    } <= places


@needs_corpus
def test_the_limit_is_blamed_on_the_string_and_not_on_the_sizes() -> None:
    (case,) = cases("real/detr_hungarian")
    (finding,) = (finding for finding in ask(log_of(case)) if finding.code == "RCP001")
    assert "`loss` ('labels', 'boxes', 'cardinality') in 7 of 7 recompiles" in finding.message
    assert finding.advice[0].id == "look-up-outside", "about strings, not about sizes"
    assert finding.cost is None


@needs_corpus
def test_the_warning_and_the_record_of_item_are_one_break() -> None:
    (case,) = cases("real/pyg_gcn_gat")
    evidence, _ = read([log_of(case)])
    (site,) = sites(evidence.table(GraphBreak), {"scalar"})
    assert (site.line.line, site.line.function, site.count) == (48, "scatter", 6)
    assert sum(seen.record.announced for _, seen in site.events) == 1


@needs_corpus
def test_ranks_make_one_finding() -> None:
    (one,), (two,) = cases("2.13.0/seed003_fn_x_n"), cases("2.13.0/seed003_fn_x_n__two_ranks")
    single, double = ask(log_of(one)), ask(log_of(two))
    assert [finding.id for finding in double] == [finding.id for finding in single]
    assert [finding.count for finding in double] == [2 * finding.count for finding in single]


def test_a_lost_function_is_the_one_that_was_compiled_not_the_one_with_the_line() -> None:
    folder = FIXTURES / "GBR006-break-in-loop-skips-frame"
    report = analyze(str(folder / "fires-finally-in-caller.log"))
    (finding,) = (one for one in report.findings if one.code == "GBR006")
    # ``try`` with ``finally`` is in ``middle``, the break in ``inner``, which it calls.
    assert list(finding.data["lost"]) == ["middle"]
    assert finding.data["function"] == "inner"
