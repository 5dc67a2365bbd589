"""Modules of the same parts that one graph calls one by one."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.dynamo.siblings import Siblings, siblings
from tracelens.logs.graph_code import FxGraph
from tracelens.report import Finding
from tracelens.source import read

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
PREFIX = "V1127 12:00:00.000000 7 torch/_dynamo/output_graph.py:2835] [0/0] [__graph_code] "
LATER = (
    "V1127 12:01:00.000000 7 torch/_dynamo/guards.py:4519] [0/0] [__guards] "
    "Guard eval latency = 9.00 us"
)


def graph(
    number: int, *, chain: bool = False, wide: int = 8, rate: bool = False, **more: str
) -> str:
    """Return a graph that calls so many modules, side by side or one on the other's result."""
    held = [f"L_self_modules_nets_modules_f{n}_modules_" for n in range(number)]
    parts = ("up_parameters_weight_", "up_parameters_bias_", "down_parameters_weight_")
    sizes = (f"f32[{wide}, {wide}][{wide}, 1]cpu", f"f32[{wide}][1]cpu", f"f32[1, {wide}][1, 1]cpu")
    names = [
        (f"{one}{part}", size) for one in held for part, size in zip(parts, sizes, strict=True)
    ]
    names += [(f"{one}{more['also']}", "f32[8][1]cpu") for one in held if "also" in more]
    inputs = ", ".join(f'{name}: "{size}"' for name, size in names)
    lines = [f'    def forward(self, L_x_: "f32[4, {wide}][{wide}, 1]cpu", {inputs}):']
    lines += ["        l_x_ = L_x_", *(f"        l{name[1:]} = {name}" for name, _ in names)]
    given = "l_x_"
    for n, one in enumerate(held):
        if "take" in more:
            at, code = more.get("line", "20"), more.get("code", "net(x[:, n]) for n")
            lines += [f"         # File: /home/ana/proj/net.py:{at} in forward, code: {code}"]
            lines += [f'        x{n}: "f32[4, 8][8, 1]cpu" = {more["take"].format(n=n)}']
            given = f"x{n}"
        weight, bias, last = (f"l{one[1:]}{part}" for part in parts)
        size = f"f32[4, {wide}][{wide}, 1]cpu"
        lines += [
            "         # File: /home/ana/proj/net.py:9 in forward, code: return self.down(h)",
            f'        a{n}: "{size}" = torch._C._nn.linear({given}, {weight}, {bias})',
            f'        b{n}: "{size}" = torch.nn.functional.dropout(a{n}, 0.{n if rate else 1})',
            f'        c{n}: "{size}" = {more.get("call", "torch.tanh")}(b{n});  b{n} = None',
            f'        d{n}: "{size}" = c{n} @ {last};  c{n} = {last} = None',
        ]
        given = f"d{n}" if chain else given
    lines += ["        return (d0,)", ""]
    head = ["TRACED GRAPH", " ===== __compiled_fn_1 =====", " a.py class GraphModule(Module):"]
    return "".join(f"{PREFIX}{line}\n" for line in [*head, *lines])


def found(path: Path, text: str) -> Siblings:
    path.write_text(text)
    evidence, _ = read([str(path)])
    return siblings(evidence.table(FxGraph))


@pytest.mark.parametrize(
    ("text", "number", "is_apart", "can_stack"),
    [
        (graph(8), 8, True, True),
        (graph(7), 0, False, False),
        (graph(8, chain=True), 8, False, False),  # layers of a transformer
        (graph(8, rate=True), 8, True, False),  # each with a constant of its own
        (graph(8, wide=200), 8, True, True),
        (graph(8, wide=30_000), 8, True, False),  # products that take long themselves
        (graph(8, also="up_buffers_mean_"), 8, True, False),
        (graph(8, also="up_scale"), 8, True, False),  # a tensor that is neither
        (graph(8, call="torch.relu_"), 8, True, False),
        (graph(8, take="l_x_[(slice(None, None, None), {n})]"), 8, True, True),
        (graph(8, take="l_x_ * 2.0"), 8, True, True),
        (graph(8, take="l_x_ * {n}.0"), 8, True, False),  # each by a number of its own
        (graph(8, take="torch.full((4, 8), {n})"), 8, True, False),
        (graph(8, take="l_x_[{n}]", code="self.up(x[self.n])"), 8, True, False),
        (graph(8, take="l_x_[{n}]", line="9"), 8, True, False),  # a line of the modules
    ],
)
def test_modules_of_the_same_parts(
    text: str, number: int, is_apart: bool, can_stack: bool, tmp_path: Path
) -> None:
    one = found(tmp_path / "run.log", text)
    assert (one.number, one.is_apart, one.can_stack) == (number, is_apart, can_stack)


def told(tmp_path: Path, text: str) -> Finding:
    log = tmp_path / "run.log"
    log.write_text(text + f"{LATER}\n")
    (finding,) = [one for one in analyze(str(log)).findings if one.code == "CMP001"]
    return finding


def test_one_call_for_all_is_advised(tmp_path: Path) -> None:
    finding = told(tmp_path, graph(10))
    assert (finding.severity.value, "10 modules of the same parts" in finding.title) == (
        "warning",
        True,
    )
    advice = {one.id: one for one in finding.advice}
    assert [*advice][:2] == ["stack-in-forward", "each-module"]
    code = advice["stack-in-forward"].code
    assert code is not None
    assert code.startswith("nets = list(self.nets.children())")


@pytest.mark.parametrize("rate", [False, True])
def test_where_they_differ_each_is_compiled(rate: bool, tmp_path: Path) -> None:
    ids = [one.id for one in told(tmp_path, graph(8, rate=rate)).advice]
    assert ("stack-in-forward" in ids) is not rate
    assert "each-module" in ids


def test_layers_are_a_note(tmp_path: Path) -> None:
    finding = told(tmp_path, graph(8, chain=True))
    assert finding.severity.value == "none"
    assert finding.data["siblings"] == 0


def fixture(code: str, name: str) -> dict[str, Finding]:
    (path,) = FIXTURES.glob(f"{code}-*/{name}.log.gz")
    return {one.code: one for one in analyze(str(path)).findings}


def test_small_kernels_of_such_modules_are_a_warning_of_their_own() -> None:
    first = fixture("IND019", "fires-siblings")["IND019"]
    assert first.severity.value == "warning"
    assert "for 20 modules of the same parts" in first.title
    assert first.advice[0].id == "stack-in-forward"
    assert "IND019" not in fixture("IND019", "quiet-stacked")


def test_a_loop_over_a_size_is_why_compiling_took_long(tmp_path: Path) -> None:
    """It is a warning by the clocks, too, and the seconds of all compilations belong to it."""
    found = fixture("RCP002", "fires-unrolled-by-clocks")
    loop, whole = found["RCP002"], found["CMP001"]
    assert (loop.severity.value, loop.confidence.value) == ("warning", "medium")
    assert whole.explained_by == loop.id
    (path,) = FIXTURES.glob("RCP002-*/fires-unrolled-by-clocks.log.gz")
    lines = gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)
    log = tmp_path / "run.log"  # without graphs nobody knows of a loop
    log.write_text("".join(line for line in lines if "[__graph_code]" not in line))
    found = {one.code: one for one in analyze(str(log)).findings}
    assert (found["RCP002"].severity.value, found["RCP002"].confidence.value) == ("info", "low")
    assert found["CMP001"].explained_by is None
