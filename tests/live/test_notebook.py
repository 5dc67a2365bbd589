"""``tracelens.recording``: a part of a running program, recorded; everything is put back."""

import json
import os
import site
import subprocess
from pathlib import Path

import pytest

from tests.live.running import Ran

PROGRAM = """
import logging, sys
import torch
import tracelens

NAMES = ("torch", "torch._dynamo", "torch._inductor", "torch._dynamo.guards.__guards")

def state():
    loggers = [logging.getLogger(name) for name in NAMES]
    return [(log.level, len(log.handlers)) for log in loggers], sys.stderr, \\
        torch._inductor.config.fx_graph_cache

@torch.compile(backend="aot_eager")
def step(x):
    torch._dynamo.graph_break()
    return x * 2

def work(x):
    step(x)
    torch.nn.functional.conv2d(torch.randn(2, 16, 16, 16), torch.randn(16, 16, 3, 3))

before = state()
with tracelens.recording(sys.argv[1]) as rec:
    work(torch.ones(3))
    print("out", flush=True)
    print("err", file=sys.stderr)
    try:
        rec.report
    except tracelens.UsageError as error:
        print(error, flush=True)
assert state() == before
work(torch.ones(3, dtype=torch.double))
print(rec.report.environment.torch == torch.__version__)
try:
    with tracelens.recording(sys.argv[1] + "-failed"):
        raise KeyError("on purpose")
except KeyError:
    assert state() == before
"""


@pytest.mark.live
def test_a_block_is_recorded_and_everything_put_back(
    torch_python: str, torch_environment: dict[str, str], tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    path = [torch_environment["PYTHONPATH"], *site.getsitepackages()]
    done = subprocess.run(
        [torch_python, str(program), str(tmp_path / "bundle")],
        env=torch_environment | {"PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["out", "the recording goes on", "True"]
    assert done.stderr == "err\n"
    ran = Ran(0, done.stdout, done.stderr, tmp_path / "bundle")
    assert ran.log.count("primitive,exec,cpu,convolution") == 1
    assert "[__graph_breaks]" in ran.log
    assert {"out", "err"} <= set(ran.log.splitlines())
    kinds = json.loads((ran.bundle / "report.json").read_text())["inputs"][0]["kinds"]
    assert kinds["graph_breaks"] == 1
