"""Exceptions: tracebacks of every version, what they wrap, and the user's frame."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpus import cases, log_of, needs_corpus
from tracelens.logs import kind
from tracelens.logs.compile_errors import CompileErrors, Failure, LogError, Specialized
from tracelens.source import read
from tracelens.source.kinds import Kinds
from tracelens.source.segment import Segmenter

TRACEBACK = """Traceback (most recent call last):
  File "/home/ana/proj/model.py", line 68, in <module>
    f(x)
    ^^^^
  File "/home/ana/venv/lib/python3.11/site-packages/torch/_dynamo/eval_frame.py", line 5, in _fn
    return fn(*args)
"""


def failure(text: str) -> Failure:
    (record,) = CompileErrors.parse(text)
    assert isinstance(record, Failure)
    return record


def test_the_traceback_and_the_users_frame() -> None:
    record = failure(
        f"{TRACEBACK}torch._dynamo.exc.Unsupported: Failed to trace builtin operator\n"
        "  Explanation: Dynamo does not know how\n\nfrom user code:\n"
        '   File "/home/ana/proj/model.py", line 59, in full\n    def full(x): print(x)\n\n'
        "Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace\n"
    )
    assert record.error == "torch._dynamo.exc.Unsupported"
    assert record.message == "Failed to trace builtin operator"
    assert [frame.line for frame in record.stack_frames] == [68, 5]
    assert [(f.line, f.function, f.code) for f in record.user_stack] == [
        (59, "full", "def full(x): print(x)")
    ]
    assert record.is_torch


def test_a_report_lists_each_exception_once(tmp_path: Path) -> None:
    text = (
        f"{TRACEBACK}torch._inductor.exc.InductorError: no attribute\n\nfrom user code:\n"
        '   File "/home/ana/proj/model.py", line 59, in full\n    def full(x): print(x)\n\n'
    )
    log = tmp_path / "run.log"
    log.write_text(f"{text}epoch 1\n{text}")
    evidence, _ = read([str(log)])
    assert CompileErrors.tables(evidence)["errors"] == [
        {
            "error": "torch._inductor.exc.InductorError",
            "message": "no attribute",
            "count": 2,
            "file": "/home/ana/proj/model.py",
            "line": 59,
        }
    ]


@pytest.mark.parametrize(
    "text",
    [
        (
            "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n"
            "CppCompileError: C++ compile error\n\nCommand:\ng++ a.cpp"
        ),
        "torch._inductor.exc.InductorError: CppCompileError: C++ compile error\n\nCommand:",
    ],
)
def test_the_wrapped_error_is_the_cause(text: str) -> None:
    record = failure(text)
    assert (record.cause, record.topic) == ("CppCompileError", "compiler-failed")


def test_a_guard_on_data_names_the_expression() -> None:
    record = failure(
        "torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode: Could not guard on "
        "data-dependent expression Eq(u0, 1) (unhinted: Eq(u0, 1)).  (Size-like symbols: none)"
    )
    assert record.topic == "data-dependent"
    assert record.message.startswith("Eq(u0, 1)")


def test_a_guard_on_data_behind_an_advice_of_dynamo() -> None:
    (failure,) = CompileErrors.parse(
        "torch._dynamo.exc.UserError: Consider annotating your code using torch._check*(). "
        "Could not guard on data-dependent expression u0 > 4 (unhinted: u0 > 4).  "
        "(Size-like symbols: none)\n\nconsider using data-dependent friendly APIs.\n"
        "Caused by: if n > 4:  # proj/model.py:24 in f\n\n"
        'from user code:\n   File "/home/ana/proj/model.py", line 24, in f\n    if n > 4:\n'
    )
    assert isinstance(failure, Failure)
    assert failure.topic == "data-dependent"
    assert failure.message.startswith("u0 > 4")
    assert [frame.line for frame in failure.user_stack] == [24]


def test_carets_may_stand_below_the_line_that_made_an_output() -> None:
    (failure,) = CompileErrors.parse(
        "RuntimeError: Error: accessing tensor output of CUDAGraphs that has been overwritten by "
        'a subsequent run. Stack trace: File "/home/ana/proj/model.py", line 4, in f\n'
        "    return x + 1\n           ^^^^^. To prevent overwriting, clone the tensor."
    )
    assert isinstance(failure, Failure)
    assert failure.topic == "overwritten-output"
    assert [(frame.line, frame.code) for frame in failure.user_stack] == [(4, "return x + 1")]


def test_two_results_that_differ_tell_by_how_much() -> None:
    record = failure(
        "AssertionError: Tensor-likes are not close!\n\nMismatched elements: 1 / 2 (50.0%)\n"
        "Greatest absolute difference: 0.015625 at index (1,) (up to 1e-05 allowed)\n"
        "Greatest relative difference: inf at index (0,) (up to 1.3e-06 allowed)"
    )
    assert record.greatest == 0.015625
    assert len(record.details) == 2


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("AssertionError: Tensor-likes are not equal!\n\nMismatched elements: 1 / 2", "not-close"),
        ("AssertionError: Scalars are not close!\n\nExpected 1.0 but got 2.0.", "not-close"),
        (
            "RuntimeError: Recompilation triggered with skip_guard_eval_unsafe stance. This",
            "skipped-guards",
        ),
    ],
)
def test_what_torch_says_of_results_and_guards_has_a_topic(text: str, topic: str) -> None:
    assert failure(text).topic == topic


def test_a_violated_constraint_names_size_and_value() -> None:
    record = failure(
        "torch._dynamo.exc.UserError: Constraints violated (L['x'].size()[0])! For more\n"
        "  - You marked L['x'].size()[0] as dynamic but your code specialized it to be a constant"
        " (5). If you're using mark_dynamic, remove it.\n"
        "  - Not all values of RelaxedUnspecConstraint(L['y'].size()[1]) are valid because "
        "L['y'].size()[1] was inferred to be a constant (7).\n"
    )
    assert record.topic == "constraint-violated"
    assert record.specialized == (
        Specialized(source="L['x'].size()[0]", value="5"),
        Specialized(source="L['y'].size()[1]", value="7"),
    )


def test_an_overwritten_output_names_the_line_that_made_it() -> None:
    record = failure(
        "RuntimeError: Error: accessing tensor output of CUDAGraphs that has been overwritten by a"
        ' subsequent run. Stack trace: File "/home/ana/proj/model.py", line 4, in f\n'
        "    return x + 1. To prevent overwriting, clone the tensor outside of torch.compile()"
    )
    assert record.topic == "overwritten-output"
    (frame,) = record.user_stack
    assert (frame.file, frame.line, frame.code) == ("/home/ana/proj/model.py", 4, "return x + 1")


def test_a_chain_is_cut_into_its_links() -> None:
    text = (
        f"{TRACEBACK}KeyError: 'a'\n\nThe above exception was the direct cause of the following "
        f"exception:\n\n{TRACEBACK}torch._dynamo.exc.InternalTorchDynamoError: KeyError: 'a'\n"
    )
    segmenter = Segmenter(Kinds([kind("compile_errors")]), "log")
    segmenter.feed(f"epoch 1\n{text}\nepoch 2\n".encode().splitlines(keepends=True))
    evidence = segmenter.finish()
    assert not evidence.unread
    (last,) = (row.record for row in evidence.table(Failure))  # the other link is the program's
    assert (last.error, last.cause) == ("torch._dynamo.exc.InternalTorchDynamoError", "KeyError")


def test_a_traceback_may_be_cut_off() -> None:
    assert failure(TRACEBACK.rstrip("\n")).error == ""


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Runtime error during autotuning: \nC++ compile error\n. \nIgnoring this choice.",
         "Runtime error during autotuning"),
        ("All autotuning benchmarks failed:\n  choice a",
         "All autotuning benchmarks failed"),
        ("Backend compiler exception\n  Explanation: a\n\n  Developer debug context: b",
         "Backend compiler exception"),
    ],
)  # fmt: skip
def test_errors_that_torch_goes_on_after(text: str, title: str) -> None:
    (record,) = CompileErrors.parse(text)
    assert isinstance(record, LogError)
    assert record.title == title
    assert record.details


def test_the_tracebacks_of_two_exceptions_that_were_caught_are_two_records() -> None:
    first, second = "torch._dynamo.exc.Unsupported", "torch._dynamo.exc.InternalTorchDynamoError"
    text = f"{TRACEBACK}{first}: 'a'\n\n{TRACEBACK}{second}: b\n"
    segmenter = Segmenter(Kinds([kind("compile_errors")]), "log")
    segmenter.feed([line.encode() + b"\n" for line in text.split("\n")])
    evidence = segmenter.finish()
    assert [row.record.error for row in evidence.table(Failure)] == [first, second]
    assert not evidence.unread


def test_a_guard_that_cannot_be_made_names_size_value_and_line() -> None:
    lines = (
        f"Error while creating guard:\nName: ''\n    Source: shape_env\n{TRACEBACK}"
        "torch.fx.experimental.symbolic_shapes.ConstraintViolationError: "
        "Constraints violated (L['x'].size()[0])! For more information\n"
        "  - You marked L['x'].size()[0] as dynamic but your code specialized it to be a constant"
        " (5). If you're using mark_dynamic, remove it.\n\n"
        'User stack:\n  File "/home/ana/proj/model.py", line 25, in spec\n    return x + 1\n'
    ).splitlines()
    prefix = "E1120 14:58:11.978000 23047 torch/_guards.py:375] [3/0] "
    segmenter = Segmenter(Kinds([kind("compile_errors")]), "log")
    segmenter.feed([f"{prefix}{line}\n".encode() for line in lines])
    evidence = segmenter.finish()
    assert not evidence.unread
    assert [row.record.title for row in evidence.table(LogError)] == ["Error while creating guard"]
    (record,) = (row.record for row in evidence.table(Failure))
    assert record.specialized == (Specialized(source="L['x'].size()[0]", value="5"),)
    assert [(frame.line, frame.code) for frame in record.user_stack] == [(25, "return x + 1")]


@needs_corpus
@pytest.mark.parametrize("version", ["2.1.2", "2.4.1", "2.6.0", "2.8.0", "2.13.0", "2.15.0"])
def test_a_break_in_a_full_graph_ends_with_a_traceback(version: str) -> None:
    (case,) = cases(f"{version}/breaks_all_eager_backend")
    evidence, _ = read([log_of(case)])
    (row,) = evidence.table(Failure)
    record = row.record
    assert record.error == "torch._dynamo.exc.Unsupported"
    (frame,) = record.user_stack
    assert (frame.file, frame.line, frame.function) == ("/home/ana/proj/breaks.py", 59, "full")


@needs_corpus
def test_a_compiler_that_fails_ends_the_program_or_costs_a_choice() -> None:
    (case,) = cases("2.8.0/autotune_linear_relu_float32")
    evidence, _ = read([log_of(case)])
    (row,) = evidence.table(Failure)
    assert (row.record.cause, row.record.topic) == ("CppCompileError", "compiler-failed")
    assert len(row.record.stack_frames) == 39
    (case,) = cases("2.8.0/seed001_bf16_output_code")
    evidence, _ = read([log_of(case)])
    assert [row.record.title for row in evidence.table(LogError)] == [
        "Runtime error during autotuning"
    ]
