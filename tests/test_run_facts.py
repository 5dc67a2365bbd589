"""What the logs of a run say about it as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tracelens.dynamo.run_facts import RunFacts, facts_of
from tracelens.engine import judge
from tracelens.evidence import Table
from tracelens.plugins.facts import RuleFacts, TableFacts
from tracelens.plugins.held import Held
from tracelens.report import Finding, Outcome
from tracelens.rules import Rule
from tracelens.source import read

RULES = Path(__file__).parents[1] / "fixtures" / "rules"


def facts(path: Path) -> RunFacts:
    evidence, _ = read([str(path)])
    Held(evidence)
    return facts_of(evidence.table(RunFacts))


def text(folder: Path, *lines: str) -> RunFacts:
    path = folder / "run.log"
    path.write_text("\n".join(lines) + "\n")
    return facts(path)


def test_a_frozen_model() -> None:
    found = facts(RULES / "IND004-cpu-inference-not-frozen" / "quiet-frozen-resnet.log.gz")
    assert (found.onednn, found.arch, found.threads) == ((3, 12, 0), "x86_64", 1)
    assert found.is_compiled is found.is_frozen is True
    assert found.is_training is False
    assert found.devices == {"cpu"}
    assert (found.has_type("bf16"), found.has_type("f16")) == (True, False)


def test_training() -> None:
    found = facts(RULES / "IND004-cpu-inference-not-frozen" / "quiet-training.log.gz")
    assert (found.is_training, found.is_frozen) == (True, False)


def test_onednn_lines_alone_do_not_tell_whether_something_is_compiled() -> None:
    found = facts(RULES / "ONE001-reference-kernel-dispatch" / "quiet-aarch64-eager-linear.log")
    assert (found.is_compiled, found.is_frozen, found.torch) == (None, None, None)
    # The AArch64 texts name the length of vectors only.
    assert (found.arch, found.has_type("bf16")) == ("aarch64", None)


def test_a_recording_whose_logs_are_silent_compiled_nothing(tmp_path: Path) -> None:
    found = text(tmp_path, "# tracelens: torch 2.13.0+cpu", "# tracelens: TORCH_LOGS guards,aot")
    assert found.is_compiled is False
    assert found.torch == (2, 13, 0)
    # perf_hints says nothing of most compilations.
    assert text(tmp_path, "# tracelens: TORCH_LOGS perf_hints").is_compiled is None


@pytest.mark.parametrize(
    ("flags", "native"),
    [
        ("fpu vme de sse2 avx2", set()),
        ("fpu vme de sse2 avx512f avx512_bf16 avx512_vnni", {"bf16", "int8"}),
        ("fpu vme de sse2 avx512_fp16", {"f16"}),
        ("fp asimd asimdhp asimddp bf16", {"f16", "bf16", "int8"}),
    ],
)
def test_flags_of_the_processor(flags: str, native: set[str], tmp_path: Path) -> None:
    assert text(tmp_path, f"Flags:   {flags}").native_types == frozenset(native)


class Asks(Rule):
    """A rule of this test."""

    code = "TST900"
    name = "asks"

    def check(self, *, run: Table[RunFacts]) -> Iterator[Finding]:
        yield self.finding("run", title=str(facts_of(run).is_compiled), message="")


def test_facts_are_no_reason_to_ask_a_rule() -> None:
    assert TableFacts.read(RunFacts, required=False).always
    assert RuleFacts.read(Asks()).tables[0].types == ()
    evidence, inputs = read([str(RULES / "IND004-cpu-inference-not-frozen" / "fires-bert.log.gz")])
    report = judge(evidence, inputs, rules=[Asks()])
    assert report.verdicts[0].verdict is Outcome.QUIET


def test_another_backend_than_inductor_freezes_nothing() -> None:
    log = RULES / "ONE018-plain-layout-weights" / "fires-aot-eager.log.gz"
    assert (facts(log).is_compiled, facts(log).uses_inductor) == (True, False)
    frozen = RULES / "IND004-cpu-inference-not-frozen" / "quiet-frozen-resnet.log.gz"
    assert facts(frozen).uses_inductor is True
    report = judge(*read([str(log)]))
    advice = {one.id for finding in report.findings for one in finding.advice}
    assert "compile-frozen" in advice
    assert "freeze" not in advice


@pytest.mark.parametrize(
    ("compilers", "uses"),
    [
        (["aot_eager"], False),
        (["eager", "aot_eager"], False),
        (["pre_dispatch_eager", "aot_eager_default_partitioner"], False),
        (["aot_eager", "inductor"], None),
        (["mine"], None),
        ([], None),
    ],
)
def test_a_backend_that_makes_no_code_is_named(
    compilers: list[str], uses: bool | None, tmp_path: Path
) -> None:
    head = "I1123 08:09:13.107000 27 torch/_dynamo/output_graph.py:3116] [0/0] Step 2: "
    lines = [f"{head}calling compiler function {one}" for one in compilers]
    found = text(tmp_path, *lines, "an epoch later")
    assert (found.is_compiled, found.uses_inductor) == (True if compilers else None, uses)
