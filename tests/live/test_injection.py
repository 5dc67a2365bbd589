"""What is injected into a child: settings, arguments, step times; and Dynamo is not disturbed."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tracelens.experiment import Knob, Value
from tracelens.live import injection, process, steps
from tracelens.live.steps import Steps

#: Modules, functions, nested and class cases; prints what Dynamo thinks of them.
PROGRAM = """
import json
import torch
from torch._dynamo.utils import counters



def inner(x):
    return x.relu() + 1

nested = torch.compile(inner, backend="eager")

@torch.compile(fullgraph=True, backend="eager")
def outer(x):
    return nested(x) * 2

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x).sin()

block = torch.compile(Block(), backend="aot_eager")
layers = torch.nn.Sequential(Block(), Block())
for layer in layers:
    layer.compile(backend="aot_eager")

def broken(x):
    x = x + 1
    torch._dynamo.graph_break()
    return nested(x)

x = torch.ones(4)
for number in range(12):
    outer(x)
    block(x)
    layers(x)
    torch.compile(broken, backend="eager")(x)
for size in (5, 6):
    outer(torch.ones(size))
found = torch._dynamo.explain(broken)(x)
print(json.dumps({
    "stats": dict(counters["stats"]),
    "breaks": sum(counters["graph_break"].values()),
    "frames": {k: dict(v) for k, v in counters.items() if k == "frames"},
    "explained": [found.graph_count, found.graph_break_count],
    "name": outer.__name__,
    "same": torch._dynamo.eval_frame.innermost_fn(outer) is not outer,
    "freezing": torch._inductor.config.freezing,
    "precision": torch.get_float32_matmul_precision(),
}))
"""


def tell(python: str, env: dict[str, str], program: str = PROGRAM) -> object:
    out: list[bytes] = []
    finished = process.run(
        [python, "-c", program],
        env=env,
        on_output=lambda stream, data: out.append(data) if stream == "stdout" else None,
    )
    assert finished.code == 0
    found: object = json.loads(b"".join(out))
    return found


@pytest.mark.live
def test_dynamo_counts_the_same_with_and_without(
    torch_python: str, torch_environment: dict[str, str], tmp_path: Path
) -> None:
    bare = tell(torch_python, torch_environment)
    timed = tell(torch_python, injection.environment(folder=tmp_path, base=torch_environment))
    assert timed == bare
    told = steps.read(tmp_path)
    assert told.calls >= 12
    assert told.compiles >= 4
    assert told.notes == ()


@pytest.mark.live
def test_a_knob_takes_effect_and_what_does_not_is_told(
    torch_python: str, torch_environment: dict[str, str], tmp_path: Path
) -> None:
    knob = Knob(
        "several",
        env={"OMP_NUM_THREADS": "2", "FROM_OUTSIDE": None},
        config={
            "torch._inductor.config.freezing": True,
            "torch._dynamo.config.no_such_thing": 1,
            "torch.set_float32_matmul_precision": "high",
        },
        compile={"backend": "eager", "mode": None},
    )
    program = """
import json, os, torch
step = torch.compile(lambda x: x + 1, mode="max-autotune")
for _ in range(5):
    step(torch.ones(2))
print(json.dumps([torch._inductor.config.freezing, torch.get_float32_matmul_precision(),
    torch.get_num_threads(), "FROM_OUTSIDE" in os.environ,
    "torch._inductor.compile_fx" in __import__("sys").modules]))
"""
    base = torch_environment | {"FROM_OUTSIDE": "1"}
    env = injection.environment(knob, tmp_path, base=base)
    assert tell(torch_python, env, program) == [True, "high", 2, False, False]
    told = steps.read(tmp_path)
    assert {"torch._inductor.config.freezing", "torch.compile(backend=)"} <= set(told.settings)
    (note,) = told.notes
    assert note.startswith("torch._dynamo.config.no_such_thing: ")
    assert (told.calls, told.compiles) == (5, 1)
    assert len(told.seconds) == 3


IMAGES = """
import json, torch
torch.manual_seed(0)
layer = {layer}
step = torch.compile(layer.eval(), backend="eager")
with torch.no_grad():
    made = [step({argument}) for _ in range(3)]
layout = torch.channels_last
print(json.dumps([one.is_contiguous(memory_format=layout) for one in made]))
"""


@pytest.mark.live
def test_modules_and_images_get_another_memory_format(
    torch_python: str, torch_environment: dict[str, str], tmp_path: Path
) -> None:
    knob = Knob("layout", layout="channels_last")
    images = IMAGES.format(layer="torch.nn.Conv2d(4, 8, 3)", argument="torch.ones(2, 4, 9, 9)")
    env = injection.environment(knob, tmp_path, base=torch_environment)
    assert tell(torch_python, env, images) == [True] * 3
    assert steps.read(tmp_path).notes == ()
    assert tell(torch_python, torch_environment, images) == [False] * 3
    rows = IMAGES.format(layer="torch.nn.Linear(9, 3)", argument="torch.ones(2, 4, 9, 9)")
    folder = tmp_path / "second"
    folder.mkdir()
    env = injection.environment(knob, folder, base=torch_environment)
    assert tell(torch_python, env, rows) == [False] * 3
    (note,) = steps.read(folder).notes
    assert note == "model.to(memory_format=): no compiled module has 4-dimensional weights"


def test_the_files_of_a_killed_process_are_read(tmp_path: Path) -> None:
    lines = [
        {"process": {"pid": 7, "began": 1_000}},
        {"callable": [0, "f"]},
        ["compile", 2_000, 5_000],
        *(["call", 0, start, start + 500] for start in (1_500, 6_000, 8_000, 11_000)),
    ]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (tmp_path / "process-7.jsonl").write_text(text + '["call", 0, 12')
    told = steps.read(tmp_path)
    assert (told.calls, told.compiles) == (4, 1)
    assert told.seconds == pytest.approx((2e-6, 3e-6))
    assert told.run_seconds == pytest.approx(10.5e-6)


def test_nothing_told_is_no_steps(tmp_path: Path) -> None:
    assert steps.read(tmp_path) == Steps()


def test_a_python_that_is_asked_nothing_is_left_alone(tmp_path: Path) -> None:
    site = tmp_path / "sitecustomize.py"
    site.write_text("import sys\nsys.customized = True\n")
    program = "import sys; print(sys.customized, [p for p in sys.path if 'inject' in p])"
    env = {"PYTHONPATH": f"{injection.FOLDER}:{tmp_path}"}
    for spec in ("", "{", '{"folder": "/does/not/exist", "steps": true}'):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=env | {injection.SPEC: spec},
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
        assert (done.stdout, done.stderr) == ("True []\n", "")


@pytest.mark.parametrize("path", sorted(injection.FOLDER.rglob("*.py")), ids=lambda p: p.stem)
def test_what_is_injected_suits_old_pythons_and_needs_nothing(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
    }
    assert imported <= sys.stdlib_module_names


@pytest.mark.live
def test_arguments_of_optimizers_are_replaced_where_they_exist(
    torch_python: str, torch_environment: dict[str, str], tmp_path: Path
) -> None:
    program = (
        "import torch\n"
        "weights = [torch.ones(3, requires_grad=True)]\n"
        "for made in (torch.optim.SGD(weights, 0.5), torch.optim.Rprop(weights, lr=0.25)):\n"
        "    group = made.param_groups[0]\n"
        "    print(type(group['lr']).__name__, float(group['lr']), group.get('fused'))\n"
    )
    folder = tmp_path / "told"
    folder.mkdir()
    knob = Knob("optimizers", optimizer={"lr": "tensor", "fused": True})
    done = subprocess.run(
        [torch_python, "-c", program],
        env=injection.environment(knob, folder, base=torch_environment),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert done.stdout.split("\n")[:2] == ["Tensor 0.5 True", "Tensor 0.25 None"]
    (told,) = steps.processes(folder)
    assert {name for name, holds, _ in told.force if holds} == {
        "torch.optim(lr=)",
        "torch.optim(fused=)",
    }


CALLED = """
import json, torch
from torch._dynamo.utils import counters

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.calls = None, 0

    def forward(self, x):
        if self.table is None:
            self.table = torch.arange(4.0)
        return x * self.table, x @ torch.ones(4, 4)

torch.manual_seed(0)
model = torch.compile(Model(), backend="eager")
kinds = [str(model(torch.ones(n, 4))[1].dtype) for n in (3, 3, 5, 7)]
print(json.dumps([kinds[-1], counters["stats"]["unique_graphs"], torch.rand(1).item()]))
"""


@pytest.mark.live
def test_code_advice_that_is_one_call_is_made_around_calls(
    torch_python: str, torch_environment: dict[str, str], tmp_path: Path
) -> None:
    """Compilations: the table's, and the other size's; each is spared by what is advised."""

    def called(name: str, **call: Value) -> tuple[Any, dict[str, bool], list[str]]:
        folder = tmp_path / name
        folder.mkdir()
        env = injection.environment(Knob(name, call=call), folder, base=torch_environment)
        found = tell(torch_python, env, CALLED)
        (told,) = steps.processes(folder)
        return found, {name: holds for name, holds, _ in told.force}, told.notes

    bare: Any = tell(torch_python, torch_environment, CALLED)
    dtype, graphs, random = bare
    assert (dtype, graphs) == ("torch.float32", 3)
    first = "model(...) before torch.compile(model)"
    assert called("first", eager_first=True) == ([dtype, 2, random], {first: True}, [])
    both, held, _ = called("both", eager_first=True, mark_dynamic="x, 0")
    assert both == [dtype, 1, random]
    assert held == {first: True, "torch._dynamo.maybe_mark_dynamic()": True}
    found, held, notes = called("other", mark_dynamic="y, 0")
    assert (found, held) == ([dtype, 3, random], {})
    assert notes == ["torch._dynamo.maybe_mark_dynamic(): no compiled callable was given it"]
    lower, held, _ = called("lower", autocast="bfloat16")
    assert lower[0] == "torch.bfloat16"
    assert held == {"torch.autocast()": True}


INNER = """
import json, sys, torch
from torch._dynamo.utils import counters

class Head(torch.nn.Module):
    def forward(self, x):
        if len(sys.argv) > 9:
            print()
        x = torch.relu(x)
        torch._dynamo.graph_break()
        return x * 2

body = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
torch.manual_seed(0)
model = torch.nn.Sequential(body, Head(), torch.nn.Linear(4, 2))
x = torch.ones(2, 4)
with torch.no_grad():
    expected = model(x)
    model.compile(backend="eager")
    same = all(torch.equal(model(x), expected) for _ in range(3))
inside = [m._compiled_call_impl is not None for m in (body, body[0], model[1], model[2])]
breaks = sum(counters["graph_break"].values())
print(json.dumps([same, inside, breaks, counters["stats"]["unique_graphs"]]))
"""


@pytest.mark.live
def test_modules_that_do_not_reach_a_line_are_compiled_instead_of_what_calls_them(
    torch_python: str, torch_environment: dict[str, str], tmp_path: Path
) -> None:
    def told(name: str, line: int) -> tuple[Any, list[tuple[str, bool]], list[str]]:
        folder = tmp_path / name
        folder.mkdir()
        knob = Knob(name, call={"compile_inner": f"<string>:{line}"})
        env = injection.environment(knob, folder, base=torch_environment)
        found = tell(torch_python, env, INNER)
        (one,) = steps.processes(folder)
        return found, [(name, holds) for name, holds, _ in one.force], one.notes

    lines = INNER.splitlines()
    at = next(number for number, line in enumerate(lines, start=1) if "graph_break()" in line)
    found, held, notes = told("inner", at)
    assert found == [True, [True, False, False, True], 0, 2], "the body as a whole, and the end"
    assert (held, notes) == ([("torch.compile(module)", True)], [])
    found, held, notes = told("elsewhere", 10_000)
    assert (found[1], held) == ([False] * 4, []), "it is compiled as it would be"
    assert notes == [
        "torch.compile(module): the first call does not reach that line, or all modules do"
    ]
