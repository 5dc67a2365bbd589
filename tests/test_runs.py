"""Several inputs: which are of one run, and that runs do not see each other."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import ROOT as CORPUS
from tests.corpus import needs_corpus
from tracelens import SourceError, UsageError, analyze
from tracelens.cli import main
from tracelens.engine import MAX_FOREIGN
from tracelens.report import Report
from tracelens.source import groups

FIXTURES = Path(__file__).parent.parent / "fixtures"
STRUCTURED = FIXTURES / "logs" / "torch_trace"
#: Of the corpus, one case in this many; ``TRACELENS_WHOLE=1`` takes all.
EACH = 1 if os.environ.get("TRACELENS_WHOLE") else 12


def runs(*paths: Path | str, **options: Any) -> dict[str, set[str]]:
    """Return the names of the files of each run."""
    report = analyze(*map(str, paths), select=["LOG001"], **options)
    return {run.name: {Path(path).name for path in run.inputs} for run in report.runs}


def line(clock: str, pid: int, text: str, *, artifact: str = "__recompiles") -> str:
    return f"V1120 {clock} {pid} torch/_dynamo/guards.py:5396] [0/1] [{artifact}] {text}\n"


def log(path: Path, *, pid: int, clock: str = "10:00:00.000000") -> Path:
    """Write a log of one recompile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        line(clock, pid, "Recompiling function fn in /home/ana/proj/model.py:8")
        + line(clock, pid, "    triggered by the following guard failure(s):")
        + line(clock, pid, f"    - 0/0: n == {pid}"),
        encoding="utf-8",
    )
    return path


def trace(
    path: Path, *, pid: int, ranks: int | None = None, rank: int | None = None, late: float = 0.0
) -> Path:
    """Write a trace of one operator, begun at 20 November 2026, 10:00:05 UTC, or later."""
    event = {
        "ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": pid, "tid": pid,
        "ts": 5e6 + late * 1e6, "dur": 9,
    }  # fmt: skip
    told: dict[str, Any] = {"schemaVersion": 1, "baseTimeNanoseconds": 1795168800 * 10**9}
    if ranks is not None:
        told["distributedInfo"] = {"backend": "gloo", "rank": rank, "world_size": ranks}
        if rank is None:
            del told["distributedInfo"]["rank"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(told | {"traceEvents": [event]}), encoding="utf-8")
    return path


def test_two_logs_are_two_runs_though_they_are_in_one_folder(tmp_path: Path) -> None:
    first, second = log(tmp_path / "a.log", pid=11), log(tmp_path / "b.log", pid=12)
    assert runs(first, second) == {"run1": {"a.log"}, "run2": {"b.log"}}


def test_a_number_that_comes_again_later_is_another_process(tmp_path: Path) -> None:
    first = log(tmp_path / "a.log", pid=7)
    second = log(tmp_path / "b.log", pid=7, clock="10:00:03.000000")
    assert runs(first, second) == {"run1": {"a.log"}, "run2": {"b.log"}}


def test_a_number_in_another_folder_is_another_process(tmp_path: Path) -> None:
    first, second = log(tmp_path / "a" / "x.log", pid=7), log(tmp_path / "b" / "y.log", pid=7)
    assert runs(first, second) == {"run1": {"x.log"}, "run2": {"y.log"}}


def test_a_text_log_and_a_structured_log_of_one_process_are_one_run(tmp_path: Path) -> None:
    for mode in ("breaks", "layers"):
        (structured,) = (STRUCTURED / mode).glob("dedicated_log_*")
        shutil.copy(structured, tmp_path / structured.name)
        shutil.copy(STRUCTURED / mode / "run.log.xz", tmp_path / f"{mode}.log.xz")
    found = runs(tmp_path)
    assert sorted(len(files) for files in found.values()) == [2, 2]
    for files in found.values():
        assert {name.startswith("dedicated_log_") for name in files} == {True, False}


def test_a_trace_belongs_to_the_log_of_its_process(tmp_path: Path) -> None:
    found = runs(
        log(tmp_path / "a.log", pid=11),
        log(tmp_path / "b.log", pid=12),
        trace(tmp_path / "t.json", pid=12),
        trace(tmp_path / "u.json", pid=13),
    )
    assert found == {"run1": {"a.log"}, "run2": {"b.log", "t.json"}, "run3": {"u.json"}}


def test_a_trace_that_fits_two_logs_belongs_to_neither(tmp_path: Path) -> None:
    found = runs(
        log(tmp_path / "a.log", pid=7),
        log(tmp_path / "b.log", pid=7, clock="10:00:03.000000"),
        trace(tmp_path / "t.json", pid=7),
    )
    assert found == {"run1": {"a.log"}, "run2": {"b.log"}, "run3": {"t.json"}}


@pytest.mark.parametrize(
    "names",
    [
        ("rank0.log", "rank1.log"),
        ("train.rank0.log", "train.rank3.log"),
        ("rank_0_stderr.log", "rank_1_stderr.log"),
    ],
)
def test_the_ranks_of_a_folder_are_one_run(names: tuple[str, ...], tmp_path: Path) -> None:
    files = [log(tmp_path / name, pid=20 + number) for number, name in enumerate(names)]
    assert runs(*files) == {"run1": set(names)}


def test_ranks_that_begin_much_later_are_of_another_job(tmp_path: Path) -> None:
    for number in range(2):
        log(tmp_path / f"rank{number}.log", pid=20 + number)
        log(tmp_path / f"rank{number + 2}.log", pid=30 + number, clock="12:00:00.000000")
    assert sorted(map(sorted, runs(tmp_path).values())) == [
        ["rank0.log", "rank1.log"],
        ["rank2.log", "rank3.log"],
    ]


def test_a_rank_that_comes_again_is_of_another_job(tmp_path: Path) -> None:
    for job, clock in (("aaaaaaaa", "10:00:00.000000"), ("bbbbbbbb", "10:02:00.000000")):
        for rank in range(2):
            name = f"dedicated_log_torch_trace_rank_{rank}_{job}.log"
            pid = 100 * (job[0] == "a") + rank
            (tmp_path / name).write_text(
                f"V1120 {clock} {pid} torch/_logging/structured.py:22] "
                '{"str": ["/home/ana/proj/train.py", 0]}\n',
                encoding="utf-8",
            )
    found = groups(sorted(str(path) for path in tmp_path.iterdir()))
    assert sorted([{Path(path).name[-12] for path in group.paths} for group in found], key=min) == [
        {"a"},
        {"b"},
    ]


def structured(folder: Path, rank: int, job: str, clock: str) -> None:
    """Write the beginning of a rank's structured log, under the name that torch gives it."""
    (folder / f"dedicated_log_torch_trace_rank_{rank}_{job * 8}.log").write_text(
        f"V1120 {clock}.000000 {100 * ord(job) + rank} torch/_logging/structured.py:22] "
        '{"str": ["/home/ana/proj/train.py", 0]}\n',
        encoding="utf-8",
    )


def jobs(folder: Path) -> list[list[str]]:
    """Return the ranks and jobs, in the names, that are read together."""
    found = groups(sorted(str(path) for path in folder.iterdir()))
    return sorted(sorted(Path(path).name[26:34] for path in group.paths) for group in found)


@pytest.mark.parametrize("apart", [1, 2])
def test_structured_logs_without_a_rank_0_belong_to_the_job_that_has_it(
    apart: int, tmp_path: Path
) -> None:
    for rank in range(3):
        structured(tmp_path, rank, "abc"[rank], "16:17:28" if rank != apart else "21:44:00")
    assert jobs(tmp_path) == [["rank_0_a", "rank_1_b", "rank_2_c"]]


def test_a_rank_0_that_begins_later_has_the_ranks_that_began_before(tmp_path: Path) -> None:
    structured(tmp_path, 1, "a", "10:00:00")
    structured(tmp_path, 0, "b", "14:00:00")
    assert jobs(tmp_path) == [["rank_0_b", "rank_1_a"]]


def test_two_jobs_that_have_their_rank_0_stay_two(tmp_path: Path) -> None:
    for job, clock in (("a", "10:00:00"), ("b", "14:00:00")):
        for rank in range(2 if job == "a" else 4):
            structured(tmp_path, rank, job, clock)
    assert jobs(tmp_path) == [
        ["rank_0_a", "rank_1_a"],
        ["rank_0_b", "rank_1_b", "rank_2_b", "rank_3_b"],
    ]


def test_traces_of_hosts_and_processes_are_ranks_when_they_end_together(tmp_path: Path) -> None:
    for pid, stamp in ((31, 1795168800), (32, 1795168803), (33, 1795170000)):
        trace(tmp_path / f"node7_{pid}.{stamp}000000000.pt.trace.json", pid=pid)
    assert sorted(len(files) for files in runs(tmp_path).values()) == [1, 2]


@pytest.mark.parametrize(
    ("rank", "ranks", "late", "together"),
    [(1, 2, 1.0, True), (0, 2, 1.0, False), (1, 2, 3600.0, False), (None, 2, 1.0, False)],
)
def test_traces_that_say_their_rank_need_no_names(
    rank: int | None, ranks: int, late: float, together: bool, tmp_path: Path
) -> None:
    first = trace(tmp_path / "left.json", pid=11, ranks=ranks, rank=0)
    other = trace(tmp_path / "right.json", pid=12, ranks=ranks, rank=rank, late=late)
    assert (len(runs(first, other)) == 1) is together


def test_a_trace_that_says_it_is_alone_is_no_rank(tmp_path: Path) -> None:
    for pid in (31, 32):
        trace(tmp_path / f"node7_{pid}.1795168800000000000.pt.trace.json", pid=pid, ranks=1)
    assert len(runs(tmp_path)) == 2


def test_a_recording_is_one_run(tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder = tmp_path / name
        (folder / "torch_trace").mkdir(parents=True)
        text = log(tmp_path / "text", pid=5).read_bytes()
        (folder / "log.txt.gz").write_bytes(gzip.compress(text, mtime=0))
        (structured,) = (STRUCTURED / "breaks").glob("dedicated_log_*")
        shutil.copy(structured, folder / "torch_trace" / structured.name)
        trace(folder / "trace.json", pid=77)
    (tmp_path / "text").unlink()
    assert [len(files) for files in runs(tmp_path).values()] == [3, 3]


def test_the_user_may_say_what_a_run_is(tmp_path: Path) -> None:
    files = [log(tmp_path / f"{name}.log", pid=pid) for pid, name in enumerate("abc", 11)]
    assert runs(*files, one_run=True) == {"run1": {"a.log", "b.log", "c.log"}}
    named = {"slow": [str(files[0]), str(files[2])]}
    assert runs(*files, runs=named) == {"slow": {"a.log", "c.log"}, "run1": {"b.log"}}
    assert runs(runs={"run1": str(files[0])}) == {"run1": {"a.log"}}
    with pytest.raises(UsageError, match="is in two runs"):
        runs(runs={"x": str(files[0]), "y": str(files[0])})


def test_every_finding_and_every_row_names_its_run(tmp_path: Path) -> None:
    files = [log(tmp_path / "a.log", pid=11), log(tmp_path / "b.log", pid=12)]
    report = analyze(*map(str, files))
    assert {finding.run for finding in report.findings} == {"run1", "run2"}
    for rows in report.tables.values():
        assert {row["run"] for row in rows} == {"run1", "run2"}


def test_what_a_rule_lacks_in_one_run_is_said_though_another_has_it(tmp_path: Path) -> None:
    there = log(tmp_path / "a.log", pid=11)
    other = tmp_path / "b.log"
    other.write_text("onednn_verbose,v1,info,oneDNN v3.7.1 (commit abc)\n", encoding="utf-8")
    report = analyze(str(there), str(other), select=["RCP007"])
    (verdict,) = report.verdicts
    assert verdict.absent_in == ("run2",)


def test_the_command_line_names_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate("abc"):
        log(Path(f"{name}.log"), pid=11 + number)
    named = ["--run", "slow=a.log", "--run", "slow=b.log", "-f", "json", "--select", "LOG001"]
    assert main(["analyze", "c.log", *named]) == 0
    told = json.loads(capsys.readouterr().out)["runs"]
    assert {run["name"]: run["inputs"] for run in told} == {
        "slow": ["a.log", "b.log"],
        "run1": ["c.log"],
    }
    assert main(["analyze", *named]) == 0
    assert main(["analyze", "a.log", "--run", "b.log"]) == 2
    assert main(["analyze", "a.log", "--one-run", "--run", "x=b.log"]) == 2
    assert "contradict each other" in capsys.readouterr().err


def test_what_is_required_is_required_of_every_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = log(tmp_path / "a.log", pid=11)
    other = tmp_path / "b.log"
    other.write_text("onednn_verbose,v1,info,oneDNN v3.7.1 (commit abc)\n", encoding="utf-8")
    assert main(["analyze", str(there), "--require", "RCP", "-q"]) == 0
    assert main(["analyze", str(there), str(other), "--require", "RCP", "-q"]) == 1
    said = capsys.readouterr().err
    assert f"no evidence for RCP: recompiles was not recorded in run2 ({other})" in said


def _identity(report: Report, run: str | None = None) -> list[str]:
    """Return all that a report says of one run, but for what the run is called."""
    return sorted(
        finding.model_copy(update={"run": ""}).model_dump_json()
        for finding in report.findings
        if run is None or finding.run == run
    )


def _files(root: Path, each: int) -> list[list[str]]:
    """Return the inputs of each case of the corpus: what one program left behind."""
    cases: dict[str, list[str]] = {}
    for path in sorted(root.rglob("*")):
        if _is_input(path):
            parent = path.parent
            case = next((p for p in (parent, *parent.parents) if (p / "cmd.json").exists()), path)
            cases.setdefault(str(case), []).append(str(path))
    return list(cases.values())[::each]


def _is_input(path: Path) -> bool:
    name = path.name.removesuffix(".gz")
    text = name in {"log.txt", "torch_logs_out.txt"} or name.endswith(".log")
    return path.is_file() and (text or (name.endswith("trace.json") and "debug" not in path.parts))


@needs_corpus
def test_together_they_say_what_they_say_one_by_one() -> None:
    assert CORPUS is not None
    cases = _files(CORPUS / "corpus", EACH)
    paths = [path for case in cases for path in case]
    together = analyze(*paths)
    silent = {source.path for source in together.inputs if not source.kinds}
    beside = set(paths) - {path for run in together.runs for path in run.inputs}
    assert beside <= silent
    assert not any(_alone([path]) for path in beside)
    for run in together.runs:
        if len(run.inputs) > 1 and silent.issuperset(run.inputs):  # of many, one
            assert not any(_alone([path]) for path in run.inputs)
        else:
            assert any(set(run.inputs) <= set(case) for case in cases), run.inputs
        assert _identity(together, run.name) == _alone(run.inputs), run.inputs
    assert {finding.run for finding in together.findings} <= {run.name for run in together.runs}


def _alone(inputs: Iterable[str]) -> list[str]:
    try:
        return _identity(analyze(*inputs, one_run=True))
    except SourceError:  # the program's own output, and nothing else
        return []


@pytest.mark.parametrize("several", [2, 1], ids=["job", "alone"])
def test_a_run_says_which_ranks_its_traces_are_of(several: int, tmp_path: Path) -> None:
    files = [trace(tmp_path / f"t{rank}.json", pid=31 + rank, ranks=several) for rank in (3, 1)]
    for rank, path in zip((3, 1), files, strict=True):
        told = json.loads(path.read_text())
        told["distributedInfo"]["rank"] = rank
        path.write_text(json.dumps(told), encoding="utf-8")
    report = analyze(*map(str, files), select=["LOG001"], one_run=True)
    assert report.runs[0].ranks == (("rank1", "rank3") if several > 1 else ())


def test_a_run_says_which_ranks_its_structured_logs_are_of(tmp_path: Path) -> None:
    (structured,) = (STRUCTURED / "breaks").glob("dedicated_log_*")
    for rank in (0, 2):
        shutil.copy(structured, tmp_path / f"dedicated_log_torch_trace_rank_{rank}_ab.log")
    report = analyze(str(tmp_path), select=["LOG001"], one_run=True)
    assert report.runs[0].ranks == ("rank0", "rank2")
    assert [source.writers for source in report.inputs] == [("rank0",), ("rank2",)]
    unnamed = shutil.copy(structured, tmp_path / "structured.log")
    assert analyze(str(unnamed), select=["LOG001"]).runs[0].ranks == ()


@pytest.mark.parametrize("others", [2, MAX_FOREIGN, 60])
def test_files_that_are_no_logs_are_no_runs_beside_one(others: int, tmp_path: Path) -> None:
    log(tmp_path / "run.log", pid=7)
    for number in range(others):
        (tmp_path / f"notes{number:03}.txt").write_text(f"epoch {number}\nloss 0.5\n")
    (tmp_path / "config.json").write_text('{"hidden_size": 64}')
    report = analyze(str(tmp_path))
    (run,) = report.runs
    assert run.inputs == (str(tmp_path / "run.log"),)
    assert report.coverage.program_lines == 2 * others + 1
    assert len(report.inputs) == others + 2
    alone = analyze(str(tmp_path / "run.log"))
    assert report.findings == alone.findings
    assert report.verdicts == alone.verdicts


@pytest.mark.parametrize(("others", "expected"), [(2, 3), (MAX_FOREIGN, MAX_FOREIGN + 1), (60, 2)])
def test_files_in_which_what_was_watched_has_not_happened_are_runs(
    others: int, expected: int, tmp_path: Path
) -> None:
    log(tmp_path / "run.log", pid=7)
    for number in range(others):
        (tmp_path / f"notes{number:03}.txt").write_text(f"epoch {number}\nloss 0.5\n")
    report = analyze(str(tmp_path), recorded_with=["graph_breaks"])
    assert len(report.runs) == expected
    named = [path for run in report.runs for path in run.inputs]
    assert sorted(named) == [source.path for source in report.inputs]
    assert report.coverage.program_lines == 2 * others


def test_a_file_that_is_named_as_a_run_is_one(tmp_path: Path) -> None:
    log(tmp_path / "run.log", pid=7)
    (tmp_path / "other.txt").write_text("epoch 1\n")
    report = analyze(str(tmp_path / "run.log"), runs={"other": str(tmp_path / "other.txt")})
    assert sorted(run.name for run in report.runs) == ["other", "run1"]
