# ruff: noqa: E501 -- what torch prints
"""Warnings that no rule judges, and pieces of what torch writes: what they are and mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, Report, Severity, TracelensError, analyze
from tracelens.render import Options
from tracelens.render.text import Text

TORCH = "/home/ana/venv/lib/python3.11/site-packages/torch"
#: A warning, words of the title, and words of the message.
WARNED = {
    "a cached function": (
        (
            f"{TORCH}/_dynamo/variables/functions.py:1565: UserWarning: Dynamo detected a call to a "
            "`functools.lru_cache`-wrapped function. Dynamo ignores the cache wrapper and directly "
            "traces the wrapped function.\n  torch._dynamo.utils.warn_once(msg)\n"
        ),
        "lru_cache",
        "harmless where",
    ),
    "a projection": (
        (
            f"{TORCH}/nn/modules/rnn.py:1164: UserWarning: LSTM with projections is not supported with "
            "oneDNN. Using default implementation.\n  result = _VF.lstm(\n"
        ),
        "LSTM with projections",
        "harmless",
    ),
    "no GPU": (
        "No CUDA runtime is found, using CUDA_HOME='/usr/local/cuda'\n",
        "sees no GPU",
        "to run on the CPU",
    ),
    "hooks": (
        (
            f"{TORCH}/_dynamo/eval_frame.py:300: UserWarning: nn.Module forward/_pre hooks are only "
            "partially supported, and were detected in your model.\n"
        ),
        "hooks of a module",
        "before the first call",
    ),
    "a deprecation, indented": (
        (
            f"  {TORCH}/_inductor/runtime/triton_helpers.py:152: UserWarning: Logical operators 'and' "
            "and 'or' are deprecated for non-scalar tensors; please use '&' or '|' instead\n"
            "    equal |= a_isnan and b_isnan\n"
        ),
        "deprecation",
        "harmless",
    ),
    "refused by kernels of attention": (
        (
            "test_sdpa.py:14: UserWarning: Flash attention kernel not used because: (Triggered "
            "internally at sdp_utils.cpp:720.)\n  torch.nn.functional.scaled_dot_product_attention(\n"
            "test_sdpa.py:14: UserWarning: Flash Attention does not support non-null attn_mask. "
            "(Triggered internally at sdp_utils_cpp.h:269.)\n"
        ),
        "fused kernel",
        "says why it refuses",
    ),
    "no flash attention, behind a progress bar": (
        (
            "  0%|          | 0/50 [00:00<?, ?it/s]D:\\envs\\Lib\\site-packages\\diffusers\\models\\"
            "attention_processor.py:1279: UserWarning: 1Torch was not compiled with flash attention.\n"
        ),
        "no flash attention",
        "the result is the same",
    ),
    "unused parameters": (
        (
            "[W reducer.cpp:1050] Warning: find_unused_parameters=True was specified in DDP "
            "constructor, but did not find any unused parameters. (function operator())\n"
        ),
        "unused parameters",
        "once more in each step",
    ),
    "a guessed GPU": (
        (
            "[W ProcessGroupNCCL.cpp:1569] Rank 1 using best-guess GPU 1 to perform barrier as "
            "devices used by this process are currently unknown.\n"
        ),
        "which GPU a rank uses",
        "harmless where",
    ),
    "any deprecation": (
        (
            f"{TORCH}/cuda/amp/autocast_mode.py:12: FutureWarning: `torch.cuda.amp.autocast(args...)` "
            "is deprecated.\n"
        ),
        "deprecation warning of torch's",
        "harmless today",
    ),
}
#: A text, and words of the title.
PIECES = {
    "the head of a module": ("# AOT ID: ['0_inference']\nimport torch\n", "generated"),
    "its worker": ("async_compile = AsyncCompile()\n", "generated"),
    "Inductor's graph": (
        "op0.met_dependencies = []\nop0.min_input_distance = 1\n",
        "Inductor's graph",
    ),
    "its operations": (
        "        relu = ops.relu(load)\n        constant = ops.constant(0.0, torch.float32)\n",
        "Inductor's graph",
    ),
    "guards of explain": (
        "  Guard 13:\n    Name: \"L['x']\"\n    Source: local\n    Create Function: TENSOR_MATCH\n",
        "explain",
    ),
    "oneDNN's converter": (
        (
            "prim_kind  shapes       ncalls  time(ms)  overall%\n"
            "reorder    192x192x1x1  5       0.19      30.82\n"
        ),
        "verbose_converter",
    ),
    "fusion of 2.1": (
        (
            "[2023-11-14 13:35:07,336] [1/0] torch._inductor.scheduler: [DEBUG] cannot fuse "
            "(vert:2): intermediate nodes between node1 & node2\n"
        ),
        "what Inductor fused",
    ),
    "candidates without a prefix": (
        "InChildProcess CppBenchmarkRequest(): load 0.000006, create tensor 0.000000, bench 0.03\n",
        "times of candidates",
    ),
    "unitrace": (
        "Kernel,        Calls,            Time (ns),     Time (%),         Average (ns)\n",
        "unitrace",
    ),
    "a cache": ("fx graph cache hit for key f52nlpvgqjez5leks25zbzf\n", "Inductor notes"),
    "a cache, with the compilation": (
        "[0/0] AOTAutograd cache miss for key abc\n",
        "Inductor notes",
    ),
    "a step": ("Step 1: torchdynamo start tracing f /home/ana/proj/model.py:17\n", "Dynamo notes"),
    "the foot of a table": (
        (
            "---------------------------  ------------  ------------  ------------\n"
            "Self CPU time total: 100.887ms\n"
        ),
        "profiler's table",
    ),
    "rows with stacks": (
        (
            "            torch/nn/modules/container.py(248): forward         0.19%     489.177us       "
            "97.72%     246.049ms      82.016ms             3\n"
        ),
        "profiler's table",
    ),
}


def analyzed(folder: Path, text: str) -> Report:
    (folder / "paste.txt").write_text(text, encoding="utf-8")
    return analyze(str(folder / "paste.txt"))


def first(folder: Path, text: str) -> Finding:
    return analyzed(folder, text).findings[0]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Dynamo detected a call to a `functools.lru_cache`-wrapped function.", "lru_cache"),
        ("Profiler clears events at the end of each cycle.", "last cycle only"),
    ],
)
def test_a_warning_is_judged_without_what_stands_before_it(
    tmp_path: Path, text: str, title: str
) -> None:
    assert title in first(tmp_path, text).title


@pytest.mark.parametrize("case", WARNED)
def test_a_warning_is_judged(tmp_path: Path, case: str) -> None:
    text, title, message = WARNED[case]
    found = first(tmp_path, text)
    assert (found.code, found.severity) == ("LOG001", Severity.INFO)
    assert title in found.title
    assert message in found.message
    assert found.advice


def test_a_warning_of_a_builtin_is_a_graph_break_that_has_no_place(tmp_path: Path) -> None:
    builtin = (
        f"{TORCH}/_dynamo/variables/functions.py:1598: UserWarning: Dynamo does not know how to "
        "trace the builtin `datetime.now.` This function is either a Python builtin\n"
    )
    found = first(tmp_path, WARNED["a cached function"][0] + builtin)
    assert found.code == "GBR009"
    assert "`datetime.now`" in found.title
    assert not any("custom_op" in one.text for one in found.advice)
    assert any("before or after the compiled function" in one.text for one in found.advice)


@pytest.mark.parametrize("case", PIECES)
def test_a_piece_is_named(tmp_path: Path, case: str) -> None:
    text, title = PIECES[case]
    found = first(tmp_path, text)
    assert (found.code, found.severity) == ("LOG001", Severity.INFO)
    assert title in found.title


@pytest.mark.parametrize(
    "text",
    [
        "from torch.utils.data import DataLoader\nprint(DataLoader)\n",
        "relu = ops.relu(x)\n",
        "  recompiles_verbose   Prints all guard checks that fail during a recompilation.\n",
        "[3/10] loss 0.25\n[4/10] loss 0.24\n",
        "prim_kind of the matter: none\n",
        "Kernel, Calls and Time (ns) are columns\n",
        "train.py:3: UserWarning: Memory is nearly full\n",
        "  5%|#  | 1/20 [00:01<00:19,  1.0it/s]/home/ana/proj/train.py:3: UserWarning: slow disk\n",
        "/home/ana/proj/train.py:3: UserWarning: the deprecated option is ignored\n",
    ],
)
def test_what_looks_like_one_and_is_none(tmp_path: Path, text: str) -> None:
    with pytest.raises(TracelensError):
        analyzed(tmp_path, text)


def test_a_candidate_without_room_is_no_failure(tmp_path: Path) -> None:
    line = (
        "[rank0]:W0103 07:39:55.109000 3537 torch/_inductor/select_algorithm.py:1517] [1/2] out of "
        "resource: shared memory, Required: 196608, Hardware limit: 166912. Reducing block sizes "
        "or `num_stages` may help.\n"
    )
    for text in (line, f"  39 {line}"):
        assert [one.code for one in analyzed(tmp_path, text).findings] == ["TUN004"]


def test_a_kernel_without_room_is_one(tmp_path: Path) -> None:
    found = first(
        tmp_path,
        "Traceback (most recent call last):\n"
        '  File "/home/ana/proj/train.py", line 3, in <module>\n'
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 196608, "
        "Hardware limit: 166912. Reducing block sizes or `num_stages` may help.\n",
    )
    assert found.code == "ERR013"


def test_the_limit_as_it_was_in_2022(tmp_path: Path) -> None:
    limit = (
        "torchdynamo hit recompilation cache limit (64) for function 'forward' (/home/ana/proj/"
        "model.py:381), due to the following guard failures: [['len(frames) == 0'], "
        "['len(frames) == 0']]\n"
    )
    glued = f"cuda eval  tacotron2    WARNING:torchdynamo.convert_frame:{limit}"
    for text in (limit, glued):
        found = first(tmp_path, text)
        assert (found.code, "limit of 64" in found.title) == ("RCP001", True)
        assert "`frames`" in found.message


def test_columns_of_older_tables_are_a_devices(tmp_path: Path) -> None:
    head = "Name  Self CPU total %  Self CPU total   CPU total %      CPU total   "
    row = "aten::mm  98.09%           518.336ms        98.88%           522.511ms   "
    device = analyzed(
        tmp_path,
        f"{head}CUDA total %     CUDA total   Number of Calls\n{row}49.89%   790.885ms   100\n",
    )
    assert "TRC022" not in {one.code for one in device.findings}
    assert "`aten::mm`, in 100 calls" in device.findings[0].message
    host = analyzed(tmp_path, f"{head}Number of Calls\n{row}100\n")
    assert "TRC022" in {one.code for one in host.findings}


def test_a_report_of_the_compile_profiler_tells_its_breaks(tmp_path: Path) -> None:
    found = analyzed(
        tmp_path,
        "Torchdynamo Profiler Report\n===========================\n\nGraph Breaks\n------------\n"
        "Graph Break Reason                     Count\n--------------------  -------\n"
        "generic_jump TensorVariable()                1\n\nRecompilation\n-------------\n"
        "Function                        Recompiles  Recompile Reasons\n"
        "----------------------------  ------------  -------------------\n"
        "'forward' (/home/ana/proj/model.py:11)   8  L['n'] == 3\n",
    ).findings
    assert "GBR002" in {one.code for one in found}


@pytest.mark.parametrize(
    ("rows", "title", "reasons"),
    [
        (
            "hasattr: UserDefinedClassVariable()   1\nhasattr no source   2\n",
            "3 graph breaks for 2",
            2,
        ),
        ("hasattr no source                     2\n", "2 graph breaks at 1 place: hasattr", 0),
    ],
)
def test_the_compile_profiler_counts_each_reason(
    rows: str, title: str, reasons: int, tmp_path: Path
) -> None:
    (found, *_) = analyzed(
        tmp_path,
        "Torchdynamo Profiler Report\n===========================\n\nGraph Breaks\n------------\n"
        f"Graph Break Reason                     Count\n--------------------  -------\n{rows}\n"
        "Recompilation\n-------------\nNo recompilation detected\n",
    ).told
    assert found.code == "GBR012"
    assert found.title.startswith(title)
    assert not reasons or "hasattr no source (2); hasattr: UserDef" in found.message


def test_only_notes_are_no_clean_bill(tmp_path: Path) -> None:
    prefix = "V0703 10:34:13.273000 1403 torch/_dynamo/guards.py:2590] [0/1] [__recompiles] "
    text = (
        f"{prefix}Recompiling function f in /home/ana/proj/b.py:3\n"
        f"{prefix}    triggered by the following guard failure(s):\n"
        f"{prefix}    - 0/0: tensor 'L['x']' size mismatch at index 0. expected 4, actual 5\n"
    )
    said = Text.render(analyzed(tmp_path, text), Options())
    assert said.startswith("Only what is harmless was seen")
    assert "Nothing to fix" not in said
    long = Text.render(analyzed(tmp_path, text + "step done\n" * 100), Options())
    assert long.startswith("Nothing to fix")
