"""Recompiles for sizes are a warning where most of the measured compile time went to them."""

from __future__ import annotations

import gzip
import hashlib
import re
from functools import partial
from itertools import chain
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.dynamo.recompile_history import histories
from tracelens.frames import Frame
from tracelens.frames.recompile_cost import beside_first
from tracelens.logs.recompiles import Recompile
from tracelens.render._spent import by_run
from tracelens.report import Finding, Severity
from tracelens.source import read

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
NAMES = {
    "RCP002": "RCP002-tensor-size-keeps-changing",
    "RCP003": "RCP003-first-dynamic-recompile",
    "RCP016": "RCP016-zero-one-specialisation",
}
SECONDS = re.compile(r'"entire_frame_compile_time_s": [\d.]+')


def told(code: str, tmp_path: Path, *seconds: float) -> Finding:
    """Return the finding of the rule where the compilations took so long, one after the other."""
    text = (FIXTURES / NAMES[code] / "fires-most-of-compile-time.log").read_text()
    assert len(SECONDS.findall(text)) == len(seconds)
    each = iter(seconds)
    log = tmp_path / "run.log"
    log.write_text(SECONDS.sub(lambda _: f'"entire_frame_compile_time_s": {next(each)}', text))
    (finding,) = [one for one in analyze(str(log)).findings if one.code == code]
    return finding


#: Below the threshold each rule says what it said before it knew the seconds.
LIGHT = {"RCP002": Severity.INFO, "RCP003": Severity.NONE, "RCP016": Severity.NONE}


@pytest.mark.parametrize("code", sorted(LIGHT))
@pytest.mark.parametrize(
    ("first", "again", "heavy"),
    [
        (20.0, 20.0, True),  # 20 s, and half
        (19.9, 19.9, False),  # half, and less than 20 s
        (1.0, 19.9, False),  # nearly all, and less than 20 s
        (4.0, 6.0, False),  # one and a half times what the first compilation took: 60 %
        (4.0, 5.9, False),
        (1.0, 5.0, False),  # 5 s, below which nobody looks
        (1.0, 4.9, False),
        (100.0, 100.0, True),
        (100.2, 100.0, False),  # more than 20 s, and less than half
        (1000.0, 900.0, False),
        (100.0, 42.0, False),  # less than a third
    ],
)
def test_both_thresholds_have_two_sides(
    code: str, first: float, again: float, heavy: bool, tmp_path: Path
) -> None:
    parts = [again / 2, again / 2] if code == "RCP002" else [again]
    finding = told(code, tmp_path, first, *parts)
    is_long = again >= max(20.0, 0.3 * (first + again)) or again >= max(5.0, 1.5 * first)
    told_as_note = code != "RCP002" and is_long
    light = Severity.INFO if told_as_note else LIGHT[code]
    assert finding.severity is (Severity.WARNING if heavy else light)
    assert ("that compiling took" in finding.message) is (heavy or told_as_note)
    assert "expected" not in finding.title or not (heavy or told_as_note)
    if heavy:
        assert finding.cost is not None
        assert finding.cost.basis == "measured"
        assert finding.cost.ms == pytest.approx(1000 * again, rel=0.05)


#: Three recompiles of one function, and little else.
NEARLY_ALL = FIXTURES / NAMES["RCP003"] / "fires-nearly-all-by-the-clocks.log"


@pytest.mark.parametrize(("began", "is_warned"), [("12:29", True), ("12:22", False)])
def test_the_clocks_warn_where_nearly_all_of_compiling_went_there(
    began: str, is_warned: bool, tmp_path: Path
) -> None:
    """The first compilation took 4 s, or 11."""
    log = tmp_path / "run.log"
    log.write_text(NEARLY_ALL.read_text().replace("V1127 03:12:29", f"V1127 03:{began}"))
    found = [one for one in analyze(str(log)).findings if one.code == "RCP003"]
    assert [one.severity is Severity.WARNING for one in found] == [is_warned] * 3


def test_the_clocks_of_a_log_make_no_warning_of_a_note() -> None:
    logs = chain.from_iterable((FIXTURES / name).glob("*.log") for name in NAMES.values())
    for log in logs:
        if log != NEARLY_ALL and "entire_frame_compile_time_s" not in log.read_text():
            told = [f for f in analyze(str(log)).findings if "that compiling took" in f.message]
            assert [f for f in told if f.severity is Severity.WARNING] == [], log


TORCH = "V1120 20:15:4{n}.{at}00000 7 torch/_dynamo/{file}] "
METRICS = (
    TORCH + '{{"compilation_metrics": {{"compile_id": "0/{n}", "co_name": "widths", '
    '"co_filename": "/home/ana/proj/widths.py", "co_firstlineno": 2, '
    '"entire_frame_compile_time_s": {seconds}}}, '
    '"frame_id": 0, "frame_compile_id": {n}, "attempt": 0}}\n'
)
REASON = (
    TORCH + '{{"artifact": {{"name": "recompile_reasons", "encoding": "json"}}, '
    '"frame_id": 0, "frame_compile_id": {n}, "attempt": 0, "has_payload": "{hash}"}}\n\t{text}\n'
)


def recompiled(tmp_path: Path, seconds: list[float], reasons: list[str]) -> list[Finding]:
    """Return what is said of a function whose entries took so long, each but the first for one."""
    metrics = partial(METRICS.format, file="utils.py:2009", at=9)
    log = metrics(n=0, seconds=seconds[0])
    for n, (each, reason) in enumerate(zip(seconds[1:], reasons, strict=True), 1):
        text = f"0/{n - 1}: {reason}"
        digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
        log += REASON.format(n=n, hash=digest, text=text, file="guards.py:5400", at=1)
        log += metrics(n=n, seconds=each)
    path = tmp_path / "run.log"
    path.write_text(log)
    return list(analyze(str(path)).findings)


def sizes(tmp_path: Path, seconds: list[float], tensors: str = "xxxx") -> list[Finding]:
    """Return what is said where one dimension after the other changes, each of its tensor."""
    reasons = [
        f"tensor '{tensors[n]}' size mismatch at index {n}. expected {n + 8}, actual {n + 16}"
        for n in range(1, len(seconds))
    ]
    return [one for one in recompiled(tmp_path, seconds, reasons) if one.code == "RCP003"]


@pytest.mark.parametrize(
    ("seconds", "severity"),
    [
        ([100.0, 20.0], Severity.WARNING),  # 20 s, and more than a tenth of compiling
        ([100.0, 19.0], Severity.INFO),
        ([189.0, 21.0], Severity.WARNING),  # a tenth
        ([191.0, 21.0], Severity.INFO),
    ],
)
def test_what_the_first_call_sets_is_a_warning_where_it_took_long(
    seconds: list[float], severity: Severity, tmp_path: Path
) -> None:
    found = recompiled(tmp_path, seconds, ["self.ready == False"])
    assert [one.severity for one in found if one.code == "RCP031"] == [severity]


@pytest.mark.parametrize(
    ("seconds", "is_told"),
    [
        ([3.0, 3.0, 3.0, 3.0], True),  # three recompiles of one function: 9 of 12 s
        ([3.0, 3.0, 3.0], False),  # two: a warm-up
        ([3.0, 4.5, 4.5], True),  # two, and each one and a half times as long as the first
        ([3.0, 4.4, 4.4], False),
        ([9.1, 3.0, 3.0, 3.0], False),  # three, and less than half of the compile time
        ([1.0, 1.6, 1.6, 1.6], False),  # three, and less than 5 s
        ([1.0, 1.7, 1.7, 1.7], True),
    ],
)
def test_more_than_a_warm_up_is_told_in_a_short_run(
    seconds: list[float], is_told: bool, tmp_path: Path
) -> None:
    found = sizes(tmp_path, seconds, "abcd")
    assert len(found) == len(seconds) - 1
    assert {one.severity for one in found} == {Severity.INFO if is_told else Severity.NONE}
    assert all(("that compiling took" in one.message) is is_told for one in found)


@pytest.mark.parametrize(
    ("seconds", "is_told"),
    [
        ([80.0, 24.0, 24.0], True),  # 48 of 128 s, of which each is less than a third
        ([120.0, 24.0, 24.0], False),  # 48 of 168 s
        ([20.0, 9.0, 9.0], False),  # less than 20 s in all
    ],
)
def test_what_the_dimensions_of_one_tensor_took_is_added_up(
    seconds: list[float], is_told: bool, tmp_path: Path
) -> None:
    found = sizes(tmp_path, seconds)
    assert {one.severity for one in found} == {Severity.INFO if is_told else Severity.NONE}
    said = "48 s of the 2.13 min that compiling took, the other dimensions of `x` included."
    if not is_told:
        assert [said in one.message for one in found] == [False] * 2
        return
    (one,) = found  # the same is to be done about both
    assert one.title == "dimensions 1 and 2 of `x` changed for the first time: 2 recompiles"
    assert said in one.message
    assert one.message.startswith("Dimension 1 changed from 9 to 17, and `widths` was compiled")
    assert one.message.endswith(
        " Later dimension 2 changed from 10 to 18, which took an entry of its own."
    )
    assert one.count == one.data["recompiles"] == 2
    assert len(one.evidence) == 2
    assert one.cost is not None
    assert one.cost.ms == 48_000.0
    assert [advice.id for advice in one.advice] == ["mark-dynamic"]


@pytest.mark.parametrize(
    ("seconds", "severities"),
    [
        ([60.0, 20.0, 20.0], [Severity.INFO] * 2),  # four tenths together, and a fifth each
        ([60.5, 20.0, 20.0], [Severity.NONE] * 2),
        ([59.0, 22.0, 19.0], [Severity.INFO, Severity.NONE]),
        ([14.0, 10.0, 9.9], [Severity.NONE] * 2),  # less than 20 s
    ],
)
def test_several_that_took_much_together_are_each_told(
    seconds: list[float], severities: list[Severity], tmp_path: Path
) -> None:
    found = sizes(tmp_path, seconds, "xyz")
    assert [one.severity for one in found] == severities


def test_padding_comes_first_where_the_symbol_was_dear(tmp_path: Path) -> None:
    """Constants would need a third size never to come, which no log tells: it fits the symbol."""
    (dear,) = sizes(tmp_path, [2.0, 8.0])
    assert [one.id for one in dear.advice] == ["pad-largest"]
    assert "4.0 times as long as the first compilation" in dear.message
    assert "a symbol took 4.0 times as long to compile" in dear.advice[0].text
    (less,) = sizes(tmp_path, [8.0, 20.0])
    assert [one.id for one in less.advice] == ["mark-dynamic"]
    (cheap,) = sizes(tmp_path, [11.0, 20.0])
    assert [one.id for one in cheap.advice] == ["mark-dynamic"]
    several = sizes(tmp_path, [1.0, 8.0, 8.0], "xyz")
    assert {one.id for told in several for one in told.advice} == {"mark-dynamic"}


def test_what_a_warning_says_can_be_done(tmp_path: Path) -> None:
    finding = told("RCP003", tmp_path, 92.0, 100.0)
    assert finding.advice[0].code == "torch._dynamo.maybe_mark_dynamic(x, 0)"
    assert "nothing" not in {advice.id for advice in finding.advice}


CLOCK = "V1120 20:{at:02d}:{second:02d}.000000 7 torch/_dynamo/{file}] [0/{n}] [__{kind}] {text}\n"


def last_batch(tmp_path: Path, first: int, again: int, rows: int = 9) -> Finding:
    """Return what is said of a log without generated code, whose clocks tell these seconds."""
    graph = partial(CLOCK.format, file="output_graph.py:2835", kind="graph_code")
    guards = partial(CLOCK.format, file="guards.py:4483", kind="guards")
    reason = partial(CLOCK.format, at=30, second=0, n=1, file="guards.py:5396", kind="recompiles")
    log = graph(at=0, second=0, n=0, text="TRACED GRAPH")
    log += graph(at=0, second=0, n=0, text=" ===== __compiled_fn_1 =====")
    log += guards(at=0, second=first, n=0, text="TREE_GUARD_MANAGER:")
    log += guards(at=0, second=first, n=0, text="+- RootGuardManager")
    log += reason(text="Recompiling function forward in /home/ana/proj/net.py:14")
    log += reason(text="    triggered by the following guard failure(s):")
    text = f"    - 0/0: tensor 'x' size mismatch at index 0. expected 16, actual {rows}"
    log += reason(text=text)
    log += guards(at=30, second=again, n=1, text="TREE_GUARD_MANAGER:")
    log += guards(at=30, second=again, n=1, text="+- RootGuardManager")
    path = tmp_path / "run.log"
    path.write_text(log)
    (finding,) = [one for one in analyze(str(path)).findings if one.code == "RCP003"]
    return finding


@pytest.mark.parametrize(
    ("first", "again", "is_told"),
    [
        (7, 18, True),
        (12, 18, True),  # 60 %: one and a half times as long as all others
        (13, 18, True),
        (39, 10, True),  # a fifth, and 10 s
        (41, 10, False),
        (20, 9, False),
        (1, 5, True),
        (1, 4, False),  # less than 5 s
        (0, 18, False),  # the log does not tell what the first took
    ],
)
def test_the_share_decides_where_nothing_tells_of_the_first_compilation(
    first: int, again: int, is_told: bool, tmp_path: Path
) -> None:
    found = last_batch(tmp_path, first, again)
    assert found.severity is (Severity.INFO if is_told else Severity.NONE)
    assert (f"{again} s of the {first + again} s" in found.message) is is_told
    assert [one.id for one in found.advice][:1] == (["drop-last"] if is_told else ["mark-dynamic"])


@pytest.mark.parametrize(("again", "is_told"), [(19.9, True), (20.0, False)])
def test_a_first_entry_out_of_a_cache_is_no_measure(
    again: float, is_told: bool, tmp_path: Path
) -> None:
    (found,) = sizes(tmp_path, [1.0, again])
    assert ("times as long" in found.message) is is_told
    assert ("pad-largest" in {one.id for one in found.advice}) is is_told


@pytest.mark.parametrize(("whole", "is_told"), [(85, True), (95, False)])
def test_clocks_tell_of_entries_where_a_table_tells_the_sum_alone(
    whole: int, is_told: bool, tmp_path: Path
) -> None:
    last_batch(tmp_path, 58, 27, rows=20)
    log = tmp_path / "run.log"
    with log.open("a") as file:
        for text in (
            "TorchDynamo compilation metrics:",
            "Function, Runtimes (s)",
            f"_compile.compile_inner, {whole}.0",
        ):
            file.write(f"I1120 20:40:00.000000 7 torch/_dynamo/utils.py:925] {text}\n")
    (found,) = [one for one in analyze(str(log)).findings if one.code == "RCP003"]
    assert found.severity is (Severity.INFO if is_told else Severity.NONE)
    said = f"27 s of the {whole} s that compiling took, by the clocks of the log"
    assert (said in found.message) is is_told


def test_more_rows_than_before_are_no_last_batch(tmp_path: Path) -> None:
    found = last_batch(tmp_path, 7, 18, rows=20)
    assert [one.id for one in found.advice][:1] == ["mark-dynamic"]


@pytest.mark.parametrize(("again", "is_told"), [(6, True), (4, False)])
def test_a_last_batch_that_took_more_than_the_rest_of_a_short_run_is_told(
    again: int, is_told: bool, tmp_path: Path
) -> None:
    found = last_batch(tmp_path, 5, again)
    assert found.severity is (Severity.INFO if is_told else Severity.NONE)


def test_ranks_that_compile_side_by_side_are_not_added_up(tmp_path: Path) -> None:
    """Each took 5 of 10 s: no more than what the first compilation took."""
    last_batch(tmp_path, 5, 5)
    one = (tmp_path / "run.log").read_text()
    text = one + one.replace(" 7 torch/", " 8 torch/")
    (tmp_path / "run.log").write_text(text)
    found = [each for each in analyze(str(tmp_path)).findings if each.code == "RCP003"]
    assert {each.severity for each in found} == {Severity.NONE}


@pytest.mark.parametrize(("begun", "shares"), [("10:00:09", False), ("10:00:07", True)])
def test_clocks_that_missed_the_first_compilation_give_no_shares(
    begun: str, shares: bool, tmp_path: Path
) -> None:
    """A log may begin with the guards of it: 1 s beside 100 s is not what it took, 3 s may be."""
    tree = (
        "TREE_GUARD_MANAGER:",
        "+- RootGuardManager",
        "| +- GLOBAL_STATE: ___check_global_state()",
    )
    again = (
        "Recompiling function f in /home/ana/proj/m.py:3",
        "    triggered by the following guard failure(s):",
        "    - 0/0: tensor 'x' size mismatch at index 0. expected 4, actual 5",
    )
    with (tmp_path / "run.log").open("w") as log:
        for when, frame, kind, texts in (
            (begun, "0/0", "guards", ("GUARDS:",)),
            ("10:00:10", "0/0", "guards", tree),
            ("10:01:00", "0/1", "recompiles", again),
            ("10:02:40", "0/1", "guards", tree),
        ):
            for text in texts:
                log.write(f"V1120 {when}.000000 7 torch/a.py:1] [{frame}] [__{kind}] {text}\n")
    report = analyze(str(tmp_path / "run.log"))
    assert bool(by_run(report).bars) is shares
    (found,) = [one for one in report.findings if one.code == "RCP003"]
    assert "about 100 s" in found.message
    assert ("of the 103 s that compiling took" in found.message) is shares


TRAINED = FIXTURES / NAMES["RCP003"] / "fires-trained-last-batch.log.gz"


@pytest.mark.parametrize(("guards", "ratio"), [("22:35:36", 0.0), ("22:35:43", 0.83)])
def test_a_backward_graph_behind_the_guards_is_no_measure(
    tmp_path: Path, guards: str, ratio: float
) -> None:
    """Of the first entry it is compiled when it is called, and of the second before the guards."""
    text = gzip.decompress(TRAINED.read_bytes()).decode()
    lines = text.splitlines(keepends=True)
    log = tmp_path / "run.log"
    log.write_text(
        "".join(
            line.replace("22:35:36", guards) if "[4/0] [__guards]" in line else line
            for line in lines
        )
    )
    evidence, _ = read([str(log)])
    (step,) = [
        step
        for history in histories(evidence.table(Recompile))
        if history.function == "forward"
        for step in history.steps
    ]
    assert beside_first(step, evidence.table(Frame)) == pytest.approx(ratio, abs=0.05)


def test_a_function_of_the_program_leads_what_a_wrapper_passes_on() -> None:
    (finding,) = analyze(str(TRAINED), select=["RCP003"]).findings
    assert finding.where is not None
    assert finding.where.file == "/home/ana/proj/app.py"
    assert "`ids`" in finding.title
    assert "`forward`" in finding.message


OTHERS = FIXTURES / NAMES["RCP003"] / "fires-other-batches.log.gz"


def _without(tmp_path: Path, *frames: int) -> list[Finding]:
    """Return what is said of recompiles for sizes where these functions are not in the log."""
    left_out = tuple(f"[{number}/" for number in frames)
    lines = gzip.decompress(OTHERS.read_bytes()).decode().splitlines(keepends=True)
    log = tmp_path / "run.log"
    log.write_text("".join(line for line in lines if not any(one in line for one in left_out)))
    return [one for one in analyze(str(log)).findings if one.code in {"RCP003", "RCP016"}]


def test_other_batches_are_told_once_and_first(tmp_path: Path) -> None:
    first = analyze(str(OTHERS)).findings[0]
    assert (first.code, first.severity) == ("RCP003", Severity.WARNING)
    assert "other batch sizes of `samples`: 21 recompiles" in first.title
    assert [one.id for one in first.advice] == ["one-size"]
    others = [one for one in _without(tmp_path) if one.id != first.id]
    assert others
    assert {one.explained_by for one in others} == {first.id}


@pytest.mark.parametrize("dear", [(7, 9, 10, 11), tuple(range(2, 13))])
def test_other_batches_that_cost_little_or_are_of_one_function_are_notes(
    dear: tuple[int, ...], tmp_path: Path
) -> None:
    left = _without(tmp_path, *dear)
    assert left
    assert not [one for one in left if "other batch" in one.title or one.explained_by]
    assert {one.severity for one in left} == {Severity.NONE}


@pytest.mark.parametrize("beside", [True, False])
def test_a_batch_of_one_is_told_beside_another_size_of_it(beside: bool, tmp_path: Path) -> None:
    """By itself it is what one entry for 1 takes, by design."""
    lines = (FIXTURES / NAMES["RCP016"] / "fires-beside-other-batches.log").read_text().splitlines()
    log = tmp_path / "run.log"
    left = [one for one in lines if beside or not ("[__recompiles]" in one and "/1] " in one)]
    log.write_text("\n".join([*left, ""]))
    (found,) = [one for one in analyze(str(log)).findings if one.code == "RCP016"]
    assert found.severity is (Severity.INFO if beside else Severity.NONE)


@pytest.mark.parametrize(
    ("source", "is_smaller"),
    [("___stack0", True), ("y", False)],  # what waits behind a break, or a length that is passed
)
def test_rows_may_be_another_dimension_behind_a_break(
    source: str, is_smaller: bool, tmp_path: Path
) -> None:
    line = "V1120 20:15:4{n}.000000 7 torch/_dynamo/guards.py:5396] [{n}/1] [__recompiles] {text}\n"
    rest = "torch_dynamo_resume_in_forward_at_17"
    log = ""
    for n, function, name, index in ((0, "forward", "x", 0), (1, rest, source, 1)):
        log += line.format(n=n, text=f"Recompiling function {function} in /home/ana/proj/net.py:14")
        log += line.format(n=n, text="    triggered by the following guard failure(s):")
        text = f"    - {n}/0: tensor '{name}' size mismatch at index {index}. expected 16, actual 6"
        log += line.format(n=n, text=text)
    path = tmp_path / "run.log"
    path.write_text(log)
    found = [one for one in analyze(str(path)).findings if one.code == "RCP003"]
    assert found[0].data["source"] == "x"
    assert found[0].count == 2
    assert found[0].data["is_smaller"] is is_smaller


@pytest.mark.parametrize(
    ("counts", "is_of_batch"),
    [((1, 1, 1), True), ((2, 1, 1), True), ((1, 5, 1), False)],
)
def test_one_function_that_is_compiled_again_and_again_is_a_matter_of_its_own(
    counts: tuple[int, ...], is_of_batch: bool, tmp_path: Path
) -> None:
    """What needs the number is there; the batch as such took one recompile of each function."""
    log = ""
    for frame, count in enumerate(counts):
        of_frame = partial(METRICS.format, file="utils.py:2009", at=9, seconds=20.0)
        for n in range(count + 1):
            if n:
                text = f"{frame}/{n - 1}: tensor 'x' size mismatch at index 0. expected {n + 8}, "
                text += f"actual {n + 9}"
                digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
                reason = REASON.format(n=n, hash=digest, text=text, file="guards.py:5400", at=1)
                log += reason.replace('"frame_id": 0', f'"frame_id": {frame}')
            measured = of_frame(n=n).replace('"0/', f'"{frame}/').replace("widths", f"f{frame}")
            log += measured.replace('"frame_id": 0', f'"frame_id": {frame}')
    path = tmp_path / "run.log"
    path.write_text(log)
    found = [one for one in analyze(str(path)).findings if one.severity is Severity.WARNING]
    titles = [one.title.partition(":")[0] for one in found]
    assert ("other batch sizes of `x`" in titles) is is_of_batch
    assert [one.data["function"] for one in found if one.code == "RCP002" and one.count > 2] == [
        "f1"
    ] * (not is_of_batch)
