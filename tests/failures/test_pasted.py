"""A line or two of a failure, as people paste it without all that stood around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Report, analyze
from tracelens.cli._phrases import rules_about
from tracelens.errors import SourceError, UsageError
from tracelens.report import Severity

HEADER_CN = "/srv/tmpzx8/main.c:1:10: 致命错误：cuda.h：没有那个文件或目录"  # noqa: RUF001
HEADER_DE = (
    "/srv/tmpq1/main.c:4:10: schwerwiegender Fehler: Python.h: Datei oder Verzeichnis nicht "
    "gefunden"
)
NO_OMP = "/srv/torchinductor_ana/vu/cvu.h:3:10: fatal error: 'omp.h' file not found"
ABI = (
    "OSError: /opt/lib/libstdc++.so.6: version `CXXABI_1.3.15' not found (required by "
    "/tmp/torchinductor_ana/q5/cq5.so)"
)
OVERWRITTEN = (
    "[app] RuntimeError: Error: accessing tensor output of CUDAGraphs that has been overwritten by "
    "a subsequent run."
)
IN_PLACE = (
    "RuntimeError: Output 0 of CompiledFunctionBackward is a view and is being modified inplace."
)
CRASH = (
    "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f1 (most recent call first):\n"
    '  File "/srv/torchinductor_ana/4x/c4x.py", line 77 in call\n'
    '  File "/home/ana/proj/app.py", line 12 in <module>\n'
)
DYNAMO = (
    "KeyError: '__class__'\n\nfrom user code:\n"
    '   File "/home/ana/proj/m.py", line 3, in g\n    return super().forward(x)\n'
)
DLOPEN = (
    "terminate called after throwing an instance of 'c10::DynamicLibraryError'\n"
    "  what():  Error in dlopen: /srv/model.so: undefined symbol: _ZN3c104WarnEv\n"
)
BACKSLASH = (
    "torch._inductor.exc.CppCompileError: C++ compile error\n\nOutput:\n"
    "g++: error: /tmp/torchinductor_CORPana/ib/cib.cpp: No such file or directory\n"
    "g++: fatal error: no input files\n"
)
DECIDED = (
    "[app] failed: GuardOnDataDependentSymNode: Could not guard on data-dependent expression "
    "u0 > 4 (unhinted: u0 > 4)."
)
JSON = (
    '{"level": "ERROR", "message": "Traceback (most recent call last):\\n  File '
    '\\"/home/ana/proj/app.py\\", line 9, in run\\ntorch._inductor.exc.InductorError: '
    'RuntimeError: Failed to find C compiler. Please specify via CC environment variable."}'
)
#: The text, the code that is first, and words of its title or its advice.
LINES = {
    "driver": (
        "RuntimeError: Triton Error [CUDA]: device kernel image is invalid",
        "ERR000",
        "driver",
    ),
    "architecture": (
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
        "ERR000",
        "get_arch_list",
    ),
    "abi": (ABI, "ERR006", "libstdcxx"),
    "symbol": (
        "ImportError: /tmp/torchinductor_ana/nh/cnh.so: undefined symbol: _ZN3c104cuda9SetDeviceEi",
        "ERR006",
        "delete",
    ),
    "half-a-file": (
        "ImportError: /tmp/torchinductor_ana/m7/cm7ny7y.main.so: file too short",
        "ERR006",
        "shutil.rmtree(cache_dir())",
    ),
    "half-a-file-elsewhere": (
        "torch._inductor.exc.InductorError: ImportError: /data/m7/cm7ny7y.main.so: file too short",
        "ERR006",
        "shutil.rmtree(cache_dir())",
    ),
    "openmp-symbol": (
        "ImportError: /tmp/torchinductor_ana/nh/cnh.so: undefined symbol: omp_get_max_levels",
        "ERR006",
        "libgomp",
    ),
    "aoti": (DLOPEN, "ERR006", "built against another torch"),
    "backslash": (BACKSLASH, "ERR006", "TORCHINDUCTOR_CACHE_DIR"),
    "full": (
        "OSError: [Errno 28] No space left on device: '/tmp/torchinductor_ana/triton/0/AB'",
        "ERR000",
        "TRITON_CACHE_DIR",
    ),
    "old-gpu": ("torch._inductor.exc.GPUTooOldForTriton: GPUTooOldForTriton", "ERR011", "compile"),
    "unsupported": (
        "Unsupported: call_function BuiltinVariable(print) [ConstantVariable(str)] {}",
        "ERR016",
        "fullgraph",
    ),
    "no-frames": (
        "RuntimeError: torch.compile with fullgraph=True found no compiled frames.",
        "ERR016",
        "fullgraph",
    ),
    "no-driver": (
        "RuntimeError: 0 active drivers ([]). There should only be one.",
        "ERR009",
        "torch",
    ),
    "chinese": (HEADER_CN, "ERR005", "CUDA_HOME"),
    "german": (HEADER_DE, "ERR004", "-dev"),
    "decided": (DECIDED, "DYN001", "torch._check"),
    "overwritten": (OVERWRITTEN, "CGR006", "clone"),
    "in-place": (IN_PLACE, "ERR000", "clone"),
    "no-openmp": (NO_OMP, "ENV003", "libomp"),
    "crash": (CRASH, "ERR000", "TORCHINDUCTOR_COMPILE_THREADS"),
    "mlir": (
        "RuntimeError: PassManager::run failed\n  in torch/_inductor/runtime",
        "ERR017",
        "newer torch",
    ),
    "no-fake-kernel": (
        "torch._subclasses.fake_tensor.UnsupportedOperatorException: mylib.nms.default",
        "ERR015",
        "register_fake",
    ),
    "other-triton": (
        "AttributeError: 'CompiledKernel' object has no attribute 'launch_enter_hook'",
        "ERR009",
        "triton",
    ),
    "refused-line": (
        "/srv/torchinductor_ana/kk/ckk.main.cpp:44:31: error: inlining failed in call to f",
        "ERR007",
        "inlining failed",
    ),
    "launcher": (
        (
            "CalledProcessError: Command '['/usr/bin/gcc', '/srv/tmpcg6/main.c', '-O3', '-lcuda']' "
            "returned non-zero exit status 1."
        ),
        "ERR006",
        "error:",
    ),
    "memory": (
        "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 23.69 GiB total)",
        "ERR025",
        "smaller",
    ),
    "extension": (
        "RuntimeError: Cannot access data pointer of Tensor (e.g. FakeTensor, FunctionalTensor).",
        "ERR015",
        "custom_op",
    ),
    "capture": (
        "RuntimeError: CUDA error: operation not permitted when stream is capturing",
        "ERR000",
        "cudagraphs",
    ),
    "backend": (
        "torch._dynamo.exc.InvalidBackend: Invalid backend: 'ipex', see list_backends()",
        "ERR000",
        "list_backends",
    ),
    "twice": (
        "RuntimeError: torch.compile with aot_autograd does not currently support double backward",
        "ERR000",
        "model(x)",
    ),
    "nvcc": (
        "CUDACompileError: nvcc fatal : Unsupported gpu architecture 'compute_120'",
        "ERR010",
        "compute_120",
    ),
    "subprocess": (
        "RuntimeError: A compilation subprocess exited unexpectedly.",
        "ERR024",
        "COMPILE_THREADS",
    ),
    "libcuda": ("AssertionError: libcuda.so cannot found!", "ERR006", "libcuda.so"),
    "unknown": (
        "torch._dynamo.exc.ResetRequired: Must call `torch._dynamo.reset()` before.",
        "ERR000",
        "reset",
    ),
    "json": (JSON, "ERR001", "build-essential"),
    "dynamo": (DYNAMO, "ERR018", "disable"),
}


def report(text: str, tmp_path: Path) -> Report:
    path = tmp_path / "pasted.txt"
    path.write_text(text + "\n", encoding="utf-8")
    return analyze(str(path))


def test_the_recompile_limit_in_one_line_is_no_failure(tmp_path: Path) -> None:
    told = report(
        "torch._dynamo hit config.cache_size_limit (8) function: 'forward' (model.py:12) last "
        "reason: tensor 'L['x']' size mismatch at index 0. expected 4, actual 5 To log all "
        'recompilation reasons, use TORCH_LOGS="recompiles".',
        tmp_path,
    )
    (first,) = told.findings
    assert first.code == "RCP001"
    assert "`x` in dimension 0, which was 4" in first.message
    assert len(first.evidence) == 1


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("RuntimeError: Cannot access data pointer of Storage that is invalid.", "ERR015"),
        ("AttributeError: 'OptimizedModule' object has no attribute '_orig_mod'", "ERR000"),
        ("RuntimeError: Offset increment outside graph capture encountered.", "ERR000"),
        (
            "ImportError: /home/ana/.triton/cache/ab/cuda_utils.so: cannot open shared object file",
            "ERR006",
        ),
        ("ImportError: DLL load failed while importing cuda_utils: not found.", "ERR006"),
        ("ImportError: DLL load failed while importing _rust: not found.", ""),
        ("ImportError: /home/ana/.cache/ab/utils.so: cannot open shared object file", ""),
        ("AttributeError: 'Module' object has no attribute '_orig_mod'", ""),
        ("RuntimeError: Offset increment outside video capture encountered.", ""),
    ],
)
def test_the_last_line_alone_is_told_or_left(line: str, code: str, tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(f"{line}\n", encoding="utf-8")
    if code:
        assert analyze(str(path)).findings[0].code == code
    else:
        with pytest.raises(SourceError):
            analyze(str(path))


def test_a_file_of_the_system_is_not_half_a_file_of_the_cache(tmp_path: Path) -> None:
    said = "OSError: /usr/lib/x86_64-linux-gnu/libm.so: invalid ELF header"
    first = report(f"torch._inductor.exc.InductorError: {said}", tmp_path).told[0]
    assert "only in part" not in first.title
    assert not any("cache" in one.text for one in first.advice)


@pytest.mark.parametrize("name", LINES)
def test_a_line_of_a_failure_is_enough(name: str, tmp_path: Path) -> None:
    text, code, words = LINES[name]
    first = report(text, tmp_path).findings[0]
    assert (first.code, first.severity) == (code, Severity.ERROR)
    assert first.data["ended_program"]
    told = [first.title, first.message]
    told += [
        str(part) for one in first.advice for part in (one.text, one.env, one.setting, one.code)
    ]
    assert any(words in part for part in told)


def test_the_name_of_a_gpu_keeps_its_blanks(tmp_path: Path) -> None:
    text = (
        "RuntimeError: Found Tesla P100-PCIE-16GB which is too old to be supported by the triton "
        "GPU compiler, which is used as the backend."
    )
    assert "(Tesla P100-PCIE-16GB)" in report(text, tmp_path).findings[0].title


def test_a_missing_compiler_is_told_once(tmp_path: Path) -> None:
    text = (
        "torch._inductor.exc.InductorError: InvalidCxxCompiler: No working C++ compiler found in "
        "torch._inductor.config.cpp.cxx: (None, 'g++')"
    )
    told = report(text, tmp_path).told
    assert [finding.code for finding in told] == ["ERR001"]


@pytest.mark.parametrize(
    "text",
    [
        "ImportError: /usr/lib/libfcl.so.0.6: undefined symbol: _ZN8octomath6Pose6DC1ERKS0_",
        "dlopen(libssl.dylib): image not found",
        "libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by ./server)",
        "PermissionError: [Errno 13] Permission denied: '/var/log/app.log'",
        "OSError: [Errno 28] No space left on device",
        "#include <Python.h>: needs python-dev",
        "gcc: error: foo.c: No such file or directory",
        "kubelet: Unsupported: media type",
    ],
)
def test_nothing_of_other_programs_is_a_failure_of_ours(text: str, tmp_path: Path) -> None:
    record = (
        "V1121 12:01:37.100000 501 torch/_dynamo/guards.py:3006] [0/1] [__recompiles] "
        "Recompiling function forward in /home/ana/proj/model.py:8\n"
        "V1121 12:01:37.100000 501 torch/_dynamo/guards.py:3006] [0/1] [__recompiles]     "
        "triggered by the following guard failure(s):\n"
        "V1121 12:01:37.100000 501 torch/_dynamo/guards.py:3006] [0/1] [__recompiles]     "
        "- 0/0: n == 2\n"
    )
    steps = "\n".join(f"step {n}" for n in range(60))
    found = report(f"{record}{text}\n{steps}", tmp_path).findings
    assert [one.code for one in found if one.code.startswith("ERR")] == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("recompile limit", "RCP001"),
        ("undefined symbol", "ERR006"),
        ("CXXABI_", "ERR006"),
        ("GLIBCXX", "ERR006"),
        ("Failed to find C compiler", "ERR001"),
        ("device kernel image is invalid", "ERR000"),
    ],
)
def test_a_rule_is_found_by_a_part_of_its_message(words: str, code: str) -> None:
    assert rules_about(words)[0].code == code


def test_words_that_nothing_says_find_nothing() -> None:
    with pytest.raises(UsageError):
        rules_about("frame_idx")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("UserError: Dynamic control flow is not supported at the moment.", "ERR016"),
        ("RuntimeError: derivative for aten::nextafter is not implemented", "ERR000"),
    ],
)
def test_an_exception_finds_its_rule_or_the_one_for_all_others(words: str, code: str) -> None:
    assert rules_about(words)[0].code == code


def test_words_that_name_no_exception_find_no_rule_for_all_others() -> None:
    with pytest.raises(UsageError):
        rules_about("the Errors of my youth")


def test_an_exception_without_a_message_is_quoted_by_its_name(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(
        "Traceback (most recent call last):\n"
        '  File "/home/ana/proj/m.py", line 5, in <module>\n    g(x)\n'
        '  File "/home/ana/venv/lib/python3.11/site-packages/torch/_inductor/async_compile.py", '
        "line 300, in wait\n    x.result()\n"
        "concurrent.futures.process.BrokenProcessPool\n"
    )
    first = analyze(str(log)).findings[0]
    assert first.code == "ERR024"
    assert first.message.startswith("BrokenProcessPool. It failed")


@pytest.mark.parametrize(
    "pool",
    [
        "/home/ana/proj/m.py",
        "/home/ana/venv/lib/python3.11/site-packages/torch/_inductor/async_compile.py",
    ],
)
def test_a_pool_of_the_program_is_no_pool_of_compile_workers(tmp_path: Path, pool: str) -> None:
    log = tmp_path / "run.log"
    log.write_text(
        "W1122 10:47:23.888000 903 torch/_dynamo/convert_frame.py:1994] [0/8] torch._dynamo hit "
        "config.recompile_limit (8)\n"
        * ("_inductor" not in pool)
        + "Traceback (most recent call last):\n"
        f'  File "{pool}", line 5, in wait\n    x.result()\n'
        '  File "/usr/lib/python3.11/concurrent/futures/_base.py", line 401, in __get_result\n'
        "    raise self._exception\n"
        "concurrent.futures.process.BrokenProcessPool: A process in the process pool was "
        "terminated abruptly while the future was running or pending.\n"
    )
    codes = [finding.code for finding in analyze(str(log)).findings]
    assert ("ERR024" in codes) == ("_inductor" in pool)


@pytest.mark.parametrize(
    ("words", "code"),
    [("ref:any", "ONE001"), ("simple:any", "ONE005"), ("brgemm", "ONE007"), ("padding", "TUN011")],
)
def test_a_short_word_is_for_the_page_that_says_it_most(words: str, code: str) -> None:
    assert rules_about(words)[0].code == code
    with pytest.raises(UsageError):
        rules_about("these")  # it is on too many
