"""What is pasted without the rest of it is named, never answered by "Nothing to fix"."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import TracelensError, analyze

NSYS = """ ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):

 Time (%)  Total Time (ns)  Instances   Avg (ns)   Name
 --------  ---------------  ---------  ---------  ----------------
     75.0        120000000       1000   120000.0  triton_poi_fused_add_0
     25.0         40000000       1000    40000.0  ampere_bf16_s16816gemm_128x64_tn
"""
CHECKED = (
    "    | +- TENSOR_MATCH: check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, "
    "device=None, requires_grad=False, size=[4, 8], stride=[8, 1])"
)
GRAPH = """class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4, 8]"):
        l_x_ = L_x_
        relu: "f32[4, 8]" = torch.relu(l_x_);  l_x_ = None
        return (relu,)
"""
LOWERED = """def forward(self, arg0_1, arg1_1):
    mm = torch.ops.aten.mm.default(arg1_1, arg0_1);  arg1_1 = arg0_1 = None
    return (mm,)
"""
TABLE = """opcode         name    target                   args          kwargs
-------------  ------  -----------------------  ------------  --------
placeholder    l_x_    L_x_                     ()            {}
call_function  sin     <built-in method sin>    (l_x_,)       {}
"""
NODES = """graph():
    %l_x_ : torch.Tensor [num_users=1] = placeholder[target=L_x_]
    return (l_x_,)
"""
PARTS = {
    "graph": (GRAPH, "a traced FX graph"),
    "lowered": (LOWERED, "a traced FX graph"),
    "table": (TABLE, "a traced FX graph"),
    "nodes": (NODES, "a traced FX graph"),
    "autotune": ("AUTOTUNE mm(1024x1024, 1024x1024)", "head of an AUTOTUNE table"),
    "fusion": ("cannot fuse buf3 with buf5: no shared data", "why two nodes were not fused"),
    "again": ("Recompiling function forward in /home/ana/proj/m.py:33", "compiled again"),
    "guards": (CHECKED, "a part of a guard tree"),
    "nsys": (NSYS, "a table of kernels of Nsight Systems"),
    "mlir": ("module @jit_f attributes {mhlo.num_partitions = 1 : i32} {", "intermediate code"),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_named(name: str, tmp_path: Path) -> None:
    text, what = PARTS[name]
    path = tmp_path / "pasted.txt"
    path.write_text(text + "\n", encoding="utf-8")
    told = analyze(str(path)).told
    assert [one.code for one in told] == ["LOG001"]
    assert what in told[0].title
    assert told[0].severity == "info"
    assert told[0].advice


def test_the_table_of_nsight_says_what_takes_the_time(tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(NSYS, encoding="utf-8")
    message = analyze(str(path)).told[0].message
    assert "75 %" in message
    assert "Inductor generated it" in message


def test_a_module_of_the_program_is_no_traced_graph(tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(
        "class Model(torch.nn.Module):\n    def forward(self, x, y):\n        return x + y\n"
        "opcode name\ngraph: 3 nodes\n",
        encoding="utf-8",
    )
    with pytest.raises(TracelensError):
        analyze(str(path))


def test_where_the_reasons_are_there_it_is_no_part(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(
        "Recompiling function forward in /home/ana/proj/m.py:33\n"
        "    triggered by the following guard failure(s):\n"
        "    - 0/0: L['n'] == 2\n",
        encoding="utf-8",
    )
    assert "LOG001" not in [one.code for one in analyze(str(path)).told]
