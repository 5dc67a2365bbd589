"""Who reads what in generated code, where memory is reused, aliased and written in parts."""

from __future__ import annotations

import pytest

from tracelens.logs._dataflow import Content, Dataflow, item_size
from tracelens.logs._statements import ExternCall, KernelCall
from tracelens.logs.output_code import OutputCode, OutputModule, Step

KERNELS = """\
add_0 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
extern "C" void kernel(const float* in_ptr0, float* out_ptr0)
''')
inplace_0 = async_compile.cpp_pybinding(['float*'], r'''
extern "C" void kernel(float* in_out_ptr0)
''')
"""


class Flow:
    """A module of these statements, and short questions about it."""

    def __init__(self, *lines: str) -> None:
        text = "\n".join(["Output code:", KERNELS, "def call(args):", "    a, b = args", *lines])
        (module,) = OutputCode.parse(text)
        assert isinstance(module, OutputModule)
        assert module.others == ()
        self.steps = module.body
        self.flow = Dataflow(module)

    def step(self, name: str) -> Step:
        """The first call of a kernel or of a library operator."""
        for step in self.steps:
            if isinstance(step.code, KernelCall) and step.code.kernel == name:
                return step
            if isinstance(step.code, ExternCall) and step.code.op == name:
                return step
        raise AssertionError(name)

    def result(self, name: str) -> Content:
        (content,) = self.flow.results(self.step(name))
        return content

    def readers(self, name: str) -> list[str]:
        return [step.code.text.partition("(")[0] for step in self.result(name).readers]


MM = """\
    buf0 = empty_strided_cpu((4, 8), (8, 1), torch.float32)
    extern_kernels.mm(a, b, out=buf0)"""


def test_a_result_is_followed_through_new_names() -> None:
    flow = Flow(
        MM,
        "    buf1 = buf0; del buf0  # reuse",
        "    buf2 = reinterpret_tensor(buf1, (2, 16), (16, 1), 0); del buf1  # reuse",
        "    inplace_0(buf2)",
        "    return (buf2, )",
    )
    assert flow.readers("mm") == ["inplace_0"]
    # What is returned is what the kernel wrote, not what it read.
    assert not flow.result("mm").returned
    assert flow.result("inplace_0").returned


def test_overwritten_memory_holds_something_else() -> None:
    flow = Flow(
        MM,
        "    buf1 = empty_strided_cpu((4, 8), (8, 1), torch.float32)",
        "    add_0(buf0, buf1)",
        "    buf2 = buf0; del buf0  # reuse",
        "    add_0(buf1, buf2)",
        "    inplace_0(buf2)",
    )
    assert flow.readers("mm") == ["add_0"]


def test_a_result_may_have_several_readers_and_be_returned() -> None:
    flow = Flow(
        MM,
        "    buf1 = empty_strided_cpu((4, 8), (8, 1), torch.float32)",
        "    add_0(buf0, buf1)",
        "    extern_kernels.bmm(buf0, reinterpret_tensor(buf0, (8, 4), (1, 8), 0), out=buf1)",
        "    return (buf0, buf1, )",
    )
    assert flow.readers("mm") == ["add_0", "extern_kernels.bmm"]
    assert flow.result("mm").returned


def test_a_write_into_a_part_leaves_the_other_parts() -> None:
    flow = Flow(
        "    buf5 = empty_strided_cpu((4, 16), (16, 1), torch.float32)",
        "    buf3 = reinterpret_tensor(buf5, (4, 8), (16, 1), 0)  # alias",
        "    buf4 = reinterpret_tensor(buf5, (4, 8), (16, 1), 8)  # alias",
        "    extern_kernels.mm(a, b, out=buf3)",
        "    add_0(a, buf4)",
        "    inplace_0(buf5)",
        "    return (buf5, )",
    )
    assert flow.readers("mm") == ["inplace_0"]
    assert flow.result("mm").size == (4, 8)
    assert flow.readers("add_0") == ["inplace_0"]


def test_a_call_in_place_reads_and_writes_its_first_argument() -> None:
    flow = Flow(
        MM,
        "    torch.ops.mkldnn._convolution_pointwise_.binary(buf0, a, b, 'add')",
        "    inplace_0(buf0)",
    )
    assert flow.readers("mm") == ["torch.ops.mkldnn._convolution_pointwise_.binary"]
    assert flow.readers("_convolution_pointwise_") == ["inplace_0"]


def test_one_of_several_results_stands_for_the_call() -> None:
    flow = Flow(
        "    buf0 = torch.ops.aten.native_dropout.default(a, 0.1, True)",
        "    buf1 = buf0[0]",
        "    assert_size_stride(buf1, (4, 8), (8, 1), 'torch.ops.aten.native_dropout.default')",
        "    buf2 = buf0[1]",
        "    del buf0",
        "    inplace_0(buf1)",
        "    add_0(buf2, buf1)",
    )
    assert flow.readers("native_dropout") == ["inplace_0", "add_0"]


def test_a_method_of_a_buffer_reads_it() -> None:
    flow = Flow(MM, "    b.copy_(buf0)", "    u0 = buf0.item()")
    assert flow.readers("mm") == ["b.copy_", "u0 = buf0.item"]


def test_an_unknown_kernel_may_do_anything() -> None:
    flow = Flow(MM, "    lost_0(buf0)", "    inplace_0(buf0)")
    assert flow.readers("mm") == ["lost_0"]


def test_sizes_come_from_checks_and_types_from_operands() -> None:
    flow = Flow(
        "    buf0 = torch.ops.mkl._mkl_linear.default(a, b, b, None, 32)",
        "    assert_size_stride(buf0, (32, 256), (256, 1), 'torch.ops.mkl._mkl_linear')",
        "    inplace_0(buf0)",
        "def get_args():",
        "    a = rand_strided((32, 128), (128, 1), device='cpu', dtype=torch.bfloat16)",
        "    return [a]",
    )
    result = flow.result("_mkl_linear")
    assert (result.size, result.dtype, result.bytes) == ((32, 256), "bfloat16", 32 * 256 * 2)
    assert [content.name for content in flow.flow.operands(flow.step("_mkl_linear"))] == ["a", "b"]


def test_symbolic_sizes_have_no_bytes() -> None:
    flow = Flow(
        "    buf0 = empty_strided_cpu((s27, 8), (8, 1), torch.float32)",
        "    extern_kernels.mm(a, b, out=buf0)",
        "    buf1 = reinterpret_tensor(buf0, (8, s27), (s27, 1), 0); del buf0  # reuse",
        "    inplace_0(buf1)",
    )
    assert flow.result("mm").bytes is None
    assert flow.readers("mm") == ["inplace_0"]


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("float32", 4),
        ("bfloat16", 2),
        ("float64", 8),
        ("int8", 1),
        ("uint8", 1),
        ("bool", 1),
        ("float8_e4m3fn", 1),
        ("complex64", 8),
        ("int64", 8),
        ("bits1x8", None),
        ("", None),
    ],
)
def test_bytes_of_one_element(dtype: str, size: int | None) -> None:
    assert item_size(dtype) == size
