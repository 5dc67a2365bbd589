"""Messages of torch and Triton that name no compiler, each alone in a paste."""
# ruff: noqa: E501 -- lines of tracebacks

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Report, analyze
from tracelens.errors import SourceError
from tracelens.failures.causes import hits
from tracelens.report import Confidence

SITE = "C:\\ai\\python_embeded\\Lib\\site-packages\\torch\\_inductor"
HASHED = "/srv/c" + "mezixbshurefmdsgmafaulooifjf4hu5ofsldijijfkuo5iwvvs"
DECODING = f"""  File "{SITE}\\cpp_builder.py", line 431, in _is_msvc_cl
    subprocess.check_output([cpp_compiler, "/help"], stderr=subprocess.STDOUT)
UnicodeDecodeError: 'utf-8' codec can't decode byte 0x8e in position 0: invalid start byte
"""
LONG = "C:\\\\Users\\\\ana\\\\torchinductor_ana\\\\triton\\\\0\\\\" + "A" * 240 + ".json"
CAPTURE = """  File "/venv/site-packages/torch/cuda/graphs.py", line 84, in capture_end
    super().capture_end()
RuntimeError: CUDA error: out of memory
"""
FLEX = """  args[6]: {'ROWS_GUARANTEED_SAFE': False, 'PRESCALE_QK': False, 'OUTPUT_LOGSUMEXP': True}
  args[7]: ()

torch._inductor.exc.LoweringException: NoValidChoicesError: No choices to select, please consider
"""
FP8 = """Triton compilation failed: triton_poi_fused__to_copy_0
metadata: {'signature': {'in_ptr0': '*fp8e4nv', 'out_ptr0': '*fp32'}, 'device': 0, 'cc': 80}
Traceback (most recent call last):
"""
OVERWRITTEN = (
    "> accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run. Stack "
    'trace: File "/home/ana/proj/model.py", line 12, in forward x = self.attention(x). To prevent '
    "overwriting, clone the tensor outside of torch.compile()"
)
#: The text, the code that is first, and words of its advice.
TEXTS = {
    "allocator": (
        "cudaMallocAsync does not yet support checkPoolLiveAllocations. If you need it",
        "ERR000",
        "backend:native",
    ),
    "overwritten": (OVERWRITTEN, "CGR006", "clone"),
    "functional": (
        (
            "RuntimeError: Attempting to use FunctionalTensor on its own. Instead, please use it "
            "with a corresponding FunctionalTensorMode()"
        ),
        "ERR017",
        "Report it",
    ),
    "on-cpu": (
        "ValueError: Pointer argument (at 2) cannot be accessed from Triton (cpu tensor?)",
        "ERR000",
        'device="cuda"',
    ),
    "mapped": (
        (
            "RuntimeError: It looks like you're trying to call a compiled backward function within "
            "vmap/grad/vjp, which isn't supported."
        ),
        "ERR000",
        "inside",
    ),
    "allocation": (
        (
            "RuntimeError: aoti_torch_empty_strided(3, a, b, c, d, 0, &h) API call failed at "
            "/srv/x.cpp, line 31"
        ),
        "ERR000",
        "smaller batch",
    ),
    "call": (
        "RuntimeError: aoti_torch_cuda_mm_out(a, b, c) API call failed at /srv/x.cpp, line 31",
        "ERR000",
        "stands above",
    ),
    "language": (
        (
            "RuntimeError: Torch.compile() is only support MSVC with English language pack,Please "
            "reinstall its language pack to English."
        ),
        "ERR000",
        "English language pack",
    ),
    "decoding": (DECODING, "ERR000", "English language pack"),
    "include": (
        (
            "CppCompileError: c1.cpp(3): Cannot open include file: 'algorithm': No such file or "
            "directory"
        ),
        "ERR003",
        "vcvars64",
    ),
    "long-path": (
        f"FileNotFoundError: [Errno 2] No such file or directory: '{LONG}'",
        "ERR000",
        "LongPathsEnabled",
    ),
    "gone": (
        (
            "FileNotFoundError: [Errno 2] No such file or directory: "
            "'/tmp/torchinductor_ana/triton/0/AB/k.llir.tmp.pid_1_2'"
        ),
        "ERR000",
        "cleans /tmp",
    ),
    "noexec": (
        (
            "OSError: failed to map segment.  The most common reason this may occur is if the "
            "/srv/torchinductor_ana folder is mounted with noexec (e.g., by default Docker)"
        ),
        "ERR000",
        "TORCHINDUCTOR_CACHE_DIR",
    ),
    "hashed-cpp": (
        f"{HASHED}.cpp:384:33: error: 'aoti_torch__embedding_bag' was not declared in this scope",
        "ERR007",
        "torch",
    ),
    "aoti-symbol": (
        "[x] undefined symbol: _Z16aoti_torch_dtypeIN3c104HalfEEiv",
        "ERR006",
        "torch",
    ),
    "capture": (CAPTURE, "ERR025", "sizes"),
    "flex": (FLEX, "ERR014", "kernel_options"),
    "fp8": (FP8, "ERR012", "e5m2"),
    "symbolic": (
        (
            "Size does not match at dimension 1 expected index torch.Size([1, s4, 1]) to be no "
            "larger than self torch.Size([1, s2 - 1, 15]) apart from dimension 2"
        ),
        "ERR015",
        "TORCHDYNAMO_DISABLE",
    ),
    "ptxas": (
        (
            "triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error\n"
            "`ptxas` stderr:"
        ),
        "ERR010",
        "TRITON_PTXAS_PATH",
    ),
    "worker": (
        "RuntimeError: Inductor compile-worker future for k did not complete within 60s.",
        "ERR024",
        "COMPILE_THREADS",
    ),
    "no-triton": ("RuntimeError: triton package is not installed", "ERR008", "triton"),
    "guard": (
        (
            "W0213 09:47:01.171000 226 torch/fx/experimental/symbolic_shapes.py:6578] failed "
            "during evaluate_expr(Ne(u0, 589824), hint=None, size_oblivious=False, forcing_spec=N"
        ),
        "DYN001",
        "torch._check",
    ),
}


def report(text: str, tmp_path: Path) -> Report:
    path = tmp_path / "pasted.txt"
    path.write_text(text + "\n", encoding="utf-8")
    return analyze(str(path))


@pytest.mark.parametrize("name", TEXTS)
def test_a_message_is_known_without_its_traceback(name: str, tmp_path: Path) -> None:
    text, code, words = TEXTS[name]
    first = report(text, tmp_path).told[0]
    told = [str(part) for one in first.advice for part in (one.text, one.env, one.code)]
    assert first.code == code
    assert any(words in part for part in (*told, first.title, first.message))


@pytest.mark.parametrize(
    "text",
    [
        "UnicodeDecodeError: 'utf-8' codec can't decode byte 0x8e in position 0",
        "FileNotFoundError: [Errno 2] No such file or directory: '/srv/triton/models/a.onnx'",
        "undefined symbol: _ZN8octomath6Pose6DC1ERKS0_",
        "main.c:3:1: error: expected ';' before '}' token",
        "/srv/app/cache.cpp:384:33: error: 'x' was not declared in this scope",
        "expected torch.Size([1, 4, 1]) to be no larger than self torch.Size([1, 3, 1])",
        "mount: /tmp is mounted with noexec",
        "API call failed at step 3: connection refused",
        "cannot open include file: see the manual",
        "shape torch.Size([16, 3]) of s2 is ok",
        (
            '  raise RuntimeError("call a compiled backward function within vmap/grad/vjp, "\n'
            '    "which isn\'t supported.")'
        ),
    ],
)
def test_the_same_words_of_another_program_are_not(text: str, tmp_path: Path) -> None:
    try:
        found = report(text, tmp_path).told
    except SourceError:
        return
    assert not [finding.code for finding in found if finding.code.startswith("ERR")]


def test_what_the_search_for_kernels_leaves_out_ends_nothing(tmp_path: Path) -> None:
    left = (
        "RuntimeError: No valid triton configs. OutOfMemoryError: out of resource: triton_mm "
        "Required: 360448 Hardware limit:232448 Reducing block sizes or `num_stages` may help.\n"
        "Ignoring this choice.\n"
    )
    head = "[2/0] Runtime error during autotuning: \n"
    told = report(head + left, tmp_path).findings
    assert [(one.code, one.severity) for one in told] == [("TUN004", "none")]
    ended = left + "torch._inductor.exc.InductorError: RuntimeError: x is not in the graph"
    assert report(ended, tmp_path).told[0].code == "ERR017"


CUSTOM = """Traceback (most recent call last):
  File "/home/ana/proj/app.py", line 9, in <module>
    compiled(x)
  File "/venv/lib/python3.11/site-packages/torch/_dynamo/eval_frame.py", line 1044, in compile_wrapper
    raise e.remove_dynamo_frames() from None  # see TORCHDYNAMO_VERBOSE=1
  File "/venv/lib/python3.11/site-packages/torch/_dynamo/output_graph.py", line 2450, in call_user_compiler
    raise BackendCompilerFailed(
  File "/venv/lib/python3.11/site-packages/torch/_dynamo/repro/after_dynamo.py", line 156, in __call__
    compiled_gm = compiler_fn(gm, example_inputs)
torch._dynamo.exc.BackendCompilerFailed: backend='{name}' raised:
KeyError: 'x9'
"""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("my", "It failed in the backend that torch.compile was given."),
        ("inductor", "It failed while Inductor lowered the graph."),
        ("aot_eager", "It failed in AOTAutograd"),
    ],
)
def test_a_backend_fails_after_dynamo_has_traced(name: str, said: str, tmp_path: Path) -> None:
    found = report(CUSTOM.format(name=name), tmp_path).told[0]
    assert found.code == "ERR017"
    assert said in found.message
    assert "while Dynamo traced" not in found.message


@pytest.mark.parametrize("switches", ["graph_breaks,recompiles", ""])
def test_that_nothing_was_compiled_is_said_where_the_logs_were_on(
    switches: str, tmp_path: Path
) -> None:
    """``graph_code`` and the like print with every compilation; other switches prove nothing."""
    noted = f"# tracelens: TORCH_LOGS +graph_code,{switches}\n" if switches else ""
    text = (
        'Traceback (most recent call last):\n  File "/home/ana/proj/train.py", line 9, in <module>\n'
        "    step(x)\nValueError: no data\n"
        f"{noted}# tracelens: torch 2.13.0+cpu\n# tracelens: ended exit code 1"
    )
    found = report(text, tmp_path).told[0]
    assert found.code == "ERR000"
    assert ("and nothing had been compiled" in found.message) is bool(switches)


def test_a_cast_that_triton_refuses_without_a_reason_is_told_of(tmp_path: Path) -> None:
    text = (
        "triton.compiler.errors.CompilationError: at 3:11:\n"
        "def triton_(in_ptr0, out_ptr0, XBLOCK : tl.constexpr):\n"
        "    tmp0 = tl.load(in_ptr0 + (x0), None)\n    tmp1 = tmp0{}\n           ^\n"
    )
    cast = report(text.format(".to(tl.float32)"), tmp_path).told[0]
    other = report(text.format(" + unknown(x)"), tmp_path).told[0]
    assert (cast.code, cast.confidence) == ("ERR012", Confidence.MEDIUM)
    assert (other.code, other.confidence) == ("ERR017", Confidence.HIGH)
    assert "mostly float8_e4m3fn" in cast.title
    assert not any("float8" in one.text for one in other.advice)


def test_generated_code_that_holds_a_message_is_no_failure() -> None:
    said = "Itlookslikeyou'retryingtocallacompiledbackwardfunctionwithinvmap/grad/vjp,"
    in_code = {cause for cause, _, _ in hits(f'"{said}""whichisn\'tsupported."')}
    raised = {cause for cause, _, _ in hits(f"RuntimeError:{said}whichisn'tsupported.")}
    assert "batched-backward" in raised
    assert "batched-backward" not in in_code


@pytest.mark.parametrize(
    ("package", "expected"), [("torchjd", "one-at-a-time"), ("oddlib", "inside")]
)
def test_what_maps_the_backward_has_an_option_where_it_is_known(
    package: str, expected: str, tmp_path: Path
) -> None:
    text = (
        "Traceback (most recent call last):\n"
        f'  File "/home/ana/venv/lib/python3.11/site-packages/{package}/jac.py", line 68, in vjp\n'
        "    return torch.vmap(grad)(rows)\n"
        "RuntimeError: It looks like you're trying to call a compiled backward function within "
        "vmap/grad/vjp, which isn't supported. Try wrapping vmap inside torch.compile, or skip "
        "compiling the backward function.\n"
    )
    (found,) = report(text, tmp_path).told
    assert found.advice[0].id == expected
    assert found.title.endswith("Try wrapping vmap inside torch.compile, or ...")
