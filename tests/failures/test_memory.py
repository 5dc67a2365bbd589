"""Memory that ran out: in eager code, beside other processes, in private pools, in fragments."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding

EAGER = """Traceback (most recent call last):
  File "/home/ana/proj/train.py", line 61, in <module>
    out = model(x)
  File "/home/ana/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1784, in _call_impl
    return forward_call(*args, **kwargs)
  File "/home/ana/proj/model.py", line 34, in forward
    scores = q @ k.transpose(-2, -1)
"""  # noqa: E501 -- whole lines of a log
COMPILED = EAGER.replace("torch/nn/modules/module.py", "torch/_dynamo/eval_frame.py")
SAID = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {wanted} GiB. GPU 0 has a total "
    "capacity of 22.00 GiB of which {free} GiB is free. Including non-PyTorch memory, this process "
    "has {own} GiB memory in use. Of the allocated memory 10.00 GiB is allocated by PyTorch, "
    "{pools}and {unused} MiB is reserved by PyTorch but unallocated.\n"
)
SIZES = {"wanted": 4.0, "free": 1.9, "own": 20.0, "pools": "", "unused": 120.0}
POOLS = "with 6.12 GiB allocated in private pools (e.g., CUDA Graphs), "


def told(tmp_path: Path, frames: str = EAGER, **sizes: float | str) -> Finding:
    log = tmp_path / "run.log"
    log.write_text(frames + SAID.format(**(SIZES | sizes)))
    (found,) = [one for one in analyze(str(log)).findings if one.code == "ERR025"]
    return found


def advice(found: Finding) -> list[str | None]:
    return [one.id for one in found.advice]


def test_eager_code_is_told_nothing_of_compiling(tmp_path: Path) -> None:
    found = told(tmp_path)
    assert found.data["stage"] == "program"
    assert advice(found) == ["smaller"]
    assert told(tmp_path, COMPILED).data["stage"] != "program"


@pytest.mark.parametrize("frames", [EAGER, COMPILED])
def test_private_pools_are_those_of_graphs(frames: str, tmp_path: Path) -> None:
    assert {"no-graphs", "sizes"} <= set(advice(told(tmp_path, frames, pools=POOLS)))
    assert not {"no-graphs", "sizes"} & set(advice(told(tmp_path, frames)))


@pytest.mark.parametrize(("own", "others"), [(17.8, True), (18.0, False)])
def test_who_else_holds_the_memory_is_asked_where_somebody_does(
    own: float, *, others: bool, tmp_path: Path
) -> None:
    """A tenth of 22 GiB is free for the driver: 22 - 1.9 - 17.8 is 2.3 GiB."""
    assert ("others" in advice(told(tmp_path, own=own))) is others


@pytest.mark.parametrize(("unused", "fragments"), [(4096.0, True), (4095.0, False)])
def test_fragments_matter_where_they_would_do(
    unused: float, *, fragments: bool, tmp_path: Path
) -> None:
    assert ("segments" in advice(told(tmp_path, unused=unused))) is fragments


def test_what_the_message_does_not_count_stays_possible(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(
        EAGER + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB\n"
    )
    (found,) = [one for one in analyze(str(log)).findings if one.code == "ERR025"]
    assert advice(found) == ["others", "segments", "smaller"]
