"""Members of an ensemble that are called one by one, told from layers that only look like it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tracelens import analyze
from tracelens.report import Finding, Severity

PREFIX = "V1101 10:00:00.000000 7 torch/_inductor/graph.py:2722] [0/0] [__output_code] "
ADDMM = (
    "extern_kernels.addmm(arg{b}_1, arg0_1, reinterpret_tensor(arg{w}_1, (16, {wide}), (1, 16), 0),"
    " alpha=1, beta=1, out=buf{n})"
)


def told(
    folder: Path,
    *,
    count: int,
    others: int = 0,
    rows: int = 32,
    weights: int = 0,
    device: str = "cpu",
) -> list[Finding]:
    """Write products of one input with ``count`` weights, and ``others`` of what they give."""
    wide = 48
    total = weights or count
    made = f"({rows}, {wide}), ({wide}, 1), torch.float32"
    lines = ["Output code:", "def call(args):"]
    names = [f"arg{number}_1" for number in range(2 * total + 1)]
    lines += [
        f"    {', '.join(names)} = args",
        f"    assert_size_stride(arg0_1, ({rows}, 16), (16, 1))",
    ]
    for number in range(total):
        lines.append(f"    assert_size_stride(arg{2 * number + 1}_1, ({wide}, 16), (16, 1))")
        lines.append(f"    assert_size_stride(arg{2 * number + 2}_1, ({wide}, ), (1, ))")
    for number in range(count):
        lines.append(f"    buf{number} = empty_strided_{device}({made})")
        at = number % total
        lines.append("    " + ADDMM.format(b=2 * at + 2, w=2 * at + 1, wide=wide, n=number))
    for number in range(others):
        lines.append(f"    buf{count + number} = empty_strided_{device}({made})")
        lines.append(f"    extern_kernels.mm(buf{number % count}, arg1_1, out=buf{count + number})")
    lines.append("    return (buf0, )")
    log = folder / "run.log"
    log.write_text("".join(f"{PREFIX}{line}\n" for line in lines))
    return [one for one in analyze(str(log)).findings if one.code == "IND019"]


@pytest.mark.parametrize(
    ("case", "is_told"),
    [
        ({"count": 16}, True),
        ({"count": 15}, False),
        ({"count": 16, "others": 64}, True),  # five layers each
        ({"count": 16, "others": 65}, False),  # blocks that all read one embedding
        ({"count": 16, "rows": 341}, True),
        ({"count": 16, "rows": 342}, False),  # products that take longer than their call
        ({"count": 24, "weights": 4}, False),  # steps of a recurrence
        ({"count": 24, "device": "cuda"}, False),
    ],
)
def test_members_of_an_ensemble_are_told(
    tmp_path: Path, case: dict[str, Any], *, is_told: bool
) -> None:
    found = told(tmp_path, **case)
    assert bool(found) is is_told
    for one in found:
        assert one.severity is Severity.WARNING
        assert [advice.id for advice in one.advice] == ["stack"]
        assert one.data["members"] == case["count"]
