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
