"""Parts of logs that are pasted without prefix and first lines."""

from __future__ import annotations

import pytest

from tracelens.evidence import Evidence
from tracelens.inductor.cpp import CppKernel
from tracelens.logs._loops import regions
from tracelens.logs.fragments import Fragment
from tracelens.logs.guards import GuardTree
from tracelens.logs.output_code import OutputModule
from tracelens.logs.recompiles import Recompile
from tracelens.plugins import manifest
from tracelens.source.kinds import Kinds
from tracelens.source.segment import Segmenter


def read(text: str) -> Evidence:
    segmenter = Segmenter(Kinds(manifest.current().logs), "paste.txt")
    segmenter.feed([line.encode() + b"\n" for line in text.split("\n")])
    return segmenter.finish()


@pytest.mark.parametrize("end", ["", "\r"])
@pytest.mark.parametrize("indent", ["", "    "])
def test_reasons_without_their_function(indent: str, end: str) -> None:
    text = f"- 3/1: tensor 'x' size mismatch at index 0. expected 8, actual 9{end}\n- 3/0: {end}"
    text = "\n".join(f"{indent}{line}" for line in text.split("\n"))
    (row,) = read(text).table(Recompile)
    first, second = row.record.failures
    assert (first.entry, second.entry) == ("3/1", "3/0")
    assert first.check is not None
    assert second.check is None
    assert row.quote().line == 1


def test_a_reason_behind_its_announcement() -> None:
    (row,) = read("triggered by the following guard failure(s):\n- 0/0: L['k'] == 2").table(
        Recompile
    )
    assert row.record.failures[0].entry == "0/0"
    assert row.quote(at=row.record.failures[0].at).line == 2


def test_a_tree_without_its_head() -> None:
    text = (
        "step 1\n| +- GuardManager: source=L['x'], accessed_by=DictGetItemGuardAccessor(x)\n"
        "| | +- NO_TENSOR_ALIASING\nstep 2"
    )
    evidence = read(text)
    (row,) = evidence.table(GuardTree)
    assert [guard.depth for guard in row.record.guards] == [1, 2]
    assert evidence.understood_lines == 2


KERNEL = """\
    for(int x0=static_cast<int>(0L); x0<static_cast<int>(256L); x0+=static_cast<int>(1L))
    {
        #pragma omp parallel num_threads(16)
        {
            #pragma omp for
            for(int x1=static_cast<int>(0L); x1<static_cast<int>(64L); x1+=static_cast<int>(16L))
            {
                out_ptr0[static_cast<int>(x1 + 64L*x0)] = in_ptr0[static_cast<int>(x1)];
            }
        }
    }"""


@pytest.mark.parametrize("lines", [10, 9, 8])
def test_a_region_in_a_loop_is_seen_where_the_end_is_cut(lines: int) -> None:
    (row,) = read("\n".join(KERNEL.split("\n")[:lines])).table(CppKernel)
    assert row.record.nest is not None
    assert [region.entries for region in regions(row.record.nest)] == [256]


def test_a_region_around_the_loops_is_fine() -> None:
    lines = [line.strip() for line in KERNEL.split("\n")]
    text = "\n".join(
        ("    #pragma omp parallel num_threads(16)", "    {", *lines[0:2], *lines[5:8], "}", "}")
    )
    (row,) = read(text).table(CppKernel)
    assert row.record.nest is not None
    assert list(regions(row.record.nest)) == []


def test_calls_of_a_module() -> None:
    text = (
        "        buf0 = empty_strided_cpu((4, 16), (16, 1), torch.float32)\n"
        "        extern_kernels.mm(arg0_1, arg1_1, out=buf0)\n"
        "        cpp_fused_relu_0(buf0)"
    )
    evidence = read(text)
    (row,) = evidence.table(OutputModule)
    assert [call.kernel for _, call in row.record.kernel_calls()] == ["cpp_fused_relu_0"]
    assert [seen.record.what for seen in evidence.table(Fragment)] == ["calls"]


def test_a_triton_kernel() -> None:
    text = "def triton_poi_fused_add_0(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):\n    pass"
    assert [seen.record.what for seen in read(text).table(Fragment)] == ["triton"]
