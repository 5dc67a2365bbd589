# ruff: noqa: E501, RUF001 -- lines that torch and others print
"""Errors that one line decides: whose they are, and what to do, beside what only sounds alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, SourceError, analyze

SITE = "/home/ana/venv/lib/python3.11/site-packages"


def told(text: str, folder: Path) -> Finding:
    path = folder / "post.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(str(path)).told[0]


def ids(found: Finding) -> list[str]:
    return [one.id for one in found.advice]


NO_USER = "KeyError: 'getpwuid(): uid not found: 1042'\n"
FOLLOWS = f"AssertionError: Artifact of type=precompile already registered in mega-cache artifact factory {SITE}/torch/compiler/_cache.py:74\n"
GETS_USER = f"""Traceback (most recent call last):
  File "{{}}", line 26, in default_cache_dir
    username = getpass.getuser()
  File "/usr/lib/python3.11/getpass.py", line 169, in getuser
    return pwd.getpwuid(os.getuid())[0]
{NO_USER}"""


@pytest.mark.parametrize(
    "text",
    [
        NO_USER,
        f"What comes first:\n```\n{NO_USER}```\nAnd then, again and again:\n```\n  {FOLLOWS}```\n",
        GETS_USER.format(f"{SITE}/torch/_inductor/runtime/cache_dir_utils.py"),
    ],
)
def test_a_user_without_a_name_comes_before_what_follows_from_it(text: str, tmp_path: Path) -> None:
    found = told(text, tmp_path)
    assert found.title.startswith("the user that the process runs as has no name")
    assert ids(found) == ["known-message"]
    assert "TORCHINDUCTOR_CACHE_DIR" in (found.advice[0].env or "")


def test_another_programs_user_is_nobodys(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        told(GETS_USER.format("/srv/app/paths.py"), tmp_path)


def test_an_artifact_alone_has_no_user_as_its_cause(tmp_path: Path) -> None:
    assert "no name" not in told(FOLLOWS, tmp_path).title


SCHEDULER = """  File "/home/ana/venv/lib/python3.11/site-packages/torch/_inductor/scheduler.py", line 5440, in _codegen
    raise AssertionError(f"{type(self)=}")
torch._inductor.exc.InductorError: AssertionError: SAID
"""


@pytest.mark.parametrize(
    ("said", "is_combo"),
    [
        ("type(self)=<class 'torch._inductor.scheduler.Scheduler'>", True),
        ("node is not fused", False),
    ],
)
def test_a_combined_kernel_is_switched_off(said: str, is_combo: bool, tmp_path: Path) -> None:
    found = told(SCHEDULER.replace("SAID", said), tmp_path)
    assert found.code == "ERR017"
    assert ("combined kernel" in found.title) is is_combo
    assert ("suppress" in ids(found)) is not is_combo
    assert (ids(found) == ["known-message"]) is is_combo


VEC = "{folder}/vec_n.h:143:32: error: ‘blendv’ is not a member of ‘at::vec::CPU_CAPABILITY::Vectorized<c10::Float8_e4m3fn>’\n"
INTRINSIC = (
    "{folder}/vec512/vec512.h:88:9: error: ‘_mm512_cvtne2ps_pbh’ was not declared in this scope\n"
)
HEADERS = f"{SITE}/torch/include/ATen/cpu/vec"
SCRIPT = "```python\nimport torch\n\n\ndef narrow(x):\n    return x.to(torch.float8_e4m3fn)\n\n\ntorch.compile(narrow)(torch.ones(8, dtype=torch.bool))\n```\n"


@pytest.mark.parametrize("script", ["", SCRIPT])
def test_a_function_that_vectors_lack_is_generated_codes(script: str, tmp_path: Path) -> None:
    said = VEC.format(folder=HEADERS)
    found = told(f"```\n{said}```\n{script}" if script else said, tmp_path)
    assert found.code == "ERR007"
    assert ids(found) == ["scalar", "leave-out", "newer-torch", "report"]
    assert "`Float8_e4m3fn`" in found.advice[0].text


def test_microsofts_compiler_says_it_in_other_words(tmp_path: Path) -> None:
    said = r"C:\venv\Lib\site-packages\torch\include\ATen\cpu\vec\vec_n.h(143): error C2039: 'blendv': is not a member of 'at::vec::AVX2::Vectorized<c10::Float8_e5m2>'"
    found = told(f"{said}\n", tmp_path)
    assert (found.code, ids(found)[0]) == ("ERR007", "scalar")


def test_an_instruction_that_the_compiler_does_not_know_is_the_compilers(tmp_path: Path) -> None:
    found = told(INTRINSIC.format(folder=HEADERS), tmp_path)
    assert (found.code, ids(found)[0]) == ("ERR007", "compiler")


def test_headers_that_extensions_include_are_not_generated_codes(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        told(VEC.format(folder="/home/ana/proj/third_party/simd"), tmp_path)
    with pytest.raises(SourceError):
        told(SCRIPT, tmp_path)


CALLED = f"""  File "{SITE}/fastops/gate.py", line 21, in fused_gate
    return torch.ops.fastops.fused_gate.default(x)
  File "{SITE}/torch/_ops.py", line 1158, in __call__
    return self._op(*args, **kwargs)
RuntimeError: CUDA error: operation not permitted when stream is capturing
"""
ENGINE = f"""
During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "{SITE}/{{}}.py", line 77, in capture
    self.capture_one(size)
"""


@pytest.mark.parametrize(
    ("recorder", "switch"),
    [
        ("sglang/srt/model_executor/cuda_graph_runner", "--disable-cuda-graph"),
        ("vllm/compilation/cuda_graph", "--enforce-eager"),
        ("vllm/v1/worker/gpu/cudagraph_utils", "--enforce-eager"),
    ],
)
def test_what_an_engine_records_no_mode_reaches(recorder: str, switch: str, tmp_path: Path) -> None:
    found = told(CALLED + ENGINE.format(recorder), tmp_path)
    assert ids(found)[:2] == ["engine-graphs", "recorded-operator"]
    assert recorder.partition("/")[0] in found.advice[0].text
    assert switch in (found.advice[0].code or "")
    assert "`fused_gate` of `fastops`" in found.advice[1].text
    assert not {"no-graphs", "warm-up"} & set(ids(found))


@pytest.mark.parametrize("recorder", ["torch/_inductor/cudagraph_trees", "myengine/cuda_graph"])
def test_what_torch_or_the_program_records_has_torchs_ways_out(
    recorder: str, tmp_path: Path
) -> None:
    found = told(CALLED + ENGINE.format(recorder), tmp_path)
    assert "engine-graphs" not in ids(found)
    assert {"no-graphs", "warm-up"} <= set(ids(found))


ON_WINDOWS = r"""subprocess.CalledProcessError: Command '['{}', 'C:\\Users\\ana\\AppData\\Local\\Temp\\tmpab12cd34\\cuda_utils.c', '-O3', '-shared', '-fPIC', '-Wno-psabi', '-o', 'C:\\Users\\ana\\AppData\\Local\\Temp\\tmpab12cd34\\cuda_utils.cp311-win_amd64.pyd', '-lcuda', '-LC:\\venv\\Lib\\site-packages\\triton\\backends\\nvidia\\lib']' returned non-zero exit status 1.
"""


@pytest.mark.parametrize(
    ("compiler", "is_gcc"),
    [
        (r"C:\\msys64\\mingw64\\bin\\gcc.exe", True),
        (r"C:\\TDM-GCC-64\\bin\\gcc.EXE", True),
        (r"C:\\Strawberry\\c\\bin\\gcc", True),
        (r"C:\\venv\\Lib\\site-packages\\triton\\runtime\\tcc\\tcc.exe", False),
        (r"C:\\BuildTools\\VC\\bin\\Hostx64\\x64\\cl.exe", False),
    ],
)
def test_a_gcc_on_windows_is_taken_away(compiler: str, is_gcc: bool, tmp_path: Path) -> None:
    found = told(ON_WINDOWS.format(compiler), tmp_path)
    assert found.code == "ERR006"
    assert ("no-mingw" in ids(found)) is is_gcc
    assert ("see-windows" in ids(found)) is not is_gcc
    assert "libcuda" not in ids(found)


LINKED = "torch._inductor.exc.InductorError: CalledProcessError: Command '['/usr/bin/gcc', '/tmp/tmpab12cd34/cuda_utils.c', '-O3', '-shared', '-fPIC', '-o', '/tmp/tmpab12cd34/cuda_utils.so', {}'-L/usr/lib/x86_64-linux-gnu']' returned non-zero exit status 1.\n"


@pytest.mark.parametrize("driver", ["'-lcuda', ", ""])
def test_what_links_with_the_driver_may_not_find_it(driver: str, tmp_path: Path) -> None:
    found = told(LINKED.format(driver), tmp_path)
    assert found.code == "ERR006"
    assert ("libcuda" in ids(found)) is bool(driver)
    assert "no-mingw" not in ids(found)


CUT_HEAD = f"""scale=FakeTensor(..., device='cuda:0', size=()), axiswise_dim=None
orig=FakeTensor(..., device='cuda:0', size=(64, 32), dtype=torch.bfloat16,
           grad_fn=<_MadeBackward>)), **{{}}):
SAID

from user code:
   File "{SITE}/floats/linear.py", line 33, in forward
    output = product(x, w)
"""
TWO = "Unable to cast (FakeTensor(..., device='cuda:0', size=(64, 64), dtype=torch.bfloat16), FakeTensor(..., device='cuda:0', size=())) to Tensor"


@pytest.mark.parametrize(
    ("said", "title"),
    [
        (TWO, "an operator returned several tensors where a library takes one"),
        ("mat1 and mat2 shapes cannot be multiplied (8x4 and 8x8)", "a matrix product of tensors"),
        ("The size is not one of those that it takes", "The size is not one"),
    ],
)
def test_a_message_without_its_head_stands_before_the_users_code(
    said: str, title: str, tmp_path: Path
) -> None:
    found = told(CUT_HEAD.replace("SAID", said), tmp_path)
    assert found.code == "ERR015"
    assert title in found.title
    assert found.message.count("**{}") == 0
    assert "the stack of the code" not in found.title


def test_without_a_message_before_it_the_users_code_is_an_end(tmp_path: Path) -> None:
    found = told(CUT_HEAD.partition("SAID\n")[2], tmp_path)
    assert found.code == "LOG001"


SAID = "What it prints is **torch._dynamo.exc.InternalTorchDynamoError: {}** while a guard is made:\n```\n[DUPLICATE_INPUT] guard = Name: \"L['self'].buffer\"\n```\n"
GUARDED = f"""Traceback (most recent call last):
  File "{SITE}/torch/_dynamo/convert_frame.py", line 470, in _compile
    check_fn = CheckFunctionManager(
  File "{SITE}/torch/_dynamo/guards.py", line 171, in get
    return eval(name, self.scope, CLOSURE_VARS)
  File "<string>", line 1, in <module>
NameError: name 'torch' is not defined

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/home/ana/proj/train.py", line 9, in main
    f(x)
  File "{SITE}/torch/_dynamo/convert_frame.py", line 502, in _compile
    raise InternalTorchDynamoError() from e
torch._dynamo.exc.InternalTorchDynamoError
"""


@pytest.mark.parametrize("text", [SAID.format("name 'torch' is not defined"), GUARDED])
def test_a_guard_that_names_torch_is_dynamos(text: str, tmp_path: Path) -> None:
    found = told(text, tmp_path)
    assert "while it made a guard" in found.title
    assert found.title.endswith("name 'torch' is not defined")
    assert ids(found)[0] == "dtype-key"
    assert not {"not-read", "verbose", "inner", "report"} & set(ids(found))
    assert "calls `<module>`" not in found.message


def test_another_name_that_is_missing_is_the_programs(tmp_path: Path) -> None:
    found = told(SAID.format("name 'helper' is not defined"), tmp_path)
    assert found.title.endswith("name 'helper' is not defined")
    assert "dtype-key" not in ids(found)
    assert "verbose" in ids(found)


BROKEN = """V0302 09:08:07.654000 4242 torch/_dynamo/symbolic_convert.py:556] [4/0] [__graph_breaks] Graph break in user code at /home/ana/proj/model.py:12
V0302 09:08:07.654000 4242 torch/_dynamo/symbolic_convert.py:556] [4/0] [__graph_breaks] Graph Break Reason: Unsupported method call
V0302 09:08:07.654000 4242 torch/_dynamo/symbolic_convert.py:556] [4/0] [__graph_breaks]   Explanation: Dynamo does not know how to trace method `__eq__` of class `<unknown type>`
V0302 09:08:07.654000 4242 torch/_dynamo/symbolic_convert.py:556] [4/0] [__graph_breaks]   Hint: Avoid calling `<unknown type>.__eq__` in your code.
V0302 09:08:07.654000 4242 torch/_dynamo/symbolic_convert.py:556] [4/0] [__graph_breaks]   Hint: Please report an issue to PyTorch.
V0302 09:08:07.654000 4242 torch/_dynamo/symbolic_convert.py:556] [4/0] [__graph_breaks]
V0302 09:08:07.654000 4242 torch/_dynamo/symbolic_convert.py:556] [4/0] [__graph_breaks]   Developer debug context: call_method GetAttrVariable(CONTEXT) __eq__
"""
ENDED = """torch._dynamo.exc.Unsupported: Unsupported method call
  Explanation: Dynamo does not know how to trace method `__eq__` of class `<unknown type>`
  Hint: Avoid calling `<unknown type>.__eq__` in your code.

  Developer debug context: call_method GetAttrVariable(CONTEXT) __eq__ [UserFunctionVariable()] {}


from user code:
   File "/home/ana/proj/model.py", line 12, in forward
    return self.spike(x)
"""


@pytest.mark.parametrize("text", [BROKEN, ENDED])
@pytest.mark.parametrize(
    ("context", "is_function"),
    [
        ("AutogradFunctionVariable(), setup_context", True),
        ("AutogradFunctionVariable(), vmap", False),
        ("UserDefinedObjectVariable(Config), setup_context", False),
    ],
)
def test_setup_context_is_compared_by_torch_itself(
    text: str, context: str, is_function: bool, tmp_path: Path
) -> None:
    found = told(text.replace("CONTEXT", context), tmp_path)
    assert found.code == ("GBR012" if text is BROKEN else "ERR016")
    assert ("own-function" in ids(found)) is is_function
    hinted = [one for one in found.advice if "<unknown type>" in one.text]
    assert not (is_function and hinted)


DEBUGGED = "It stops here:\nException has occurred: {}\n{}\n"
LOOKED_UP = 'KeyError: <code object step at 0x7f0000aa11b0, file "/home/ana/proj/train.py", line 12>\n\nDuring handling\n'


@pytest.mark.parametrize("behind", ["", LOOKED_UP])
def test_a_debugger_shows_the_message_in_the_next_line(behind: str, tmp_path: Path) -> None:
    found = told(DEBUGGED.format("Unsupported", "generator") + behind, tmp_path)
    assert found.code == "ERR016"
    assert found.title == "what is to be compiled is itself a generator: generator"
    assert "code object" not in found.message
    other = told(DEBUGGED.format("Unsupported", "hasattr TensorVariable") + behind, tmp_path)
    assert (other.code, "hasattr TensorVariable" in other.title) == ("ERR016", True)
    assert "generator" not in other.title


def test_a_key_that_is_missing_is_an_error_where_nothing_else_is(tmp_path: Path) -> None:
    said = f"""Traceback (most recent call last):
  File "{SITE}/torch/_dynamo/convert_frame.py", line 470, in _compile
    return self.codes[code]
{LOOKED_UP}"""
    found = told(said, tmp_path)
    assert "code object" in found.message


def test_generators_have_a_name_of_their_own_in_newer_torch(tmp_path: Path) -> None:
    said = "torch._dynamo.exc.Unsupported: Attempt to trace generator\n  Explanation: Generators cannot be compiled directly with `torch.compile`.\n"
    assert told(said, tmp_path).title.startswith("what is to be compiled is itself a generator")


@pytest.mark.parametrize("below", ["Traceback (most recent call last):", "Set TORCHDYNAMO", ""])
def test_a_result_of_level_zero_ends_with_its_line(below: str, tmp_path: Path) -> None:
    said = f"RuntimeError: Triton Error [ZE]: ZE_RESULT_ERROR_MODULE_BUILD_FAILURE\n{below}\n"
    found = told(said, tmp_path)
    assert found.code == "ERR022"
    assert found.title.endswith("ZE_RESULT_ERROR_MODULE_BUILD_FAILURE")


def test_what_vllm_does_not_find_may_follow_from_another_error(tmp_path: Path) -> None:
    found = told("AssertionError: failed to get the hash of the compiled graph\n", tmp_path)
    assert found.advice[0].text.startswith("Where another error stands above it")


def test_a_process_that_is_started_compiles_for_itself(tmp_path: Path) -> None:
    said = "AttributeError: Can't pickle local object 'convert_frame.<locals>._convert_frame'\n"
    assert "compiles it there" in told(said, tmp_path).advice[0].text
