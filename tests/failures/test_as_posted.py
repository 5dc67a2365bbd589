"""Failures as people post them: the words that decide, and the same words where they do not."""
# ruff: noqa: E501 -- messages

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Report, analyze
from tracelens.errors import SourceError
from tracelens.report import Severity

SITE = "/home/ana/venv/lib/python3.11/site-packages"
SETTING = "AttributeError: torch._dynamo.config.recompile_limit does not exist"
POOL = "RuntimeError: Attempting to use a closed pool"
NO_USER = "KeyError: 'getpwuid(): uid not found: 1042'"
NAMED_BY_USER = f"""  File "{SITE}/torch/_inductor/runtime/cache_dir_utils.py", line 23, in default_cache_dir
    sanitized_username = re.sub(r'[\\/:*?"<>|]', "_", getpass.getuser())
  File "/usr/lib/python3.11/getpass.py", line 169, in getuser
    return pwd.getpwuid(os.getuid())[0]
{NO_USER}
"""
AT_EXIT = f"""Exception ignored in atexit callback: <function shutdown_compile_workers at 0x7f00aa>
Traceback (most recent call last):
  File "{SITE}/torch/_inductor/async_compile.py", line 146, in shutdown_compile_workers
    pool.shutdown()
  File "{SITE}/torch/_inductor/compile_worker/subproc_pool.py", line 269, in shutdown
    self.process.wait(300)
subprocess.TimeoutExpired: Command '['python']' timed out after 300 seconds
"""
RUNNER = """Error: CUDA error: invalid argument
terminate called after throwing an instance of 'std::runtime_error'
  what():  create_func_( &container_handle_, num_models, device_str.c_str(), nullptr) API call failed at ../torch/csrc/inductor/aoti_runner/model_container_runner.cpp, line 49
"""
SUBCLASS = """torch._dynamo.exc.TorchRuntimeError: Failed running call_function <built-in function linear>(*(FakeTensor(..., size=(1, 8)), PackedTensor(FakeTensor(..., size=(8, 8), dtype=torch.uint8))), **{'bias': None}):
'FakeTensor' object has no attribute 'unpack'

from user code:
   File "/home/ana/proj/model.py", line 13, in forward
    return self.proj(x)
"""
PINNED = """torch._dynamo.exc.TorchRuntimeError: Failed running call_method pin_memory(*(FakeTensor(..., size=(26,), dtype=torch.int64),), **{}):
NYI: aten.is_pinned.default
"""
SYMBOLIC = f"""  File "{SITE}/neighbours/knn.py", line 81, in knn
    return torch.ops.neighbours.knn(x, y, k)
  File "{SITE}/torch/_ops.py", line 692, in __call__
    return self._op(*args, **kwargs or {{}})
RuntimeError: Cannot call sizes() on tensor with symbolic sizes/strides
"""
VLLM = "RuntimeError: vLLM failed to compile the model. The most likely reason for this is that a previous compilation failed, leading to a corrupted compilation artifact."
#: The text, the code that is first, and words of its title or its advice.
POSTED = {
    "setting": (f"!!! {SETTING}", "ERR000", "cache_size_limit"),
    "closed-pool": (f"torch._inductor.exc.InductorError: {POOL}", "ERR024", "COMPILE_THREADS=1"),
    "no-user": (NAMED_BY_USER, "ERR000", "LOGNAME=torch"),
    "no-home": (
        "[rank1]: PermissionError: [Errno 13] Permission denied: '/.cache' when torch starts",
        "ERR000",
        "HOME=/tmp",
    ),
    "at-exit": (AT_EXIT, "ERR000", "had ended"),
    "runner": (RUNNER, "ERR000", "AOTInductor"),
    "subclass": (SUBCLASS, "ERR015", "inner tensor"),
    "pinned": (PINNED, "ERR015", "DataLoader"),
    "symbolic": (SYMBOLIC, "ERR015", "register_fake"),
    "no-bfloat16": (
        "RuntimeError: mkldnn_reorder_linear_weight: bf16 path needs the cpu support avx512bw, avx512vl and avx512dq",
        "ERR000",
        "float32",
    ),
    "rounding": (
        "torch._inductor.exc.InductorError: TypeError: CppVecOverrides.to_dtype() got an unexpected keyword argument 'use_compute_types'",
        "ERR017",
        "EMULATE_PRECISION_CASTS=0",
    ),
    "hash": ("AssertionError: failed to get the hash of the compiled graph", "ERR000", "rm -rf"),
    "vllm": (VLLM, "ERR000", "torch_compile_cache"),
    "constant": (
        "RuntimeError: We found a fake tensor in the exported program constant's list. This typically means our tracing system encountered an op that we can't trace through.",
        "ERR000",
        "buffer",
    ),
    "own-modules": (
        "RuntimeError: Unsloth: Failed to create dynamic compiled modules!",
        "ERR000",
        "unsloth_compiled_cache",
    ),
}
#: The same of other programs.
OTHERS = {
    "a-web-server": f'Traceback (most recent call last):\n  File "/srv/app/pool.py", line 3, in run\n    go()\n{POOL}',
    "another-user": f'Traceback (most recent call last):\n  File "/srv/app/run.py", line 3, in <module>\n    go()\n{NO_USER}',
    "another-home": "PermissionError: [Errno 13] Permission denied: '/.cache/pip'",
}
#: Lists of names of weights, and whether a compiled model is the reason.
WEIGHTS = {
    'Unexpected key(s) in state_dict: "_orig_mod.a.weight", "_orig_mod.b.weight", ...': True,
    'Missing key(s) in state_dict: "_orig_mod.a.weight", "_orig_mod.b.weight". ': True,
    'Missing key(s) in state_dict: "_orig_mod.a.weight". \n\tUnexpected key(s) in state_dict: "_orig_mod.c.weight".': False,
    'Unexpected key(s) in state_dict: "a.weight", "b.weight".': False,
}
WRITTEN = "After updating to 2.14 training crashes during the **first** `torch.compile` invocation."
VIOLATED = 'torch.fx.experimental.symbolic_shapes.ConstraintViolationError: Constraints violated ({0})! For more information, run with TORCH_LOGS="+dynamic".\n'


def report(text: str, folder: Path) -> Report:
    path = folder / "posted.txt"
    path.write_text(f"{text}\n", encoding="utf-8")
    return analyze(str(path))


@pytest.mark.parametrize("name", POSTED)
def test_the_first_finding_names_the_cause_and_the_way_out(name: str, tmp_path: Path) -> None:
    text, code, words = POSTED[name]
    first = report(text, tmp_path).told[0]
    assert first.code == code
    assert words in first.model_dump_json().replace("\\n", " ")


@pytest.mark.parametrize("name", OTHERS)
def test_the_same_words_of_others_are_nobodys(name: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        report(OTHERS[name], tmp_path)


@pytest.mark.parametrize("name", ["no-user", "runner", "setting"])
def test_what_is_the_machines_is_not_looked_for_in_the_compiler(name: str, tmp_path: Path) -> None:
    first = report(POSTED[name][0], tmp_path).told[0]
    assert {one.id for one in first.advice} == {"known-message"}
    assert name == "no-user" or "It failed while" not in first.message


def test_what_comes_at_the_exit_is_no_end_of_the_program(tmp_path: Path) -> None:
    severity = {name: report(POSTED[name][0], tmp_path).told[0].severity for name in POSTED}
    warned = [name for name, one in severity.items() if one is not Severity.ERROR]
    assert warned == ["at-exit"]


@pytest.mark.parametrize("names", WEIGHTS)
def test_one_list_of_weights_tells_of_a_compiled_model(names: str, tmp_path: Path) -> None:
    text = f"RuntimeError: Error(s) in loading state_dict for Net:\n\t{names}"
    first = report(text, tmp_path).told[0]
    assert (first.data["cause"] == "compiled-keys") is WEIGHTS[names]


def test_a_sentence_of_a_person_is_no_error_beside_one(tmp_path: Path) -> None:
    said = f"{WRITTEN}\n\n```\ntorch._inductor.exc.InductorError: {POOL}\n```"
    assert [one.code for one in report(said, tmp_path).told] == ["ERR024"]
    said = f"Body of `torch._dynamo` cannot be traced here.\n\nInductorError: {POOL}"
    assert [one.code for one in report(said, tmp_path).told] == ["ERR024"]
    with pytest.raises(SourceError):
        report(WRITTEN, tmp_path)


def test_a_message_alone_is_still_told(tmp_path: Path) -> None:
    said = "Need networkx installed to perform smart recomputation heuristics"
    assert report(said, tmp_path).told[0].title.startswith("the message of an error")


@pytest.mark.parametrize(
    ("source", "advice"),
    [("L['query'].size()[2]", "maybe-mark-dynamic"), ("seq_len", "dim-auto")],
)
@pytest.mark.parametrize("indent", ["", "  "])
def test_a_size_that_became_a_constant(
    source: str, advice: str, indent: str, tmp_path: Path
) -> None:
    said = f"{VIOLATED.format(source)}{indent}- Not all values of RelaxedUnspecConstraint({source}) are valid because {source} was inferred to be a constant (22)."
    first = report(said, tmp_path).told[0]
    assert (first.code, first.data["value"]) == ("DYN002", "22")
    assert first.advice[0].id == advice


def test_of_a_list_that_was_cut_the_first_whole_line_is_read(tmp_path: Path) -> None:
    prefix = "E1118 11:34:26.548000 12607 torch/_guards.py:300] [0/0] "
    lines = (
        VIOLATED.format("seq_len").strip(),
        "  - Not all values of seq_len = L['ids'].size()[1] in the specified range seq_len <= 128 are valid because seq_len was inferred to be a constant (6).",
        "  - Not all values of seq_len = L['mask'].size()[1] in the specified range seq_len <= 128 are valid",
    )
    first = report("\n".join(prefix + line for line in lines), tmp_path).told[0]
    assert (first.code, first.data["value"], first.data["relation"]) == ("DYN002", "6", False)
    assert "relation" not in {one.id for one in first.advice}


def test_a_bound_that_is_not_kept_is_no_constant(tmp_path: Path) -> None:
    said = f"{VIOLATED.format('n')}  - Not all values of n = L['x'].size()[0] in the specified range satisfy the generated guard 2 <= L['x'].size()[0]"
    first = report(said, tmp_path).told[0]
    assert first.data["value"] == ""
    assert first.advice[0].id == "relation"


@pytest.mark.parametrize(
    ("missing", "command"),
    [("AttrsDescriptor", "triton-windows<3.3"), ("triton_key", "triton-windows<3.6")],
)
def test_the_triton_for_windows_is_of_the_torch_that_asks(
    missing: str, command: str, tmp_path: Path
) -> None:
    said = f"ImportError: cannot import name '{missing}' from 'triton.compiler.compiler' (C:\\py\\Lib\\site-packages\\triton\\compiler\\compiler.py)"
    first = report(f"torch._inductor.exc.InductorError: {said}", tmp_path).told[0]
    assert first.code == "ERR009"
    assert command in str(first.advice[0].code)


def test_a_real_tensor_among_fake_ones_is_no_matter_of_shapes(tmp_path: Path) -> None:
    said = "torch._dynamo.exc.TorchRuntimeError: Dynamo failed to run FX node with fake tensors: call_function f(*(FakeTensor(..., size=(4, 4)),), **{}): got AssertionError(\"Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with 'allow_non_fake_inputs'. Found in aten.mm.default(FakeTensor(..., size=(4, 4)), tensor([...], size=(4, 4)))\")"
    advice = {one.id for one in report(said, tmp_path).told[0].advice}
    assert advice == {"own", "mode", "newer-torch"}


def test_a_library_that_does_not_load_was_not_being_built(tmp_path: Path) -> None:
    said = (
        "terminate called after throwing an instance of 'c10::DynamicLibraryError'\n"
        "  what():  Error in dlopen: /srv/model.so: undefined symbol: _ZN3c104WarnEv\n"
        "Exception raised from DynamicLibrary at ../aten/src/ATen/DynamicLibrary.cpp:38 (most recent call first):\n"
        "frame #0: c10::Error::Error(c10::SourceLocation) + 0x6c (0x7f00aa in /srv/lib/libc10.so)\n"
    )
    message = report(said, tmp_path).told[0].message
    assert "frame #0" not in message
    assert "compiler built" not in message


TIMEOUT = "[rank0]:[E515 18:36:47.341 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=24, OpType=ALLREDUCE, NumelIn=6, NumelOut=6, Timeout(ms)=600000) ran for 600086 milliseconds before timing out.\n"
DESYNC = """[rank0]:[E515 18:36:47.343 ProcessGroupNCCL.cpp:1937] Rank 0
\t - [0] Timeout at collective: ALLREDUCE, #31
\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:
\t   {0} (count from 1)
"""


@pytest.mark.parametrize(
    ("told", "title", "words"),
    [
        (
            "  [5,7] finished collective #18, but didn't join collective #19",
            "ranks 5 and 7 did not reach it",
            "ended collective 18 and did not join the next",
        ),
        (
            "- [3] joined but didn't finish collective #18",
            "rank 3 did not reach it",
            "joined collective 18 and did not end it",
        ),
    ],
)
def test_the_ranks_that_nccl_names_are_named(
    told: str, title: str, words: str, tmp_path: Path
) -> None:
    first = report(TIMEOUT + DESYNC.format(told), tmp_path).told[0]
    assert first.title == f"a collective timed out: {title}"
    assert words in first.message
    assert "Compare the ranks" not in first.advice[0].text


def test_without_a_report_the_ranks_are_compared(tmp_path: Path) -> None:
    first = report(TIMEOUT, tmp_path).told[0]
    assert first.title == "a collective timed out: not every rank reached it"
    assert "Compare the ranks" in first.advice[0].text


def test_a_branch_on_data_is_told_by_the_older_words_too(tmp_path: Path) -> None:
    said = (
        "torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode: It appears that you're trying to get a value out of symbolic int/float whose value is data-dependent (and thus we do not know the true value.)  The expression we were trying to evaluate is Eq(i0, 0) (unhinted: Eq(i0, 0)).  Scroll up to see where each of these data-dependent accesses originally occurred.\n\n"
        'from user code:\n   File "/home/ana/proj/moe.py", line 51, in <resume in forward>\n    if counts[i] == 0:\n'
    )
    first = report(said, tmp_path).told[0]
    assert (first.code, first.data["expression"]) == ("DYN001", "Eq(i0, 0)")
    assert first.data["code"] == "if counts[i] == 0:"
    assert "cond" in {one.id for one in first.advice}


@pytest.mark.parametrize(("on", "advice"), [("HIP", "built-for-rocm"), ("CUDA", "built-for")])
def test_a_kernel_for_another_gpu_is_looked_at_where_it_is(
    on: str, advice: str, tmp_path: Path
) -> None:
    said = f"RuntimeError: Triton Error [{on}]: Code: 209, Messsage: no kernel image is available for execution on the device"
    advised = {one.id for one in report(said, tmp_path).told[0].advice}
    assert {"built-for", "built-for-rocm"} & advised == {advice}
    assert ("driver" in advised) is (on == "CUDA")


@pytest.mark.parametrize(
    ("folder", "first"),
    [
        (
            "C:\\\\Users\\\\ana\\\\AppData\\\\Local\\\\Temp\\\\torchinductor_ana\\\\triton\\\\0\\\\ab",
            "delete-folder-windows",
        ),
        ("D:\\\\caches\\\\torchinductor_ana\\\\triton\\\\0\\\\ab", "cache-folder-windows"),
    ],
)
def test_windows_own_folder_is_deleted(folder: str, first: str, tmp_path: Path) -> None:
    said = f"backend='inductor' raised:\nPermissionError: [WinError 5] Access is denied: '{folder}' -> '{folder}c'"
    assert report(said, tmp_path).told[0].advice[0].id == first


def test_a_library_is_not_to_compete_with_flex_attention(tmp_path: Path) -> None:
    said = "torch._inductor.exc.InductorError: LoweringException: NoValidChoicesError: No choices to select"
    flex = report(f"{said}\n  target: flex_attention\n", tmp_path)
    other = report(f"{said}\n  target: aten.mm.default\n", tmp_path)
    shown = [[one.id for one in f.advice] for f in flex.findings if f.code == "TUN005"]
    assert all("allow-library" not in ids for ids in shown)
    assert "allow-library" in [one.id for f in other.findings for one in f.advice]


SAVED = "tensor at position 49:\nsaved metadata: {{'shape': torch.Size([{0}]), 'dtype': torch.bfloat16, 'device': device(type='xpu', index=1)}}\nrecomputed metadata: {{'shape': torch.Size([{1}]), 'dtype': torch.bfloat16, 'device': device(type='xpu', index=1)}}\n"


@pytest.mark.parametrize(
    ("saved", "came", "chosen"),
    [("99, 8192", "98, 8192", True), ("4096", "1, 1, 4096", False), ("4, 8", "8, 4", False)],
)
def test_what_is_recomputed_in_another_size(
    saved: str, came: str, chosen: bool, tmp_path: Path
) -> None:
    first = report(SAVED.format(saved, came), tmp_path).told[0]
    advised = [one.id for one in first.advice]
    assert first.code == "ERR028"
    assert ("choose-outside" in advised) is chosen
    assert "limit" not in advised
    assert "compiled code ran" not in first.message


def test_a_limit_that_was_hit_is_the_likely_reason_of_a_recomputation(tmp_path: Path) -> None:
    hit = "W0730 05:54:09.440000 86 torch/_dynamo/convert_frame.py:795] [8/8] "
    said = (
        f"{hit}torch._dynamo hit config.recompile_limit (8)\n{hit}   function: 'forward' (/home/ana/proj/block.py:14)\n"
        "torch.utils.checkpoint.CheckpointError: torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
    )
    found = next(one for one in report(said, tmp_path).findings if one.code == "ERR028")
    assert found.advice[0].id == "limit"


@pytest.mark.parametrize("fence", ["```", "\\`\\`\\`", "```python"])
def test_the_fence_of_a_post_is_no_part_of_a_message(fence: str, tmp_path: Path) -> None:
    said = (
        "RuntimeError: torch.compile with aot_autograd does not currently support double backward"
    )
    assert "`" not in report(f"{fence}\n{said}\n{fence}", tmp_path).told[0].message


@pytest.mark.parametrize(
    ("package", "advice"), [("matplotlib", "leave-package"), ("diffusers", "pass-tensor")]
)
def test_a_package_without_tensors_is_left_out(package: str, advice: str, tmp_path: Path) -> None:
    hit = "W0730 05:54:09.440000 86 torch/_dynamo/convert_frame.py:795] [8/64] "
    said = (
        f"{hit}torch._dynamo hit config.recompile_limit (64)\n"
        f"{hit}   function: 'draw' ({SITE}/{package}/drawing.py:212)\n{hit}   last reason: 8/0: d == 2.0\n"
    )
    first = report(said, tmp_path).told[0]
    assert (first.code, first.advice[0].id) == ("RCP001", advice)
    assert ("raise-limit" in [one.id for one in first.advice]) <= (package == "diffusers")


@pytest.mark.parametrize("output", ["", "\nOutput:\nmain.cpp:3:1: error: expected ';'\n"])
def test_that_the_compilers_words_are_cut_off_is_said(output: str, tmp_path: Path) -> None:
    prefix = "[2023-07-28 17:15:25,731] torch._dynamo.convert_frame: [WARNING] "
    said = (
        "WON'T CONVERT fn /home/ana/proj/model.py line 3\ndue to:\nTraceback (most recent call last):\n"
        f'  File "{SITE}/torch/_inductor/codecache.py", line 953, in compile_file\n    raise exc.CppCompileError(cmd, output) from e\n'
        "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nCppCompileError: C++ compile error\n\nCommand:\ng++ main.cpp"
        + output
    )
    text = "\n".join(prefix + line for line in said.split("\n"))
    found = next(one for one in report(text, tmp_path).findings if one.code == "GBR013")
    assert ("is not in the log" in found.message) is (not output)


def test_a_static_input_of_a_cuda_graph_that_moved(tmp_path: Path) -> None:
    said = (
        f'  File "{SITE}/torch/_inductor/cudagraph_trees.py", line 951, in run\n'
        "    assert data_ptr == new_inputs[idx].data_ptr()\nAssertionError\n"
    )
    first = report(said, tmp_path).told[0]
    assert "CUDA graph takes for fixed" in first.title
    other = said.replace("data_ptr == new_inputs[idx].data_ptr()", "len(outputs) == count")
    assert "CUDA graph takes for fixed" not in report(other, tmp_path).told[0].title


@pytest.mark.parametrize("name", ["_unflatten_list", "flatten_list"])
def test_what_torch_calls_by_itself_is_not_to_be_called_elsewhere(
    name: str, tmp_path: Path
) -> None:
    said = (
        "torch._dynamo.exc.Unsupported: Attempted to call function marked as skipped\n"
        f"  Explanation: Dynamo developers have intentionally marked that the function `{name}` in "
        f"file `{SITE}/torch/fx/lists.py` should not be traced.\n"
        f"  Hint: Avoid calling the function `{name}`.\n\n"
        f"  Developer debug context: module: torch.fx.lists, qualname: {name}, "
        "skip reason: <missing reason>\n"
    )
    fixes = [one.text for one in report(said, tmp_path).told[0].advice]
    assert any("no program calls it" in one for one in fixes) is name.startswith("_")
