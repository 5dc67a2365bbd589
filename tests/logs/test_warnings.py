"""Warnings of torch: found among other lines, named by topic, with the user's frame."""

from __future__ import annotations

import pytest

from tests.corpus import cases, log_of, needs_corpus
from tracelens.logs import kind
from tracelens.logs.warnings import TorchWarning, Warnings
from tracelens.source import read
from tracelens.source.kinds import Kinds
from tracelens.source.segment import Segmenter

TORCH = "/home/ana/venv/lib/python3.11/site-packages/torch"
TF32 = (
    f"{TORCH}/_inductor/compile_fx.py:321: UserWarning: TensorFloat32 tensor cores for float32 "
    "matrix multiplication available but not enabled. Consider setting it."
)


def warning(text: str) -> TorchWarning:
    record, *_ = Warnings.parse(text)
    assert isinstance(record, TorchWarning)
    return record


def seen(text: str) -> tuple[list[TorchWarning], int]:
    segmenter = Segmenter(Kinds([kind("warnings")]), "log")
    segmenter.feed([line.encode() + b"\n" for line in text.split("\n")])
    evidence = segmenter.finish()
    assert not evidence.unread
    return [row.record for row in evidence.table(TorchWarning)], evidence.understood_lines


@pytest.mark.parametrize(
    ("text", "topic", "subject"),
    [
        (TF32, "tf32", ""),
        ("Not enough SMs to use max_autotune_gemm mode", "max-autotune-gpu", ""),
        ("Profiler function <class 'torch.autograd.profiler.record_function'> will be ignored",
         "profiler-function", "<class 'torch.autograd.profiler.record_function'>"),
        ("NVIDIA GeForce RTX 2080 Ti does not support bfloat16 compilation natively, skipping",
         "no-native-bf16", "NVIDIA GeForce RTX 2080 Ti"),
        ("using triton random, expect difference from eager", "triton-random", ""),
        ("Guards may run slower on Python 3.13.0. Consider upgrading to Python 3.13.1+.",
         "guards-on-3.13.0", ""),
        ("DeviceCopy in input program", "device-copy", ""),
        ("OMP: Error #15: Initializing libomp.so, but found libgomp.so already initialized.",
         "openmp-runtime", ""),
        ("Please pip install Composable Kernel package", "missing-backend", ""),
        ((f"{TORCH}/_inductor/lowering.py:1: UserWarning: Torchinductor does not support code "
         "generation for complex operators. Performance may be worse than eager."),
         "complex-operators", ""),
        ((f"{TORCH}/x.py:9: UserWarning: Dynamo does not know how to trace the builtin `time.time.`"
         " This function is a builtin"), "unknown-builtin", "time.time"),
        (f"{TORCH}/x.py:9: UserWarning: Graph break due to unsupported builtin _struct.pack. This",
         "unknown-builtin", "_struct.pack"),
        (f"{TORCH}/x.py:9: FutureWarning: something new", "other", ""),
    ],
)  # fmt: skip
def test_a_warning_has_a_topic_and_a_subject(text: str, topic: str, subject: str) -> None:
    assert (warning(text).topic, warning(text).subject) == (topic, subject)


def test_place_category_and_source_line() -> None:
    record = warning(f"{TF32}\n  warnings.warn(")
    assert record.file == f"{TORCH}/_inductor/compile_fx.py"
    assert (record.line, record.category, record.code) == (321, "UserWarning", "warnings.warn(")


def test_the_user_is_who_called_the_cached_function() -> None:
    text = (
        f"{TORCH}/_dynamo/variables/functions.py:2590: UserWarning: Dynamo detected a call to a "
        "`functools.lru_cache`-wrapped function at 'utils.py:25'. Dynamo ignores the wrapper.\n\n"
        'This call originates from:\n  File "/home/ana/proj/utils.py", line 25, in need\n'
        "    if not available():\n           ^^^^^^^^^^^^\n\n  torch._dynamo.utils.warn_once(msg)"
    )
    record = warning(text)
    assert (record.topic, record.subject) == ("cached-function", "utils.py:25")
    (frame,) = record.stack_frames
    assert (frame.line, frame.function, frame.code) == (25, "need", "if not available():")
    assert record.code == "torch._dynamo.utils.warn_once(msg)"
    records, lines = seen(f"start\n{text}\n  two blanks, but the warning is over\nend")
    assert (len(records), lines) == (1, 8)


def test_a_text_that_begins_on_the_next_line() -> None:
    text = (
        f"{TORCH}/_inductor/lowering.py:7245: UserWarning: \n"
        "Online softmax is disabled on the fly since Inductor decides to\n"
        "split the reduction. Cut an issue to PyTorch if this is an\n"
        "important use case and you want to speed it up with online\nsoftmax.\n\n  warnings.warn("
    )
    records, lines = seen(f"{text}\nepoch 1")
    assert [record.topic for record in records] == ["online-softmax"]
    assert lines == 7


def test_the_users_own_warnings_are_the_programs() -> None:
    records, lines = seen("/home/ana/proj/model.py:12: UserWarning: careful\n  warnings.warn('x')")
    assert (records, lines) == ([], 0)
    text = "/home/ana/proj/model.py:12: UserWarning: flex_attention called without torch.compile()"
    (record,), _ = seen(f"{text} - slow\n  flex_attention(q, k, v)")
    assert (record.topic, record.file, record.line) == (
        "flex-attention-eager", "/home/ana/proj/model.py", 12,
    )  # fmt: skip


def test_warnings_of_the_native_parts_take_one_line() -> None:
    text = "[W1120 12:11:48.740564759 CPUAllocator.cpp:245] Memory block of unknown size was"
    records, lines = seen(f"{text} allocated\n  indented\n\n[W1120 12:11:49.1 x.py:1] not ours")
    assert [(r.topic, r.file, r.line) for r in records] == [
        ("profiler-memory", "CPUAllocator.cpp", 245)
    ]
    assert lines == 1


@needs_corpus
@pytest.mark.parametrize(
    ("case", "topics"),
    [
        ("2.1.2/breaks_all_eager_backend", {"module-hooks"}),
        ("2.4.1/breaks_all_eager_backend", {"unknown-builtin", "other", "profiler-function"}),
        ("2.13.0/breaks_all_eager_backend", {"unknown-builtin"}),
        ("real/detr_hungarian", {"cached-function", "unknown-builtin", "enum-constant", "other"}),
        ("real/gpt2_train_autocast", {"profiler-function", "enum-constant"}),
    ],
)
def test_topics_of_real_logs(case: str, topics: set[str]) -> None:
    (folder,) = cases(case)
    evidence, _ = read([log_of(folder)])
    found = {row.record.topic for row in evidence.table(TorchWarning)}
    assert found
    assert found <= topics
