"""Generated modules that are read line by line, against what the grammar alone reads."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from tracelens.grammars import Unreadable
from tracelens.logs._modules import parts_of
from tracelens.logs.output_code import OutputCode, OutputModule
from tracelens.source import read

FIXTURES = Path(__file__).parents[2] / "fixtures"
LINES = st.sampled_from(
    [
        "# AOT ID: ['0_inference']",
        "# AOT ID: ['0_forward'] x",
        "# AOT ID: ['']",
        "  # AOT ID: ['2_backward']",
        "# a comment",
        "# Topologically Sorted Source Nodes: [linear], Original ATen: [aten.addmm]",
        "        # Source Nodes: [mm], Original ATen: [aten.mm]",
        "# Original ATen: []",
        "# Source Nodes:",
        "import torch",
        "from math import inf, nan",
        "from torch import (device,",
        "    empty_strided)",
        "from torch import (device, empty_strided)",
        "from torch import (a) b",
        "from x",
        "import",
        "aten = torch.ops.aten",
        "aten = torch.ops.aten  # x",
        "aten = torch.ops.aten ",
        "        buf1 = torch.ops.aten.cumsum.default(buf0, dim=1, dtype=None)",
        "x = torch._C._dynamo.guards()",
        "async_compile = AsyncCompile()",
        "async_compile.wait(globals())",
        "del async_compile",
        "del async_compile, x",
        "meta0 = {}",
        "class Runner:",
        "classes = 1",
        "    def call(self, args):",
        "def call(args):",
        "        arg0_1, arg1_1 = args",
        "        args.clear()",
        "        with torch.cuda._DeviceGuard(0):",
        "            torch.cuda.set_device(0)",
        "        stream0 = get_raw_stream(0)",
        "        stream0 = get_raw_stream(0), x",
        "        multi = async_compile.multi_kernel('x', [a, b])",
        "        multi = async_compile.multi_kernel('x', [a,",
        "        buf0 = empty_strided_cpu((4, 8), (8, 1), torch.float32)",
        "        buf1 = buf0; del buf0  # reuse",
        "        buf1 = buf0; del buf0  # reuse   ",
        "        cpp_fused_relu_0(buf0, arg0_1)",
        "        return (buf0, )",
        "        return print_performance(fn, times=times)",
        "        return [a]",
        ", x = 1",
        ",",
        "\t",
        "",
        "  ",
        "\v",
        "x = '''a'''",
        "'''",
        '"""',
        "cpp_fused_relu_0 = async_compile.cpp_pybinding(['float*', 'const float*'], r'''",
        "cpp_fused_relu_0 = async_compile.cpp('''",
        "  cpp_fused_relu_0 = async_compile.cpp('''",
        "triton_poi_0 = async_compile.triton('triton_poi_0', '''",
        'triton_poi_0 = async_compile.triton(\'triton_poi_0\', """',
        "k_0 = async_compile.cpp(f''' x '''",
        "k_0 = async_compile.cpp(['a'] '''",
        "k_0 = async_compile.cpp( '''",
        "k_0 = async_compile.cpp(x, '''",
        "#include <x.h>",
        "    for(int x0=0; x0<4; x0+=1)",
        "''')",
        "''', device_str='cuda')",
        "''' x",
        '""")',
        "compiled_module_main('None', benchmark_compiled_module)",
        'if __name__ == "__main__":',
        "Output code:",
        "assert_size_stride(arg0_1, (4, 8), (8, 1), 'input')\r",
    ]
)
HEADS = st.sampled_from(
    ["Output code:", "Output code: ", "Output code: \r", "", "x", "\nOutput code:"]
)


@cache
def modules() -> list[str]:
    """The texts of recorded modules, as long as they are quoted."""
    texts = []
    for path in sorted((FIXTURES / "rules").glob("*/*.log")):
        texts += [seen.text for seen in read([str(path)])[0].table(OutputModule)]
    return texts


def outcome(text: str, *, plainly: bool) -> object:
    """What is made of a text, or why it is refused: by the grammar alone, or as it is read."""
    try:
        found = super(OutputCode, OutputCode).parse(text) if plainly else OutputCode.parse(text)
    except Unreadable as error:
        return str(error), error.line
    return found, [(one.model_dump_json(), one.model_fields_set) for one in found]


@given(HEADS, st.lists(LINES, max_size=12), st.sampled_from(["", "\n"]))
@example("Output code:", ["#include <x.h>"], "")
@example("Output code:", ["# Source Nodes: [a], Original ATen: []", "# AOT ID: ['0_x']"], "")
@example("Output code:", ["k_0 = async_compile.cpp('''", "", "x", "''')", "del buf0"], "")
@example("Output code:", ["# Original ATen: []", "k_0 = async_compile.cpp('''", "''')"], "\n")
def test_lines_say_what_the_grammar_says(head: str, lines: list[str], end: str) -> None:
    text = "\n".join([head, *lines]) + end
    assert outcome(text, plainly=False) == outcome(text, plainly=True)


def test_recorded_modules_are_read_alike() -> None:
    tried = quick = 0
    for text in modules():
        lines = text.split("\n")
        half = len(lines) // 2
        for one in (
            text,
            text[: len(text) * 2 // 3],
            "\n".join([lines[0], *lines[half:]]),
            re.sub(r"(?m)^    ", "", text),
            text.replace("buf", "x = buf", 3),
        ):
            assert outcome(one, plainly=False) == outcome(one, plainly=True)
            tried += 1
            quick += parts_of(one, lambda values: values) is not None
    assert tried > 300
    assert quick > tried * 2 // 3
