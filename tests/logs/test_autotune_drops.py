"""Candidates that a search lost: what each form of the message says."""

import pytest

from tracelens.grammars import Unreadable
from tracelens.logs.autotune_drops import AutotuneDrops, DroppedChoice

ADVICE = "Reducing block sizes or `num_stages` may help."


def drop(text: str) -> DroppedChoice:
    (record,) = AutotuneDrops.parse(text)
    assert isinstance(record, DroppedChoice)
    return record


TOLD = f"out of resource: shared memory, Required: 147456, Hardware limit: 101376. {ADVICE}"
NEWER = f"out of resource: triton_mm Required: 147456 Hardware limit:101376 {ADVICE}"


@pytest.mark.parametrize(
    "text",
    [
        TOLD,
        f"No valid triton configs. OutOfResources: {TOLD}.",
        f"Exception No valid triton configs. X: {NEWER} for benchmark choice Caller(/a.py)",
    ],
)
def test_memory_is_in_bytes_in_every_form(text: str) -> None:
    found = drop(text)
    assert (found.why, found.required, found.limit) == ("memory", 147456, 101376)
    assert found.choice in {"", "Caller(/a.py)"}


def test_a_traceback_below_says_nothing_more() -> None:
    line = "Exception PTXASError: no register left for benchmark choice TritonTemplateCaller(/a.py)"
    assert drop(line) == drop(f"{line}\nTraceback (most recent call last):\n  File ...\nPTXASError")
    assert drop(line).message == "PTXASError: no register left"


@pytest.mark.parametrize(
    ("text", "why", "choice"),
    [
        ("Marking choice as failed due to timeout: Caller(/a.py, BLOCK_K=32)", "timeout",
         "Caller(/a.py, BLOCK_K=32)"),
        ("Choice triton_mm_4 failed or timed out during collective benchmarking. Stopping.",
         "failed", "triton_mm_4"),
        ("CUTLASS choice gemm_7 failed during benchmarking. Skipping the rest.", "failed",
         "gemm_7"),
    ],
)  # fmt: skip
def test_what_is_not_memory_names_the_candidate(text: str, why: str, choice: str) -> None:
    assert (drop(text).why, drop(text).choice) == (why, choice)


def test_another_line_that_begins_like_one_is_refused() -> None:
    with pytest.raises(Unreadable):
        AutotuneDrops.parse("Choice of a colour")
