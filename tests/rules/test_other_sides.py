"""Conditions of rules from the side that no log of theirs shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tracelens import analyze
from tracelens.evidence import Evidence, Place, Seen, Table
from tracelens.failures.stages import stage
from tracelens.frames.compile_seconds import CompileSeconds
from tracelens.frames.guard_entries import GuardedEntry
from tracelens.logs import kind
from tracelens.logs._dataflow import Content
from tracelens.logs.autotune import AutotuneTable
from tracelens.logs.chrome_trace import DataLoading, DispatchStage
from tracelens.logs.fusion import FusionRefused
from tracelens.rules.cmp.compile_time_dominates import CompileTimeDominates
from tracelens.rules.err._failure_rule import FailureData
from tracelens.rules.err.c_toolchain_broken import CToolchainBroken
from tracelens.rules.err.program_error_under_fake_tensors import _said
from tracelens.rules.grd.guard_count_large import GuardCountLarge
from tracelens.rules.ind.dtype_cast_churn import _Cast
from tracelens.rules.ind.fusion_refused import FusionRefused as FusionRefusedRule
from tracelens.rules.trc.attention_not_fused_in_trace import (
    AttentionNotFusedInTrace as AttentionNotFused,
)
from tracelens.rules.trc.guard_lookup_cost import GuardLookupCost
from tracelens.rules.trc.input_starved import InputStarved
from tracelens.traces.measured import Window
from tracelens.traces.rows import AttentionTime


def seen(record: Any, count: int = 1) -> Seen[Any]:
    return Seen(record, count, [Place("run.log", 1)], "")


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("add(*(FakeTensor(...), 1), **{}):\nsizes differ", "sizes differ"),
        ("sizes differ\nin the second of two lines", "sizes differ\nin the second of two lines"),
        ("add(*(FakeTensor(...), 1), **{}):", "add(*(FakeTensor(...), 1), **{}):"),
    ],
)
def test_the_call_alone_is_left_out_of_what_an_operation_said(message: str, said: str) -> None:
    assert _said(FailureData(cause="", stage="", message=message)) == said


@pytest.mark.parametrize(("cause", "advised"), [("library-load", True), ("compiler-failed", False)])
def test_another_openmp_is_advised_where_a_library_was_not_loaded(
    cause: str, *, advised: bool
) -> None:
    data = FailureData(cause=cause, stage="", message="x.so: undefined symbol: GOMP_parallel")
    given = {advice.id for advice in CToolchainBroken().advise(data)}
    assert ("openmp" in given) is advised


def test_three_reasons_of_small_pairs_are_named() -> None:
    reasons = ["sizes"] * 4 + ["loop orders"] * 3 + ["layouts"] * 2 + ["devices"]
    rows = [
        seen(FusionRefused(first=f"op{n}", second=f"op{n + 50}", reason=reason))
        for n, reason in enumerate(reasons)
    ]
    none: Table[Any] = Table([])
    (found,) = FusionRefusedRule().check(none, refused=Table(rows), fused=none, candidates=none)
    assert found.count == len(rows)
    assert found.message == "sizes (4); loop orders (3); layouts (2)."


def test_a_size_that_is_not_known_adds_nothing_to_the_bytes_of_a_cast() -> None:
    source = Content("a", None, (16,), "float32")
    assert source.bytes == 64
    cast = _Cast(seen(None), None, source, Content("b", None))  # type: ignore[arg-type]
    assert cast.bytes == 64


@pytest.mark.parametrize(("seconds", "told"), [(3.0, False), (10.0, True)])
def test_tuning_counts_as_often_as_it_was_done(seconds: float, *, told: bool) -> None:
    """Two tables of 10 s tell most of 30 s; two of 3 s do not."""
    sums = CompileSeconds(seconds=30.0, count=2, basis="measured")
    tables = Table([seen(AutotuneTable.model_construct(seconds=seconds), 2)])
    none: Table[Any] = Table([])
    (found,) = CompileTimeDominates().check(
        Table([seen(sums)]),
        recompiles=none,
        tables=tables,
        trees=none,
        graphs=none,
        spans=none,
        execs=none,
        run=none,
        modules=none,
        evidence=Evidence(),
    )
    assert bool(found.harmless) is told
    assert found.data["untold_seconds"] == 30.0 - 2 * seconds


@pytest.mark.parametrize(("on_host", "told"), [(False, False), (True, True)])
def test_what_a_gpu_does_is_no_share_of_the_trace(*, on_host: bool, told: bool) -> None:
    """Where no time of computing is known, there is nothing that it is a share of."""
    window = Table([seen(Window.model_construct(start_ms=0.0, ms=10.0))])
    rows = Table([seen(AttentionTime(n=9, ms=5.0, softmax_ms=1.0, on_host=on_host))])
    none: Table[Any] = Table([])
    others = {"timelines": none, "kernels": none, "modules": none, "operators": none, "lines": none}
    found = list(AttentionNotFused().check(window, attention=rows, **others))
    assert bool(found) is told


def test_a_trace_without_length_has_no_shares() -> None:
    window = Table(
        [seen(Window.model_construct(start_ms=0.0, ms=0.0, loading_ms=5.0, dispatch_ms=5.0))]
    )
    none: Table[Any] = Table([])
    loads = Table(
        [seen(DataLoading.model_construct(loader="", iterator="_SingleProcessDataLoaderIter"))]
    )
    stages = Table([seen(DispatchStage.model_construct(stage="Pregraph bytecode"))])
    starved = InputStarved().check(
        none, windows=window, loads=loads, printed=none, steps=none, called=none, timelines=none
    )
    assert list(starved) == []
    assert list(GuardLookupCost().check(window, steps=none, stages=stages, frames=none)) == []


@pytest.mark.parametrize(
    ("fixture", "said"),
    [
        # 110 blocks, each with a LayerNorm and a Linear of its own.
        ("fires-modules.log.gz", r"in `\*\.norm` \(110 modules\)"),
        ("quiet-some.log.gz", r"in `\*\.norm` \(40 modules\)"),
    ],
)
def test_modules_of_one_list_that_bring_guards_are_counted_together(
    fixture: str, said: str
) -> None:
    path = Path(__file__).parents[2] / "fixtures" / "rules" / "GRD002-guard-count-large" / fixture
    (found,) = [one for one in analyze(str(path)).findings if one.code == "GRD002"]
    assert re.search(said, found.message), found.message


@pytest.mark.parametrize(
    ("guards", "models"),
    [
        (["a"], 2),
        (["a", "b"], 2),  # b, then a in another size
        (["a", "b", "a", "b"], 2),
        (["a", "a b"], 3),
        (["a", "b", "c"], 3),
    ],
)
def test_models_are_counted_by_their_code_not_by_their_recompiles(
    tmp_path: Path, guards: list[str], models: int
) -> None:
    """Each recompile names what it is not; what it is, another one may name."""
    lines = []
    for number, named in enumerate(guards, start=1):
        at = f"V1120 12:08:{number:02}.000000 12698 torch/_dynamo/guards.py:5396]"
        head = f"{at} [0/{number}] [__recompiles]"
        lines += [
            f"{head} Recompiling function wrapper in /home/ana/proj/generic.py:937",
            f"{head}     triggered by the following guard failure(s):",
        ]
        lines += [
            f"{head}     - 0/{number - 1}: ___check_obj_id(func.__code__, {ord(one)}), "
            "type=<class 'code'>  # output = func(self, *args, **kwargs)  # proj/generic.py:943 in "
            "wrapper"
            for one in named.split()
        ]
    (tmp_path / "run.log").write_text("\n".join(lines) + "\n")
    (found,) = [one for one in analyze(str(tmp_path)).findings if one.code == "RCP030"]
    assert found.title == f"{models} models share the entries of `wrapper`"


def test_guards_on_arguments_are_of_no_module() -> None:
    checks = "\n".join(f"| | +- EQUALS_MATCH: L['options']['a{n}'] == {n}" for n in range(1000))
    head = "TREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- GuardManager: source=L['options']\n"
    tree = next(iter(kind("guards").parse(head + checks)))
    row = Seen(GuardedEntry(id="0/0", checks=1000, tree=tree), 1, [Place("run.log", 1)], head)
    none: Table[Any] = Table([])
    (found,) = GuardCountLarge().check(Table([row]), recompiles=none, frames=none)
    assert "By origin: 1,000 on" in found.message
    assert "By module" not in found.message


@pytest.mark.parametrize(
    ("raised", "where"),
    [
        ("torch._inductor.exc.InductorError: AssertionError: ", "inductor"),
        ("torch._dynamo.exc.InternalTorchDynamoError: AssertionError: ", "dynamo"),
    ],
)
def test_the_exception_tells_the_stage_where_only_the_wrapper_is_left(
    raised: str, where: str
) -> None:
    wrapper = "/home/ana/venv/lib/python3.11/site-packages/torch/_dynamo/eval_frame.py"
    assert stage("internal-compiler", [wrapper], raised) == where
    below = wrapper.replace("_dynamo/eval_frame", "_functorch/aot_autograd")
    assert stage("internal-compiler", [wrapper, below], raised) == "aot"
