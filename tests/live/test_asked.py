"""What a recording's log says of what the program asked to be compiled."""

from tracelens.live.environment import log_lines
from tracelens.live.steps import Call, Process


def _process(*calls: int, compiles: int = 0) -> Process:
    """Return a process that asked for one thing twice and for another one once."""
    net, other = ("torch.compile(Net)", "/proj/a.py:3"), ("torch.compile(f)", "/proj/a.py:9")
    return Process(
        asked={0: net, 1: net, 2: other},
        calls=[Call(number, 0, 1) for number in calls],
        compiles=[Call(-1, 0, 1)] * compiles,
    )


def _lines(*processes: Process, whole: bool = True) -> list[str]:
    lines = log_lines(processes, whole=whole).decode().splitlines()
    return [line for line in lines if line.startswith("# tracelens: asked")]


def test_a_place_is_a_line_with_the_calls_of_all_processes() -> None:
    assert _lines(_process(0, 1, 1), _process(0, compiles=3)) == [
        "# tracelens: asked torch.compile(Net) at /proj/a.py:3: 4 calls, 3 compilations in all",
        "# tracelens: asked torch.compile(f) at /proj/a.py:9: 0 calls, 3 compilations in all",
    ]


def test_sizes_that_changed_are_told_where_it_was_asked_for() -> None:
    process = _process(0)
    process.sizes = {0: (8, 4, 8)}
    lines = log_lines([process, process], whole=True).decode().splitlines()
    assert [line for line in lines if "sizes" in line] == [
        "# tracelens: sizes at /proj/a.py:3: 8, 4, 8"
    ]


def test_a_program_that_failed_may_have_been_about_to_call_it() -> None:
    assert _lines(_process(), whole=False) == []


def test_what_switches_compilation_off_is_told() -> None:
    process = _process(0)
    process.about = {"environment": {"TORCH_COMPILE_DISABLE": "1", "TORCH_HOME": "/x"}}
    lines = log_lines([process], whole=True).decode().splitlines()
    assert [line for line in lines if "DISABLE" in line or "HOME" in line] == [
        "# tracelens: TORCH_COMPILE_DISABLE 1"
    ]
