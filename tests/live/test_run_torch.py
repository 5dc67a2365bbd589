"""``tracelens run`` on programs that really use torch."""

import gzip
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

import tracelens
from tests.live.running import TRACELENS, Ran, Run, runner

pytestmark = pytest.mark.live

#: One graph break, two compilations, thirty steps; says something on both streams.
PROGRAM = """
import sys
import torch

@torch.compile
def step(x):
    x = x.relu() + 1
    torch._dynamo.graph_break()
    return x * 2

for number in range(30):
    y = step(torch.ones(8))
print("sum", float(y.sum()))
print("stderr is its own", file=sys.stderr)
print("no newline at the end", end="")
"""
#: Eager: torch, oneDNN, nothing to compile. Quick.
EAGER = """
import torch
y = torch.nn.functional.conv2d(torch.randn(2, 16, 16, 16), torch.randn(16, 16, 3, 3))
print("ready", flush=True)
"""
SELECT = ("--select", "GBR,IND,TRC,LOG,RCP")


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("room")


@pytest.fixture(scope="module")
def run(torch_python: str, torch_environment: dict[str, str], room: Path) -> Run:
    return runner(torch_python, room, torch_environment)


@pytest.fixture(scope="module")
def script(run: Run) -> Ran:
    """A script, recorded with everything, a trace among it."""
    return run(PROGRAM, "--trace", *SELECT, quiet=False)


# What the user sees.


def test_the_program_keeps_its_streams_and_its_exit_code(script: Ran) -> None:
    assert script.code == 0
    assert script.out == "sum 32.0\nno newline at the end", "to the byte"
    first, *ours = script.err.splitlines()
    assert first == "stderr is its own"
    assert any("GBR" in line for line in ours), "off a terminal the report is on stderr"


def test_no_log_line_reaches_the_terminal(script: Ran) -> None:
    before_the_report = script.out.partition("no newline at the end")[0]
    assert "[__" not in before_the_report + script.err
    assert "onednn_verbose" not in before_the_report + script.err


# What is recorded.


def test_what_was_asked_for_is_in_the_log_with_its_calls(script: Ran) -> None:
    asked = [line for line in script.log.splitlines() if line.startswith("# tracelens: asked")]
    assert len(asked) == 1
    assert asked[0].startswith("# tracelens: asked torch.compile(step) at ")
    assert asked[0].endswith(".py:5: 30 calls, 2 compilations in all")


def test_a_bundle_holds_what_it_should(script: Ran) -> None:
    assert sorted(path.name for path in script.bundle.iterdir()) == [
        "environment.json",
        "log.txt.gz",
        "report.html",
        "report.json",
        "torch_trace",
        "trace.json.gz",
    ]


def test_the_log_holds_the_programs_words_and_torchs(script: Ran) -> None:
    lines = script.log.splitlines()
    assert {"sum 32.0", "stderr is its own", "no newline at the end"} <= set(lines)
    asked = next(line for line in lines if line.startswith("# tracelens: TORCH_LOGS "))
    for artifact in ("guards", "graph_breaks", "output_code", "graph_code", "recompiles_verbose"):
        assert artifact in asked.split()[-1].split(",")
    for artifact in ("guards", "graph_breaks", "output_code", "graph_code"):
        assert any(f"[__{artifact}]" in line for line in lines), artifact


def test_the_environment_says_what_ran(script: Ran) -> None:
    found = script.environment
    (process,) = found["processes"]
    assert found["exit_code"] == 0
    assert found["command"][1].endswith(".py")
    assert process["threads"] == 1
    assert process["torch"].startswith("2.")
    assert process["steps"]["calls"] == 30
    assert process["steps"]["compiles"] == 2
    assert 10 < process["steps"]["steady"] < 30
    assert process["steps"]["compile_seconds"] > process["steps"]["median_ms"] / 1000
    assert "notes" not in process


def test_the_trace_is_of_steady_steps(script: Ran) -> None:
    data = json.loads(gzip.decompress((script.bundle / "trace.json.gz").read_bytes()))
    names = [event.get("name", "") for event in data["traceEvents"]]
    assert sum(name.startswith("ProfilerStep#") for name in names) == 3
    assert not any("backend_compile" in name for name in names)


def test_the_report_is_that_of_analyze(script: Ran) -> None:
    words = [*TRACELENS, "analyze", str(script.bundle), *SELECT, "-f", "json"]
    again = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300)
    assert again.stdout == (script.bundle / "report.json").read_text()


def test_nothing_counts_twice_though_two_logs_tell_it(script: Ran) -> None:
    """TORCH_TRACE repeats the generated code of the text log."""
    alone = tracelens.analyze(str(script.bundle / "log.txt.gz"), select=["IND", "GBR"])
    both = {
        f["id"]: f["count"] for f in script.report["findings"] if f["code"][:3] in {"IND", "GBR"}
    }
    assert {f.id: f.count for f in alone.findings} == both


def test_a_switch_that_was_on_makes_absence_an_answer(script: Ran) -> None:
    verdicts = {v["code"]: v for v in script.report["verdicts"]}
    assert verdicts["GBR001"]["verdict"] in {"fired", "quiet"}
    recompiles = [v for code, v in verdicts.items() if code.startswith("RCP")]
    assert {v["verdict"] for v in recompiles} <= {"quiet", "fired"}


# Other ways to start, other ways to end.


def test_a_module_and_an_existing_sitecustomize(
    run: Run, torch_python: str, torch_environment: dict[str, str], room: Path
) -> None:
    package = room / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "tool.py").write_text("import sys, here\nprint(here.MARK, sys.argv[1:])\n" + EAGER)
    site = room / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import sys, types\n"
        "here = types.ModuleType('here')\n"
        "here.MARK = 'customized'\n"
        "sys.modules['here'] = here\n"
    )
    path = f"{site}{os.pathsep}{torch_environment['PYTHONPATH']}"
    ran = run([torch_python, "-m", "package.tool", "--lr", "1"], env={"PYTHONPATH": path})
    assert ran.out.splitlines() == ["customized ['--lr', '1']", "ready"]
    assert "onednn_verbose," in ran.log
    assert ran.environment["processes"][0]["threads"] == 1


def test_what_onednn_said_before_a_kill_is_there(run: Run) -> None:
    ran = run(EAGER + "import os; os.kill(os.getpid(), 9)\n")
    assert ran.code == 128 + signal.SIGKILL
    assert ran.log.count("primitive,exec,cpu,convolution") == 1
    assert "# tracelens: TORCH_LOGS" not in ran.log, "what is missing proves nothing"


def test_spawned_children_tell_their_part(run: Run) -> None:
    ran = run(
        """
        import torch.multiprocessing as mp

        def work(rank):
            import torch
            torch.nn.functional.conv2d(torch.randn(2, 16, 16, 16), torch.randn(16, 16, 3, 3))
            print("rank", rank, flush=True)

        if __name__ == "__main__":
            mp.spawn(work, nprocs=2)
        """
    )
    assert ran.code == 0
    assert sorted(ran.out.splitlines()) == ["rank 0", "rank 1"]
    assert len(ran.environment["processes"]) == 3
    assert ran.log.count("primitive,exec,cpu,convolution") == 2


def test_torchrun_is_recorded(run: Run, torch_python: str, room: Path) -> None:
    script = room / "ranks.py"
    script.write_text(EAGER.replace('"ready"', '"rank", __import__("os").environ["RANK"]'))
    launcher = [torch_python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    ran = run([*launcher, str(script)])
    assert ran.code == 0, ran.err
    assert sorted(ran.out.splitlines()) == ["rank 0", "rank 1"]
    ranks = {process.get("rank") for process in ran.environment["processes"]}
    assert {"0", "1"} <= ranks


def test_a_trace_that_could_not_be_taken_is_told_in_the_report(run: Run) -> None:
    ran = run(
        """
        import torch
        step = torch.compile(lambda x: x + 1, backend="eager")
        for _ in range(5):
            step(torch.ones(3))
        """,
        "--trace",
    )
    (note,) = (text for text in ran.report["coverage"]["notes"] if "trace" in text)
    assert note.startswith("no trace: it takes 15 calls of a compiled function")
    assert note.endswith("made 4")
    assert note in " ".join(ran.err.split())
    assert not (ran.bundle / "trace.json.gz").exists()
