"""What a call moves for nothing is noise where the call takes far longer."""

import gzip
import json
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Severity

ROOT = Path(__file__).parents[1]
LOG = ROOT / "fixtures" / "rules" / "IND004-cpu-inference-not-frozen" / "fires-resnet.log.gz"


def told(tmp_path: Path, ms: float | None) -> dict[str, Severity]:
    (tmp_path / "log.txt").write_bytes(gzip.decompress(LOG.read_bytes()))
    if ms is not None:
        event = {"ph": "X", "cat": "cpu_op", "name": "Torch-Compiled Region: 0/0", "pid": 1}
        event |= {"tid": 1, "dur": 1000 * ms}
        events = [event | {"ts": 1_000_000 * number} for number in range(9)]
        head = {"schemaVersion": 1, "deviceProperties": []}
        (tmp_path / "trace.json").write_text(json.dumps(head | {"traceEvents": events}))
    findings = analyze(str(tmp_path), one_run=True).findings
    return {f.code: f.severity for f in findings if f.code in {"IND002", "IND004"}}


@pytest.mark.parametrize(("ms", "noise"), [(None, False), (0.5, False), (25.0, True)])
def test_a_share_of_the_call_decides(tmp_path: Path, ms: float | None, noise: bool) -> None:
    # 40 KiB of weights: 8 microseconds, of half a millisecond or of 25
    assert (told(tmp_path, ms)["IND004"] is Severity.NONE) is noise


PREFIX = "V1101 10:00:00.000000 7 torch/_inductor/graph.py:2722] [0/0] [__output_code] "
LAYER = """\
Output code:
# AOT ID: ['0_inference']
def call(args):
    arg0_1, arg1_1, arg2_1 = args
    assert_size_stride(arg0_1, ({size}, 64), (64, 1))
    assert_size_stride(arg1_1, ({size}, ), (1, ))
    assert_size_stride(arg2_1, (1, 64), (64, 1))
    buf0 = empty_strided_cpu((1, {size}), ({size}, 1), torch.{dtype})
    extern_kernels.addmm(arg1_1, arg2_1, reinterpret_tensor(arg0_1, (64, {size}), (1, 64), 0), alpha=1, beta=1, out=buf0)
    return (buf0, )
def get_args():
    arg0_1 = rand_strided(({size}, 64), (64, 1), device='cpu', dtype=torch.{dtype})
"""  # noqa: E501 -- a line of a log


@pytest.mark.parametrize(("size", "told"), [(64, False), (127, False), (128, True), (1024, True)])
def test_float32_weights_that_the_first_cache_holds_are_not_worth_packing(
    tmp_path: Path, size: int, told: bool
) -> None:
    """Below 32 KiB the frozen model was as fast."""
    log = tmp_path / "run.log"
    log.write_text(
        "".join(f"{PREFIX}{x}\n" for x in LAYER.format(size=size, dtype="float32").splitlines())
    )
    (found,) = (one for one in analyze(str(log)).findings if one.code == "IND004")
    assert (found.severity is not Severity.NONE) is told


def test_a_weight_that_several_calls_share_is_counted_once(tmp_path: Path) -> None:
    """Two calls with one weight of 640 KiB are below a mebibyte, and no warning."""
    lines = LAYER.format(size=2560, dtype="float32").splitlines()
    call = next(line for line in lines if "addmm" in line)
    allocation = next(line for line in lines if "buf0 = " in line)
    again = [line.replace("buf0", "buf1") for line in (allocation, call)]
    at = lines.index(call) + 1
    log = tmp_path / "run.log"
    log.write_text("".join(f"{PREFIX}{x}\n" for x in (*lines[:at], *again, *lines[at:])))
    (found,) = (one for one in analyze(str(log)).findings if one.code == "IND004")
    assert found.data["products"] == 2
    assert found.data["bytes"] == 2560 * 64 * 4
    assert found.severity is Severity.INFO


@pytest.mark.parametrize(("us", "noise"), [(None, False), (90.0, False), (120.0, True)])
def test_guards_that_take_longer_than_the_weights_leave_nothing_to_gain(
    tmp_path: Path, us: float | None, noise: bool
) -> None:
    """256 KiB are read in 52 us; a model whose guards took 6 times as long was no faster frozen."""
    lines = [*LAYER.format(size=1024, dtype="float32").splitlines()]
    text = "".join(f"{PREFIX}{line}\n" for line in lines)
    if us is not None:
        text += f"{PREFIX.replace('output_code', 'guards')}Guard eval latency = {us} us\n"
    log = tmp_path / "run.log"
    log.write_text(text)
    (found,) = (one for one in analyze(str(log)).findings if one.code == "IND004")
    assert (found.severity is Severity.NONE) is noise
