"""Does a check of healthy programs pass, and fail when a switch is forgotten?

    OMP_NUM_THREADS=1 python benchmarks/healthy.py -o docs/campaigns/healthy.json
    python benchmarks/healthy.py --only mlp,conv --keep DIR

Each program is recorded in three ways: its plain output with ``TORCH_LOGS=graph_breaks,recompiles
ONEDNN_VERBOSE=1``, ``tracelens run``, and ``tracelens.recording()``. Each recording must pass
``--require ONE,GBR,RCP --fail-on warning``; with any one of the switches taken away it must fail
and name it. A healthy program prints nothing for ``graph_breaks`` and ``recompiles``: recorded
without one of them, it is the recording less what tells of the switch. What was found is added to
the file after each program. Takes about a minute per program on two cores.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tracelens.cli import main

#: What the check needs -> the family that it belongs to, and the switch that is to be named.
NEEDED = {
    "graph_breaks": ("GBR", 'TORCH_LOGS="graph_breaks"'),
    "recompiles": ("RCP", 'TORCH_LOGS="recompiles"'),
    "onednn_verbose": ("ONE", "ONEDNN_VERBOSE=1"),
}
CHECK = ("--require", "ONE,GBR,RCP", "--fail-on", "warning")

#: Name -> an expression of the model, and its inputs.
MODELS = {
    "mlp": ("nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64))", "r(8, 64)"),
    "linear": ("nn.Linear(64, 64)", "r(8, 64)"),
    "wide": ("nn.Sequential(nn.Linear(32, 256), nn.GELU(), nn.Linear(256, 32))", "r(16, 32)"),
    "tanh": ("nn.Sequential(nn.Linear(64, 64), nn.Tanh())", "r(4, 64)"),
    "conv": ("nn.Sequential(nn.Conv2d(8, 16, 3), nn.ReLU())", "r(1, 8, 16, 16)"),
    "conv1d": ("nn.Conv1d(8, 16, 3)", "r(8, 8, 16384)"),
    "norm": ("nn.LayerNorm(64)", "r(8, 64)"),
    "batch_norm": ("nn.BatchNorm1d(64)", "r(8, 64)"),
    "group_norm": ("nn.GroupNorm(4, 16)", "r(2, 16, 8, 8)"),
    "softmax": ("nn.Softmax(dim=-1)", "r(8, 64)"),
    "pool": ("nn.AvgPool2d(2)", "r(1, 8, 16, 16)"),
    "embedding": (
        "nn.Sequential(nn.Embedding(100, 32), nn.Linear(32, 16))",
        "torch.arange(12).view(2, 6)",
    ),
    "dropout": ("nn.Sequential(nn.Linear(64, 64), nn.Dropout(0.1))", "r(8, 64)"),
    "attention": ("Attention()", "r(2, 16, 64)"),
    "encoder": ("Block()", "r(2, 16, 64)"),
    "residual": ("Residual()", "r(8, 64)"),
    "gated": ("Gated()", "r(8, 64)"),
    "rms_norm": ("RMSNorm()", "r(8, 64)"),
    "lstm_cell": ("Cell()", "r(4, 32), r(4, 32), r(4, 32)"),
    "two_inputs": ("Pair()", "r(8, 64), r(8, 64)"),
}

HEAD = """
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
r = torch.randn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(64, 192), nn.Linear(64, 64)

    def forward(self, x):
        q, k, v = self.qkv(x).view(2, 16, 3, 4, 16).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(2, 16, 64))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.one, self.two = Attention(), nn.LayerNorm(64), nn.LayerNorm(64)
        self.mlp = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64))

    def forward(self, x):
        x = x + self.attention(self.one(x))
        return x + self.mlp(self.two(x))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(64, 64)

    def forward(self, x):
        return x + F.relu(self.inner(x))


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(64, 256), nn.Linear(128, 64)

    def forward(self, x):
        a, b = self.up(x).chunk(2, dim=-1)
        return self.down(a * torch.sigmoid(b))


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(64))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.x, self.h = nn.Linear(32, 128), nn.Linear(32, 128)

    def forward(self, x, h, c):
        i, f, g, o = (self.x(x) + self.h(h)).chunk(4, dim=-1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(64, 64), nn.Linear(64, 64)

    def forward(self, a, b):
        return self.left(a) * self.right(b)


"""
BODY = """
model = {model}.eval()
inputs = ({inputs},)
step = torch.compile(model)
with torch.no_grad():
    for _ in range(4):
        step(*inputs)
"""
RECORDED = "import tracelens\nwith tracelens.recording({folder!r}):\n"


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the variables of a program: one thread, and a cache of its own."""
    own = {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")}
    return os.environ | own | more


def record(name: str, folder: Path) -> dict[str, Path]:
    """Record a program in three ways; returns what to analyze, by the way."""
    model, inputs = MODELS[name]
    body = BODY.format(model=model, inputs=inputs)
    (folder / "program.py").write_text(HEAD + body, encoding="utf-8")
    block = RECORDED.format(folder=str(folder / "block")) + textwrap.indent(body, "    ")
    (folder / "block.py").write_text(HEAD + block, encoding="utf-8")
    switches = {"TORCH_LOGS": "graph_breaks,recompiles", "ONEDNN_VERBOSE": "1"}
    plain = subprocess.run(
        [sys.executable, "program.py"], cwd=folder, env=environment(folder, **switches),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True,
    )  # fmt: skip
    (folder / "run.log").write_bytes(plain.stdout)
    subprocess.run([sys.executable, "block.py"], cwd=folder, env=environment(folder), check=True)
    subprocess.run(
        [sys.executable, "-m", "tracelens", "run", "-q", "-o", "bundle", "--", sys.executable,
         "program.py"], cwd=folder, env=environment(folder), check=True, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return {name: folder / name for name in ("run.log", "bundle", "block")}


def without(way: str, path: Path, artifact: str) -> Path:
    """Return a copy of a recording as it is without one switch."""
    if way == "run.log":  # what the log itself proves needs no word of the user's
        copy = path.with_name(f"without-{artifact}.log")
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        copy.write_text("".join(_less(line, artifact) for line in lines), encoding="utf-8")
        return copy
    copy = path.with_name(f"{way}-without-{artifact}")
    copy.mkdir()
    lines = gzip.decompress((path / "log.txt.gz").read_bytes()).decode().splitlines(keepends=True)
    kept = [line for line in (_less(one, artifact) for one in lines) if line]
    (copy / "log.txt.gz").write_bytes(gzip.compress("".join(kept).encode()))
    shutil.copy(path / "environment.json", copy)
    return copy


def _less(line: str, artifact: str) -> str:
    """Return a line of a log as it is without one switch."""
    if f"[__{artifact}" in line or line.startswith(artifact):
        return ""
    if artifact == "onednn_verbose" and line.startswith("# tracelens: ONEDNN_VERBOSE"):
        return ""
    if line.startswith("# tracelens: TORCH_TRACE"):
        return ""
    if line.startswith("# tracelens: TORCH_LOGS "):
        head, _, value = line.rstrip("\n").rpartition(" ")
        names = [word for word in value.split(",") if not word.startswith(artifact)]
        return f"{head} {','.join(names)}\n"
    return line


def check(path: Path, given: list[str]) -> tuple[int, str]:
    """Return the exit code of the check, and all that it printed."""
    told = ["--recorded-with", ",".join(given)] if given else []
    said, printed = io.StringIO(), io.TextIOWrapper(io.BytesIO())
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(printed):
        code = main(["analyze", str(path), *told, *CHECK])
    printed.seek(0)
    return code, said.getvalue() + printed.read()


def tried(name: str, folder: Path) -> dict[str, Any]:
    """Return how the check ended for each recording of a program, and what went wrong."""
    found: dict[str, Any] = {}
    for way, path in record(name, folder).items():
        given = list(NEEDED) if way == "run.log" else []
        code, said = check(path, given)
        found[way] = {"exit": code} | ({"said": said} if code else {})
        for artifact, (family, switch) in NEEDED.items():
            less = [one for one in given if one != artifact]
            code, said = check(without(way, path, artifact), less)
            named = f"no evidence for {family}" in said and switch in said
            found[way][f"without {artifact}"] = {"exit": code, "names it": named}
    return found


def is_right(found: dict[str, Any]) -> bool:
    """Tell whether all three recordings passed, and failed where a switch is missing."""
    missing = {"exit": 1, "names it": True}
    return all(
        way["exit"] == 0 and all(way[f"without {name}"] == missing for name in NEEDED)
        for way in found.values()
    )


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(MODELS), help="programs, comma separated")
    parser.add_argument("--keep", type=Path, help="where to keep the recordings")
    parser.add_argument("-o", "--out", type=Path, help="the file of what was found")
    given = parser.parse_args()
    names = given.only.split(",")
    programs: dict[str, Any] = {}
    result = {
        "date": f"{datetime.date.today()}",
        "torch": version("torch"),
        "right": "0 of 0",
        "programs": programs,
    }
    with tempfile.TemporaryDirectory() as temporary:
        for name in names:
            folder = (given.keep or Path(temporary)) / name
            folder.mkdir(parents=True)
            programs[name] = tried(name, folder)
            right = is_right(programs[name])
            print(f"{name}: {'right' if right else json.dumps(programs[name])}", flush=True)
            result["right"] = f"{sum(map(is_right, programs.values()))} of {len(programs)}"
            if given.out:
                given.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(f"{result['right']} programs are judged right in all three ways")
    return int(not all(map(is_right, programs.values())))


if __name__ == "__main__":
    sys.exit(_main())
