"""A module that one graph calls again and again is compiled for each call."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.dynamo.called_often import CalledOften, called_often
from tracelens.logs.graph_code import FxGraph
from tracelens.source import read

(FOLDER,) = (Path(__file__).parents[2] / "fixtures" / "rules").glob("CMP001-*")
TEXT = gzip.decompress((FOLDER / "fires-called-often.log.gz").read_bytes()).decode()
PREFIX = "V1127 03:32:49.676000 77 torch/_dynamo/output_graph.py:2163] [0/0] [__graph_code] "


def called(path: Path, text: str) -> CalledOften:
    path.write_text(text)
    evidence, _ = read([str(path)])
    return called_often(evidence.table(FxGraph))


def graph(calls: int, *, layers: int = 8, root: str = "self_modules_net", own: int = 0) -> str:
    """Return a graph that calls a module of some layers, and then other layers once each."""
    names = [f"L_{root}_modules_{n}_parameters_weight_" for n in range(layers)]
    names += [f"L_self_modules_head{n}_parameters_weight_" for n in range(own)]
    inputs = "".join(f', {name}: "f32[8, 8]"' for name in names)
    lines = [f'    def forward(self, L_x_: "f32[8, 8]"{inputs}):', "        x = L_x_"]
    lines += [f"        l{name[1:]} = {name}" for name in names]
    used = [name for _ in range(calls) for name in names[:layers] for _ in range(3)][::3]
    for n, name in enumerate([*used, *names[layers:]]):
        lines += [f"         # File: /home/ana/proj/net.py:{7 + n % 8} in forward, code: x = f(x)"]
        lines += [f'        y{n}: "f32[8, 8]" = torch.mm(x, l{name[1:]})']
        lines += [f'        z{n}: "f32[8, 8]" = torch.relu(y{n});  y{n} = None']
        lines += [f'        x: "f32[8, 8]" = torch.sin(z{n});  z{n} = None']
    head = ["TRACED GRAPH", " ===== __compiled_fn_1 =====", " a.py class GraphModule(Module):"]
    return "".join(f"{PREFIX}{one}\n" for one in [*head, *lines, "        return (x,)", ""])


@pytest.mark.parametrize(
    ("text", "times", "module"),
    [
        (graph(4), 4, "self.net"),
        (graph(3), 0, ""),
        (graph(6), 6, "self.net"),
        (graph(6, layers=7), 0, ""),  # few weights: a cell, whose calls are short
        (graph(6, root="net"), 6, "net"),  # a closure's
        (graph(6, root="fn_modules_net"), 6, "self.net"),  # torch's wrapper
        (graph(4, own=40), 0, ""),  # most of what the graph does is something else
        (graph(1, layers=60), 0, ""),  # layers with weights of their own
    ],
)
def test_calls_are_counted_by_the_weights_that_they_share(
    text: str, times: int, module: str, tmp_path: Path
) -> None:
    found = called(tmp_path / "run.log", text)
    assert (found.times, found.module) == (times, module)


def test_it_is_told_also_where_the_cpu_is_oversubscribed(tmp_path: Path) -> None:
    """It names what compiling was spent on, and costs what the calls but one took."""
    log = tmp_path / "run.log"
    slow = "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32::blocked:ab::f0 "
    slow += "dst:f32::blocked:ba::f0,attr-scratchpad:user,,8x8,"
    times = [0.01, 0.01, 40.0] * 8
    log.write_text(TEXT + "".join(f"{slow}{ms}\n" for ms in times))
    report = analyze(str(log))
    codes = [one.code for one in report.shown]
    assert codes[0] == "ENV001"
    first = report.shown[1]
    assert (first.code, first.severity.value) == ("CMP001", "warning")
    assert first.cost is not None
    assert first.cost.basis == "upper_bound"
    assert first.advice[0].id == "compile-called"
    assert first.advice[0].code is not None
    assert first.advice[0].code.startswith("model.model = torch.compile(model.model)")


@pytest.mark.parametrize(
    ("others", "entries"),
    [((), ()), ((graph(4),), ()), ((graph(1, layers=8),), ("0/0",))],
)
def test_entries_that_call_it_often_are_named_where_others_do_not(
    others: tuple[str, ...], entries: tuple[str, ...], tmp_path: Path
) -> None:
    text = graph(4) + "".join(
        one.replace("[0/0]", f"[0/{n}]").replace("compiled_fn_1", f"compiled_fn_{n + 1}")
        for n, one in enumerate(others, 1)
    )
    assert called(tmp_path / "run.log", text).entries == entries


def test_the_cost_is_of_those_entries_alone(tmp_path: Path) -> None:
    """A second entry, as of training, that calls the module once."""
    log = tmp_path / "run.log"
    log.write_text(TEXT)
    (whole,) = [one for one in analyze(str(log)).findings if one.code == "CMP001"]
    once = graph(1).replace("[0/0]", "[9/0]").replace("03:32:49", "03:59:49")
    log.write_text(TEXT + once)
    (part,) = [one for one in analyze(str(log)).findings if one.code == "CMP001"]
    assert "and so it is in every recompile" in whole.message
    assert "other entries call it less often" in part.message
    assert whole.cost is not None
    assert part.cost is not None
    assert abs((part.cost.ms or 0) - (whole.cost.ms or 0)) < 0.01 * (whole.cost.ms or 0)
