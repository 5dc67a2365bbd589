"""What a text does not show is not claimed of it."""

from __future__ import annotations

from pathlib import Path

from tracelens import Finding, analyze

KERNEL = """torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:
CompilationError: at 3:11:
def {name}(out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = 6
    tmp0 = tl.full([1], {value}, tl.uint32)
           ^
{more}"""
NONE = """torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:
TypeError: 'NoneType' object is not iterable
"""
FRAME = """Traceback (most recent call last):
  File "/home/ana/venv/lib/python3.11/site-packages/torch/_inductor/graph.py", line 9, in run
    for one in found:
"""
BREAK = """Unsupported method call
  Explanation: Dynamo does not know how to trace method `__mul__` of class `PyCSimpleType`
  Hint: Avoid calling `PyCSimpleType.__mul__` in your code.
  Hint: Please report an issue to PyTorch.
{context}"""
CONTEXT = """
  Developer debug context: call_method UserDefinedClassVariable(c_ulong) __mul__ [] {}
"""
SKIPPED = """Attempted to inline function marked as skipped
  Explanation: Dynamo developers have intentionally marked that the function `skip` should not be traced.
  Hint: Avoid calling the function `skip`.

  Developer debug context: qualname: skip, name: skip, filename: `case.py`, skip reason: none
"""  # noqa: E501 -- a line of a message
FLEX = """{frame}torch._inductor.exc.LoweringException: NoValidChoicesError: No choices to select, please consider adding ATEN into max_autotune_gemm_backends config (defined in torch/_inductor/config.py) to allow at least one choice.
{more}"""  # noqa: E501 -- a line of a message
CALLED = "  target: flex_attention\n  args[0]: TensorBox(StorageBox(\n    InputBuffer(name='primals_1', layout=FixedLayout('{}', torch.float32,\n"  # noqa: E501 -- the same


def told(text: str, folder: Path) -> list[Finding]:
    path = folder / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    return list(analyze(str(path)).told)


def test_a_kernel_that_inductor_wrote_is_no_bug_of_tritons(tmp_path: Path) -> None:
    name = "triton_poi_fused_fill_0"
    found = told(KERNEL.format(name=name, value=-90, more=""), tmp_path)[0]
    assert found.title.endswith(f"`{name}`: tmp0 = tl.full([1], -90, tl.uint32)")
    assert "a bug of Triton" not in found.title
    assert "unsigned" in [one.id for one in found.advice]
    more = "ValueError('no such cast')\n"
    found = told(KERNEL.format(name=name, value=90, more=more), tmp_path)[0]
    assert found.title.endswith("no such cast')")
    assert "unsigned" not in [one.id for one in found.advice]
    own = told(KERNEL.format(name="my_kernel", value=-90, more=""), tmp_path)[0]
    assert "Inductor generated" not in own.title


def test_without_a_frame_no_part_of_the_compiler_is_blamed(tmp_path: Path) -> None:
    found = told(NONE, tmp_path)[0]
    assert "a bug of" not in found.title
    assert "No frame of the compiler is in the text" in found.message
    assert "lowered" not in found.message
    assert "a bug of Inductor" in told(FRAME + NONE, tmp_path)[0].title


def test_a_whole_message_about_a_break_is_told_as_one(tmp_path: Path) -> None:
    (found,) = (one for one in told(SKIPPED, tmp_path) if one.code != "GBR012")
    assert (found.code, "`skip`" in found.title) == ("GBR009", True)
    found = told(BREAK.format(context=CONTEXT), tmp_path)[0]
    assert found.code == "GBR012"
    assert "report an issue" not in " ".join(one.text for one in found.advice)
    cut = told(BREAK.format(context=""), tmp_path)[0]
    assert (cut.code, "not in it" in cut.message) == ("LOG001", True)


def test_an_error_that_names_a_method_has_it_in_its_title(tmp_path: Path) -> None:
    text = f"torch._dynamo.exc.Unsupported: {BREAK.format(context=CONTEXT)}"
    found = told(text, tmp_path)[0]
    assert found.title.endswith("Unsupported method call: `PyCSimpleType.__mul__`")


def test_the_cpu_has_no_kernel_of_flex_attention(tmp_path: Path) -> None:
    on_cpu = told(FLEX.format(frame="", more=CALLED.format("cpu")), tmp_path)
    assert [one.code for one in on_cpu] == ["ERR014"]
    assert "for the CPU" in on_cpu[0].title
    assert [one.id for one in on_cpu[0].advice] == ["newer", "cpu-uncompiled"]
    on_gpu = told(FLEX.format(frame="", more=CALLED.format("cuda")), tmp_path)
    assert "for the CPU" not in on_gpu[0].title
    assert {"ERR014", "TUN005"} == {one.code for one in on_gpu}


def test_no_choice_of_an_operator_that_is_not_named(tmp_path: Path) -> None:
    (found,) = told(FLEX.format(frame="", more=""), tmp_path)
    assert found.code == "TUN005"
    assert [one.id for one in found.advice] == ["allow-library", "smaller-blocks", "newer-torch"]
    assert "torch's default" in found.advice[0].text


def test_the_fence_below_a_cut_text_is_not_quoted(tmp_path: Path) -> None:
    site = (
        "C:\\\\ana\\\\venv\\\\lib\\\\site-packages\\\\torch\\\\_inductor\\\\cpp_builder.py".replace(
            "\\\\", "\\"
        )
    )
    text = f'  File "{site}", line 135, in check_compiler_exist_windows\n'
    text += '    raise RuntimeError(f"Compiler: {compiler} is not found.") from exc\n\n```\n'
    (found,) = told(FRAME + text, tmp_path)
    assert found.code == "ERR002"
    assert "raise RuntimeError" in found.evidence[0].text
