"""What recordings of a GPU showed: advice that fits there, and alarms that were false."""

import re
from pathlib import Path

import pytest

from fixtures.programs import trc_gpu
from tracelens import analyze
from tracelens.dynamo.user_code import is_generated
from tracelens.report import Finding, Severity
from tracelens.rules.cgr.one_graph_per_size import _are_regular

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"


def fixture(code: str, name: str) -> Path:
    return next(FIXTURES.glob(f"{code}-*")) / name


def found(path: Path, code: str) -> list[Finding]:
    return [finding for finding in analyze(str(path)).findings if finding.code == code]


def shown(path: Path, code: str) -> list[Finding]:
    return [finding for finding in analyze(str(path)).shown if finding.code == code]


def ids(findings: list[Finding]) -> set[str]:
    return {advice.id for finding in findings for advice in finding.advice}


def test_a_kernel_that_says_it_has_no_atomics_has_none() -> None:
    quiet = fixture("IND009", "quiet-h200.log")
    assert "atomic_add_found" in quiet.read_text()
    assert not found(quiet, "IND009")
    scatter = fixture("IND009", "fires-h200.log")
    assert "tl.atomic_add(" in scatter.read_text()
    assert found(scatter, "IND009")


def test_what_a_cuda_graph_launches_is_launched_once() -> None:
    recorded = found(fixture("IND019", "quiet-h200-recorded.log.gz"), "IND019")
    assert [finding.severity for finding in recorded] == [Severity.NONE]
    one_by_one = found(fixture("IND019", "fires-h200.log.gz"), "IND019")
    assert [finding.severity for finding in one_by_one] == [Severity.INFO]
    assert ids(one_by_one) == {"cudagraphs", "combo-kernels"}


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("fires-h200-kept.log", {"clone", "mark-step"}),
        ("fires-h200-gradient.log", {"make-gradients", "drop-gradients"}),
        ("fires-h200-state.log", {"make-state"}),
    ],
)
def test_whose_tensor_was_overwritten(name: str, advice: set[str]) -> None:
    assert ids(found(fixture("CGR006", name), "CGR006")) == advice


def test_the_line_of_a_state_is_not_one_of_generated_code() -> None:
    state = found(fixture("CGR006", "fires-h200-state.log"), "CGR006")[0]
    assert state.where is not None
    assert not is_generated(state.where.file)


def test_a_generated_file_is_known_by_its_name() -> None:
    name = "cqujndzwduq4adqejpisho2k77pqz5dgdxcnesjinlo6jfdae2a7.py"
    assert is_generated(f"/data/cache/qu/{name}")
    assert not is_generated(f"/data/cache/ab/{name}")
    assert not is_generated("/home/ana/proj/qu/cquick.py")


def test_an_empty_capture_of_ones_own_computes_nothing(tmp_path: Path) -> None:
    own = fixture("CGR012", "fires-h200-own.log")
    assert [one.severity for one in found(own, "CGR012")] == [Severity.INFO]
    beside = tmp_path / "compiled.log"
    recorded = fixture("CGR006", "fires-h200-kept.log").read_text()
    beside.write_text(own.read_text() + recorded)
    assert [one.severity for one in found(beside, "CGR012")] == [Severity.NONE]


@pytest.mark.parametrize(
    ("keys", "regular"),
    [
        ([(8,), (64,), (1024,)], True),
        ([(24,), (40,), (48,)], True),
        ([(24, 7), (40, 7), (48, 7)], True),
        ([(112, 80), (128, 96), (144, 112)], False),
        ([(64, 32), (128, 64)], True),
        ([(17,), (34,), (51,)], False),
    ],
)
def test_sides_of_images_are_no_list_of_sizes(keys: list[tuple[int, ...]], regular: bool) -> None:
    assert _are_regular(keys) is regular


def test_a_buffer_keeps_its_device_under_another_name() -> None:
    result = shown(fixture("IND012", "fires-h200-result.log"), "IND012")
    assert [finding.data["target"] for finding in result] == ["cpu"]
    assert ids(result) == {"stay"}
    made = shown(fixture("IND012", "fires-h200-made.log"), "IND012")
    assert [finding.data["source"] for finding in made] == ["cpu"]
    assert ids(made) == {"on-the-device", "buffer"}


def test_an_epilogue_on_a_gpu_is_a_note(tmp_path: Path) -> None:
    path = fixture("IND002", "quiet-h200.log")
    (alone,) = found(path, "IND002")
    assert (alone.severity, alone.advice) == (Severity.NONE, ())
    assert "mostly as fast on a GPU" in (alone.harmless or "")
    table = fixture("TUN010", "fires-h200.log").read_text()
    tuned = tmp_path / "tuned.log"
    tuned.write_text(table + path.read_text())
    assert {finding.severity for finding in found(tuned, "IND002")} == {Severity.NONE}


def test_lines_of_one_recording_are_one(tmp_path: Path) -> None:
    """Torch prints a line for each graph that does not fit: at the fifth recording, five."""
    path = fixture("CGR005", "fires-h200-parameter.log")
    text = path.read_text()
    lines = text.count("Re-recording function=")
    (told,) = found(path, "CGR005")
    assert told.data["recordings"] == 6 < lines
    log = tmp_path / "run.log"
    shortened = text.splitlines(keepends=True)
    ends = [at for at, line in enumerate(shortened) if "] Recording function=" in line]
    log.write_text("".join(shortened[: ends[4] + 1]))  # four more than the first
    assert [one.data["recordings"] for one in found(log, "CGR005")] == [4]
    log.write_text("".join(shortened[: ends[3] + 1]))
    assert not found(log, "CGR005")


def test_hints_about_symbolic_sizes_are_folded(tmp_path: Path) -> None:
    symbols = fixture("IND013", "quiet-h200-symbols.log")
    assert {finding.severity for finding in found(symbols, "IND013")} == {Severity.NONE}
    known = tmp_path / "known.log"
    known.write_text(re.sub(r"\bs79\b", "4096", symbols.read_text()))
    assert {finding.severity for finding in found(known, "IND013")} == {Severity.INFO}


def test_defaults_of_an_older_torch_are_no_risk(tmp_path: Path) -> None:
    assert not found(fixture("NUM002", "quiet-2.11.log"), "NUM002")
    newer = fixture("NUM002", "quiet-defaults.log").read_text()
    off, on = (rf"skip_guards_on_constant_func_defaults\": {word}" for word in ("false", "true"))
    assert off in newer
    path = tmp_path / "newer.log"
    path.write_text("# tracelens: torch 2.13.0\n" + newer.replace(off, on))
    assert len(found(path, "NUM002")) == 1


def test_products_without_tf32_come_first_where_the_gpu_is_busy() -> None:
    busy = analyze(str(fixture("TRC019", "fires-h200-training.json.gz")))
    assert busy.shown[0].code == "TRC019"
    assert busy.shown[0].severity is Severity.WARNING
    idle = fixture("TRC002", "fires-h200-cells.json.gz")
    assert [finding.severity for finding in found(idle, "TRC019")] == [Severity.INFO]


def test_a_loop_over_a_cell_is_given_to_its_module() -> None:
    cells = found(fixture("TRC002", "fires-h200-cells.json.gz"), "TRC002")
    assert ids(cells) == {"recurrent"}


@pytest.mark.parametrize(("every", "named"), [(1, False), (12, True)])
def test_gaps_between_launches_are_no_work_of_a_line(
    every: int, named: bool, tmp_path: Path
) -> None:
    """A line calls torch, which takes 0.5 ms, before each launch or before each twelfth."""
    trace = trc_gpu.Trace()
    for number in range(3):
        start = trace.now
        for launch in range(60):
            if launch % every == 0:
                trace.add("python_function", "/home/ana/proj/train.py(7): update", trace.now, 510.0)
                trace.frame("torch/optim/optimizer.py(9): zero_grad", 500.0)
            trace.op("aten::mm", 20.0)
            trace.join("cudaLaunchKernel", 5.0, trc_gpu.TF32, 10.0)
        trace.step(number + 3, start)
    path = tmp_path / "trace.json"
    trace.save(path)
    assert bool(found(path, "TRC024")) is named
    assert found(path, "TRC001")


@pytest.mark.parametrize(
    ("failed", "advised"),
    [
        ("tensor 'x' size mismatch at index 1. expected 33, actual 61", {"batch"}),
        ("self.training == True", {"graph", "batch"}),
    ],
)
def test_a_cuda_graph_is_not_advised_where_sizes_change(
    failed: str, advised: set[str], tmp_path: Path
) -> None:
    trace = tmp_path / "trace.json.gz"
    trace.write_bytes(fixture("TRC001", "fires-h200-lengths.json.gz").read_bytes())
    assert ids(found(trace, "TRC001")) == {"graph", "batch"}
    head = "V1127 11:54:24.677000 501 torch/_dynamo/guards.py:4760] [0/1] [__recompiles] "
    log = tmp_path / "run.log"
    log.write_text(
        f"{head}Recompiling function forward in /home/ana/proj/net.py:14\n"
        f"{head}    triggered by the following guard failure(s):\n"
        f"{head}    - 0/0: {failed}\n"
    )
    report = analyze(str(trace), str(log))
    assert len(report.runs) == 1
    assert ids([one for one in report.findings if one.code == "TRC001"]) == advised


def test_the_kernel_that_failed_is_named_where_the_traceback_names_it() -> None:
    (failed,) = found(fixture("ERR000", "fires-h200-misaligned.log"), "ERR000")
    kernel = "triton_red_fused_expand_mul_sum_unsqueeze_0"
    assert f"in a call of `{kernel}`, which Inductor generated" in failed.message
    assert failed.data["facts"]["kernel"] == kernel
