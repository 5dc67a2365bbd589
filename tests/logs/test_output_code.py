"""Generated modules: statements, kernels and comments, of torch 2.1 to 2.15, on CPU and GPU."""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.corpus import cases, log_of, needs_corpus, truth
from tracelens import grammars
from tracelens.logs._kernels import KernelDef
from tracelens.logs._statements import (
    Alias,
    Allocation,
    Check,
    Checks,
    Constant,
    Deletion,
    ExternCall,
    KernelCall,
    Returned,
    Statement,
    Unpack,
    Value,
)
from tracelens.logs.output_code import CodeFile, OutputCode, OutputModule
from tracelens.source import read


def module(*lines: str) -> OutputModule:
    (record,) = OutputCode.parse("\n".join(["Output code: ", *lines]))
    assert isinstance(record, OutputModule)
    return record


def statement(line: str) -> Statement:
    (step,) = module(line).steps
    assert step.code.text == line.strip()
    return step.code


def kernel(*source: str) -> KernelDef:
    (found,) = module(
        "k_0 = async_compile.cpp_pybinding(['float*'], r'''", *source, "''')"
    ).kernel_defs
    return found


# Statements.


@pytest.mark.parametrize(
    ("line", "size", "dtype", "where"),
    [
        (
            "buf0 = empty_strided_cpu((32, 256), (256, 1), torch.float32)",
            (32, 256),
            "float32",
            "cpu",
        ),
        ("buf0 = empty_strided_cuda((), (), torch.bool)", (), "bool", "cuda"),
        ("buf0 = empty_strided_cpu_pinned((8, ), (1, ), torch.int64)", (8,), "int64", "cpu"),
        (
            "buf0 = empty_strided((16, 4), (4, 1), device='cuda:1', dtype=torch.float16)",
            (16, 4),
            "float16",
            "cuda",
        ),
        ("buf0 = empty((s0, ), device='cpu', dtype=torch.float32)", ("s0",), "float32", "cpu"),
        (
            "buf0 = empty_strided_cpu((2*s27, 1 + (((-1) + s68) // 8)), (1, 1), torch.bfloat16)",
            ("2*s27", "1+(((-1)+s68)//8)"),
            "bfloat16",
            "cpu",
        ),
        (
            "buf0 = empty_strided_cuda((Max(1, s0), (s0 // 2), 3), (1, 1, 1), torch.float8_e4m3fn)",
            ("Max(1s0)", "(s0//2)", 3),
            "float8_e4m3fn",
            "cuda",
        ),
    ],
)
def test_allocations(line: str, size: tuple[int | str, ...], dtype: str, where: str) -> None:
    code = statement(line)
    assert isinstance(code, Allocation)
    assert (code.result, code.size, code.dtype, code.where) == ("buf0", size, dtype, where)


def test_a_call_into_a_library_with_out() -> None:
    code = statement(
        "extern_kernels.addmm(arg1_1, arg2_1, reinterpret_tensor(arg0_1, (64, 64), (1, 64), 0), "
        "alpha=1, beta=1, out=buf0)"
    )
    assert isinstance(code, ExternCall)
    assert code.op == "addmm"
    assert (code.out, code.result) == ("buf0", "")
    assert code.names == ("arg1_1", "arg2_1", "arg0_1")


def test_a_call_with_a_result_and_a_post_op() -> None:
    code = statement(
        "buf0 = torch.ops.mkldnn._linear_pointwise.default(arg8_1, _frozen_param13, None, "
        "'relu', [-1], '')"
    )
    assert isinstance(code, ExternCall)
    assert (code.op, code.result) == ("_linear_pointwise", "buf0")
    assert code.names == ("arg8_1", "_frozen_param13", "None")
    assert code.strings == ("relu", "")
    assert not code.in_place


def test_a_call_that_writes_into_its_first_argument() -> None:
    code = statement(
        "torch.ops.mkldnn._convolution_pointwise_.binary(buf4, buf3, w, b, [0, 0], [1, 1], [1, 1], "
        "1, 'add', 1.0, 'relu', [None], '')"
    )
    assert isinstance(code, ExternCall)
    assert code.in_place
    assert code.op == "_convolution_pointwise_"
    assert code.names[:2] == ("buf4", "buf3")
    assert code.strings == ("add", "relu", "")


def test_out_may_be_a_view() -> None:
    code = statement("extern_kernels.mm(a, b, out=reinterpret_tensor(buf5, (4, 4), (4, 1), 16))")
    assert isinstance(code, ExternCall)
    assert code.out == "buf5"


@pytest.mark.parametrize(
    ("line", "kernel_name", "names"),
    [
        (
            "cpp_fused_add_0(buf0, _frozen_param1, s77)",
            "cpp_fused_add_0",
            ("buf0", "_frozen_param1", "s77"),
        ),
        ("cpp_fused_add_0()", "cpp_fused_add_0", ()),
        (
            "cpp_fused_relu_0(c_void_p(buf0.data_ptr()), c_long(s0))",
            "cpp_fused_relu_0",
            ("buf0", "s0"),
        ),
        (
            "triton_poi_fused_add_0.run(arg0_1, buf0, 100, grid=grid(100), stream=stream0)",
            "triton_poi_fused_add_0",
            ("arg0_1", "buf0", "stream0"),
        ),
    ],
)
def test_calls_of_generated_kernels(line: str, kernel_name: str, names: tuple[str, ...]) -> None:
    code = statement(line)
    assert isinstance(code, KernelCall)
    assert (code.kernel, code.names) == (kernel_name, names)


@pytest.mark.parametrize(
    ("line", "name", "deleted"),
    [
        ("buf2 = buf0; del buf0  # reuse", "buf0", "buf0"),
        ("buf2 = buf1", "buf1", ""),
        ("buf2 = reinterpret_tensor(buf7, (4, 8), (8, 1), 32); del buf7  # reuse", "buf7", "buf7"),
        ("buf2 = reinterpret_tensor(buf5, (s12, ), (1, ), 4*s29)  # alias", "buf5", ""),
        ("buf2 = buf16[0]", "buf16", ""),
        ("buf2 = alloc_from_pool(pool1, 0, torch.float32, (4, 8), (8, 1))", "pool1", ""),
        ("buf2 = copy_if_misaligned(arg0_1)", "arg0_1", ""),
    ],
)
def test_other_names_for_a_buffer(line: str, name: str, deleted: str) -> None:
    code = statement(line)
    assert isinstance(code, Alias)
    assert (code.result, code.name, code.deleted) == ("buf2", name, deleted)


def test_a_view_keeps_size_and_offset() -> None:
    code = statement("buf2 = reinterpret_tensor(buf5, (4, 8), (8, 1), 4*s29)  # alias")
    assert isinstance(code, Alias)
    assert (code.size, code.stride, code.offset) == ((4, 8), (8, 1), "4*s29")


def test_what_is_declared_and_checked() -> None:
    constant = statement(
        "_frozen_param1 = None  # device(type='cpu') torch.float32 (256, 3) (3, 1) 7f548b1bd270"
    )
    assert isinstance(constant, Constant)
    assert (constant.result, constant.device, constant.dtype) == (
        "_frozen_param1",
        "cpu",
        "float32",
    )
    assert (constant.size, constant.stride) == ((256, 3), (3, 1))
    check = statement(
        "assert_size_stride(buf2, (4, 192), (192, 1), \"partial(<fn at 0x7f>, 'none', [], '')\")"
    )
    assert isinstance(check, Check)
    assert (check.name, check.size) == ("buf2", (4, 192))
    newer = statement("assert_tensor_metadata(buf0, (4, ), (1, ), torch.bfloat16, 'torch.ops.x.y')")
    assert isinstance(newer, Check)
    assert newer.dtype == "bfloat16"
    grouped = statement("assert_size_stride_grouped((a, b), ((4, s0), ()), ((s0, 1), ()), 'input')")
    assert isinstance(grouped, Checks)
    assert (grouped.names, grouped.sizes) == (("a", "b"), ((4, "s0"), ()))


def test_inputs_outputs_deletions_and_numbers() -> None:
    unpack = statement("arg0_1, arg1_1, sigmoid = args")
    assert isinstance(unpack, Unpack)
    assert unpack.names == ("arg0_1", "arg1_1", "sigmoid")
    single = statement("arg0_1, = args")
    assert isinstance(single, Unpack)
    assert single.names == ("arg0_1",)
    returned = statement("return (reinterpret_tensor(buf59, (2, s27), (s27, 1), 0), buf8, None, )")
    assert isinstance(returned, Returned)
    assert returned.names == ("buf59", "s27", "s27", "buf8", "None")
    deletion = statement("del buf0, buf1")
    assert isinstance(deletion, Deletion)
    assert deletion.names == ("buf0", "buf1")
    assert isinstance(statement("s16 = 7"), Value)
    assert isinstance(statement("ps0 = 16*s0"), Value)


def test_an_unknown_statement_costs_itself_only() -> None:
    found = module(
        "def call(args):",
        "    arg0_1, = args",
        "    buf0 = empty_strided_cpu((4, ), (1, ), torch.float32)",
        "    if arg0_1.item() ?? 3: launch(((",
        "    cpp_fused_add_0(arg0_1, buf0)",
        "    return (buf0, )",
    )
    assert [step.code.text for step in found.others] == ["if arg0_1.item() ?? 3: launch((("]
    assert [call.kernel for _, call in found.kernel_calls()] == ["cpp_fused_add_0"]


# Modules.


def test_a_comment_belongs_to_the_statement_that_follows() -> None:
    found = module(
        "def call(args):",
        "    # Topologically Sorted Source Nodes: [x, y_1], Original ATen: [aten.addmm, aten.relu]",
        "    stream0 = get_raw_stream(0)",
        "    triton_poi_fused_relu_0.run(buf0, 128, stream=stream0)",
        "    del buf0",
    )
    steps = [step for step in found.body if isinstance(step.code, KernelCall)]
    assert steps[0].comment is not None
    assert steps[0].comment.nodes == ("x", "y_1")
    assert steps[0].comment.ops == ("aten.addmm", "aten.relu")
    assert steps[0].at == 4
    assert [step.comment for step in found.body if isinstance(step.code, Deletion)] == [None]


def test_only_the_function_that_runs_is_the_body() -> None:
    found = module(
        "_frozen_param1 = None  # device(type='cpu') torch.float32 (4,) (1,) 7f548b1bd270",
        "def partition_0(args):",
        "    arg0_1, = args",
        "    return (arg0_1, )",
        "class Runner:",
        "    def call(self, args):",
        "        arg1_1, = args",
        "        return (arg1_1, )",
        "def get_args():",
        "    arg1_1 = rand_strided((4, ), (1, ), device='cpu', dtype=torch.float32)",
    )
    names = [step.code.names for step in found.body if isinstance(step.code, Unpack | Returned)]
    assert names == [("arg0_1",), ("arg0_1",), ("arg1_1",), ("arg1_1",)]
    assert [constant.result for constant in found.constants] == ["_frozen_param1"]


@pytest.mark.parametrize(
    ("line", "graph"),
    [
        ("# AOT ID: ['0_inference']", "inference"),
        ("# AOT ID: ['3_forward']", "forward"),
        ("# AOT ID: ['3_backward']", "backward"),
        ("primals_1, primals_2 = args", "forward"),
        ("primals_1, tangents_1 = args", "backward"),
        ("arg0_1, = args", "inference"),
        ("import torch", ""),
    ],
)
def test_what_kind_of_graph_it_is(line: str, graph: str) -> None:
    assert module(line).graph == graph


def test_the_file_is_a_record_of_its_own() -> None:
    (record,) = OutputCode.parse("Output code written to: /tmp/torchinductor_ana/qj/cqjuoe.py")
    assert record == CodeFile(path="/tmp/torchinductor_ana/qj/cqjuoe.py")  # noqa: S108


def test_a_module_that_is_cut_off_in_a_kernel_keeps_what_is_there() -> None:
    found = module(
        "a_0 = async_compile.cpp('''", "x", "''')", "b_0 = async_compile.cpp('''", "int y"
    )
    assert [kernel.kernel for kernel in found.kernel_defs] == ["a_0", "b_0"]


def test_a_module_whose_beginning_is_lost_is_read_from_where_it_begins() -> None:
    (found,) = OutputCode.parse("    auto tmp1 = 1;\n''')\ndef call(args):\n    arg0_1, = args")
    assert isinstance(found, OutputModule)
    assert found.inputs == ("arg0_1",)


def test_a_cpp_module_is_one_text() -> None:
    found = module("#include <torch/x.h>", "int main() { return 0; }")
    assert found.wrapper.startswith("#include")
    assert found.steps == ()


# Kernels.


def test_names_lie_and_sources_do_not() -> None:
    assert kernel("kernel_micro_gemm(A, B)").is_template
    assert kernel("float tmp_acc0 = 0;").is_reduction
    assert kernel("auto tmp0 = in_ptr0[0];", "out_ptr0[0] = tmp0;").is_copy
    pointwise = kernel("auto tmp0 = in_ptr0[0];", "auto tmp1 = tmp0 + tmp0;")
    assert pointwise.is_pointwise
    assert not pointwise.vectorised
    moved = kernel("transpose_mxn<float>(in_ptr0, tmp0);", "auto tmp1 = loadu(tmp0);")
    assert moved.is_copy
    into = "transpose_mxn<float>(tmp2, out_ptr0);"
    load = "auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + x1);"
    assert kernel("float tmp2[16*16];", load, "tmp0.store(tmp2);", into).is_copy
    clamped = kernel("float tmp2[16*16];", load, "auto tmp1 = clamp_min(tmp0, 0);", into)
    assert clamped.is_pointwise
    assert kernel("tmp0 = tl.load(in_ptr0 + (x0), xmask)", "tl.store(out_ptr0, tmp0)").is_copy
    assert kernel("tmp0 = x0", "tl.store(out_ptr0, tmp0)").is_pointwise
    assert kernel("auto tmp0 = at::vec::Vectorized<float>::loadu(p);").vectorised


def test_parameters_say_what_is_read_and_written() -> None:
    found = kernel(
        '#include "x.h"',
        'extern "C"  void  kernel(at::BFloat16* in_out_ptr0,',
        "                       const at::BFloat16* in_ptr0,",
        "                       float* out_ptr0,",
        "                       const int64_t ks0)",
        "{",
        "    #pragma omp parallel num_threads(4)",
    )
    assert [(p.name, p.reads, p.writes) for p in found.parameters] == [
        ("in_out_ptr0", True, True),
        ("in_ptr0", True, False),
        ("out_ptr0", False, True),
        ("ks0", True, False),
    ]
    assert found.threads == 4


def test_parameters_of_a_template_and_of_triton() -> None:
    gemm = kernel('extern "C" void kernel(const float* X, const float* W, float* Y)', "{}")
    assert [(p.name, p.writes) for p in gemm.parameters] == [
        ("X", False),
        ("W", False),
        ("Y", True),
    ]
    (triton,) = module(
        "triton_per_fused_sum_0 = async_compile.triton('triton_per_fused_sum_0', '''",
        "@triton_heuristics.persistent_reduction(size_hints={'x': 1})",
        "@triton.jit",
        "def triton_per_fused_sum_0(in_out_ptr0, in_ptr0, out_ptr0, xnumel, X : tl.constexpr):",
        "    pass",
        "''', device_str='cuda')",
    ).kernel_defs
    assert [p.name for p in triton.parameters if p.writes] == ["in_out_ptr0", "out_ptr0"]
    assert triton.is_reduction
    assert triton.fused == "sum"
    assert triton.device == "gpu"


# Cost.


def test_a_line_costs_one_token_and_a_source_none() -> None:
    lines = [
        "Output code: ",
        "import torch",
        "",
        "k_0 = async_compile.cpp_pybinding(['float*'], r'''",
    ]
    lines += ["    auto tmp0 = in_ptr0[static_cast<int64_t>(x0)];"] * 500 + [
        "''')",
        "def call(args):",
    ]
    lines += [f"    del buf{number}" for number in range(100)]
    grammar = grammars.load(OutputCode.name, OutputCode.__module__)
    # Silent lines too are tokens. A kernel is at most eight.
    assert grammar.tokens("\n".join(lines)) <= 2 + 8 + 1 + 100


@pytest.mark.parametrize(
    "line",
    [
        "x = f(" + "(" * 20_000,
        "a." * 20_000 + "b(",
        "k = async_compile.cpp(" + "'" * 20_000,
        "extern_kernels.mm(" + "a, " * 20_000,
        'extern "C" ' * 5_000,
        "'''" * 10_000,
    ],
    ids=["parentheses", "dots", "quotes", "arguments", "extern", "strings"],
)
def test_hostile_text_takes_linear_time(line: str) -> None:
    begin = time.process_time()
    found = module(f"k_0 = async_compile.cpp('''\n{line}\n''')", line)
    _ = [each.parameters for each in found.kernel_defs]
    assert time.process_time() - begin < 2.0


# Against what the process itself recorded.

COMPILED = [
    case
    for pattern in ("real/*", "2.*/*")
    for case in cases(pattern)
    # mlp3 shares another run's cache folder; the short format has prefixes on first lines only.
    if "__" not in case.name
    and case.name not in {"autotune_mlp3_float32", "log_format_short"}
    and list(case.glob("truth.json"))
    and truth(case).get("inductor_cache_files")
    and re.search("output_code|kernel_code", (case / "cmd.json").read_text())
]


@needs_corpus
@pytest.mark.parametrize("case", COMPILED, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_kernels_and_calls_are_those_of_the_generated_files(case: Path) -> None:
    evidence, _ = read([log_of(case)])
    modules = [row.record for row in evidence.table(OutputModule)]
    assert modules
    assert [unread for unread in evidence.unread if unread.kind == "output_code"] == []
    assert [step.code.text for found in modules for step in found.others] == []
    files = truth(case)["inductor_cache_files"]
    calls = [call for found in modules for _, call in found.extern_calls()]
    ours = {
        "cpp_kernels": Counter(name for found in modules for name in found.kernels),
        "template_kernels": Counter(
            name for found in modules for name, each in found.kernels.items() if each.is_template
        ),
        "extern_kernels": Counter(c.target for c in calls if c.target.startswith("extern_kernels")),
        # The recorder sees assigned calls only.
        "torch_ops_calls": Counter(
            c.target for c in calls if c.target.startswith("torch.ops.") and c.result
        ),
    }
    for key, found in ours.items():
        assert found == Counter(name for file in files for name in file[key]), key


@needs_corpus
def test_calls_in_place_count_too() -> None:
    (case,) = cases("real/resnet_f32_frozen")
    evidence, _ = read([log_of(case)])
    (row,) = evidence.table(OutputModule)
    calls = [call for _, call in row.record.extern_calls()]
    assert sum(call.op.startswith("_convolution_pointwise") for call in calls) == 9
    assert sum(call.in_place for call in calls) == 2


@needs_corpus
def test_modules_are_counted_whatever_carried_the_log() -> None:
    whole = {"head_lost": 5, "trunc": 4, "two_ranks": 12}
    for case in cases("2.13.0/app_plain__*"):
        evidence, _ = read([log_of(case)])
        way = case.name.partition("__")[2]
        assert evidence.table(OutputModule).count == whole.get(way, 6), way
