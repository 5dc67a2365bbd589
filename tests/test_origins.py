"""The user's line of a generated call, by the traced graph of the same compile id."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest

from tracelens.evidence import Evidence
from tracelens.evidence.tables import Seen
from tracelens.inductor import origins
from tracelens.inductor.origins import Lines
from tracelens.logs._statements import ExternCall
from tracelens.logs.graph_code import FxGraph, Node
from tracelens.logs.output_code import OutputModule, Step
from tracelens.source import read

GRAPH = """\
TRACED GRAPH
 ===== __compiled_fn_1 =====
 /home/ana/venv/torch/fx/_lazy_graph_module.py class GraphModule(torch.nn.Module):
    def forward(self, L_self_weight_: "f32[8, 8][8, 1]cpu", L_x_: "f32[4, 8][8, 1]cpu"):
        l_self_weight_ = L_self_weight_
        l_x_ = L_x_

        # File: /home/ana/proj/model.py:5 in forward, code: y = torch.nn.functional.linear(x, w)
        y: "f32[4, 8][8, 1]cpu" = torch._C._nn.linear(l_x_, l_self_weight_)

        # File: /home/ana/proj/model.py:6 in forward, code: z = y.cumsum(-1)
        z: "f32[4, 8][8, 1]cpu" = y.cumsum(-1)

        # File: /home/ana/proj/model.py:7 in forward, code: return torch.special.zeta(z, z)
        special_zeta: "f32[4, 8][8, 1]cpu" = torch.special.zeta(z, z)
        return (special_zeta,)
"""
CODE = """\
Output code:
# AOT ID: ['0_inference']
def call(args):
    arg0_1, arg1_1 = args
    # Topologically Sorted Source Nodes: [y], Original ATen: [aten.t, aten.mm]
    extern_kernels.mm(arg0_1, arg1_1, out=buf0)
    # Topologically Sorted Source Nodes: [y, z], Original ATen: [aten.mm, aten.cumsum]
    buf1 = torch.ops.aten.cumsum.default(buf0, dim=-1)
    return (buf1, )
"""


def log(artifact: str, text: str, frame: str) -> str:
    prefix = f"V1120 12:00:00.000000 100 torch/x.py:1] [{frame}] [__{artifact}] "
    return "".join(f"{prefix}{line}\n" for line in text.split("\n"))


def evidence(tmp_path: Path, text: str) -> Evidence:
    path = tmp_path / "run.log"
    path.write_text(text)
    found, _ = read([str(path)])
    return found


def parts(found: Evidence) -> tuple[Lines, Seen[OutputModule], list[Step]]:
    (seen,) = found.table(OutputModule)
    steps = [step for step in seen.record.body if isinstance(step.code, ExternCall)]
    return Lines(found.table(FxGraph)), seen, steps


@pytest.fixture
def both(tmp_path: Path) -> Evidence:
    return evidence(tmp_path, log("graph_code", GRAPH, "0/0") + log("output_code", CODE, "0/0"))


def test_a_comment_leads_to_the_lines_of_its_nodes(both: Evidence) -> None:
    lines, seen, (product, scan) = parts(both)
    assert [(f.file, f.line) for f in lines.of(seen, product.comment)] == [
        ("/home/ana/proj/model.py", 5)
    ]
    assert [frame.code for frame in lines.of(seen, scan.comment)] == [
        "y = torch.nn.functional.linear(x, w)",
        "z = y.cumsum(-1)",
    ]


def test_operators_lead_to_a_line_where_there_is_no_comment(both: Evidence) -> None:
    lines, seen, _ = parts(both)
    assert [frame.line for frame in lines.of(seen, ops=["relu", "cumsum"])] == [6]
    assert [frame.line for frame in lines.of(seen, ops=["zeta"])] == [7]
    assert lines.of(seen, ops=["relu"]) == ()


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ('w: "f32[4, 8][8, 1]cpu" = y * 2', [9]),
        ('w: "Sym(s0*2)" = s0 * 2', []),  # a size, which no kernel computes
    ],
)
def test_signs_and_norms_lead_to_a_line_as_operators_do(
    tmp_path: Path, statement: str, found: list[int]
) -> None:
    more = (
        "        # File: /home/ana/proj/model.py:8 in forward, code: n = norm(y)\n"
        '        n: "f32[4, 8][8, 1]cpu" = torch.nn.functional.layer_norm(y, (8,))\n'
        "        # File: /home/ana/proj/model.py:9 in forward, code: w = y * 2\n"
        f"        {statement}\n        return"
    )
    graph = log("graph_code", GRAPH.replace("        return", more), "0/0")
    lines, seen, _ = parts(evidence(tmp_path, graph + log("output_code", CODE, "0/0")))
    assert [frame.line for frame in lines.of(seen, ops=["mul"])] == found
    assert [frame.line for frame in lines.of(seen, ops=["native_layer_norm"])] == [8]


def test_the_graph_names_its_inputs(both: Evidence) -> None:
    lines, seen, _ = parts(both)
    assert lines.inputs(seen) == ("L_self_weight_", "L_x_")


def test_another_compile_id_tells_nothing(tmp_path: Path) -> None:
    text = log("graph_code", GRAPH, "1/0") + log("output_code", CODE, "0/0")
    lines, seen, (product, _) = parts(evidence(tmp_path, text))
    assert lines
    assert lines.of(seen, product.comment) == ()
    assert lines.inputs(seen) == ()


def test_without_graphs_there_is_no_line(tmp_path: Path) -> None:
    lines, seen, (product, _) = parts(evidence(tmp_path, log("output_code", CODE, "0/0")))
    assert not lines
    assert lines.of(seen, product.comment, ["cumsum"]) == ()


def test_a_line_of_einops_gives_way_to_the_line_around_it(tmp_path: Path) -> None:
    """Einops' own line says nothing: the next line outside of it is the caller's, or the last."""
    einops = "/home/ana/venv/lib/python3.11/site-packages/einops/_backends.py"
    inside = GRAPH.replace("/home/ana/proj/model.py:5 in forward", f"{einops}:291 in einsum")
    found = evidence(tmp_path, log("graph_code", inside, "0/0") + log("output_code", CODE, "0/0"))
    lines, seen, (product, _) = parts(found)
    assert [(f.file, f.line) for f in lines.of(seen, product.comment)] == [
        ("/home/ana/proj/model.py", 6)
    ]
    last = GRAPH.replace("/home/ana/proj/model.py:7 in forward", f"{einops}:96 in reshape")
    found = evidence(tmp_path, log("graph_code", last, "0/0") + log("output_code", CODE, "0/0"))
    lines, seen, _ = parts(found)
    assert [(f.file, f.line) for f in lines.of(seen, ops=["zeta"])] == [
        ("/home/ana/proj/model.py", 6)
    ]


def test_where_all_lines_are_of_einops_they_stay(tmp_path: Path) -> None:
    einops = "/home/ana/venv/lib/python3.11/site-packages/einops/_backends.py"
    only = GRAPH.replace("/home/ana/proj/model.py", einops)
    found = evidence(tmp_path, log("graph_code", only, "0/0") + log("output_code", CODE, "0/0"))
    lines, seen, (product, _) = parts(found)
    assert [f.file for f in lines.of(seen, product.comment)] == [einops]


def test_the_nodes_of_a_compilation_are_read_once_however_many_kernels_ask(
    both: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, seen, _ = parts(both)
    read_names: list[Node] = []
    plainly = origins._names

    def counting(node: Node) -> AbstractSet[str]:
        read_names.append(node)
        return plainly(node)

    monkeypatch.setattr(origins, "_names", counting)
    first = lines.of(seen, None, ["cumsum"])
    once = len(read_names)
    assert [line.line for line in first] == [6]
    assert once
    assert all(lines.of(seen, None, [op, "cumsum"]) == first for op in ("none", "relu"))
    assert len(read_names) == once
