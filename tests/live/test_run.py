"""``tracelens run``: the program's output and exit code stay; what it logged is analyzed.

The programs here only print what torch and oneDNN would; ``test_run_torch.py`` has real ones.
"""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

from tests.live.running import TRACELENS, Run, ended, is_alive, runner
from tracelens.live import facts

ONEDNN = (
    "onednn_verbose,v1,primitive,exec,cpu,convolution,jit:avx512_core,forward_inference,"
    "src:f32::blocked:abcd::f0 wei:f32::blocked:Abcd16a::f0 bia:undef::undef::: "
    "dst:f32::blocked:aBcd16b::f0,attr-scratchpad:user,alg:convolution_direct,"
    "mb1_ic3oc16_ih8oh6kh3sh1dh0ph0_iw8ow6kw3sw1dw0pw0,0.05"
)
LOGGING = f"print('{ONEDNN}', flush=True)\nprint('ready', flush=True)\n"


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("room")


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


@pytest.fixture(scope="module")
def run(room: Path, environment: dict[str, str]) -> Run:
    return runner(sys.executable, room, environment)


def test_a_program_without_torch_runs_and_leaves_a_bundle(run: Run) -> None:
    ran = run([sys.executable, "-c", "print('hello')"], quiet=False)
    assert (ran.code, ran.out) == (0, "hello\n")
    assert "nothing from torch or oneDNN" in ran.err
    assert not (ran.bundle / "report.json").exists()
    assert ran.log == "hello\n"


def test_a_crash_keeps_its_traceback_and_is_analyzed(run: Run) -> None:
    ran = run(LOGGING + "raise ValueError('on purpose')\n", "--require", "TUN001")
    assert (ran.code, ran.out) == (1, "ready\n")
    assert "ValueError: on purpose" in ran.err
    assert "the program ended before anything was compiled (exit code 1)" in ran.err
    assert ran.report["inputs"][0]["kinds"]["onednn_verbose"] == 1


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_killed_program_is_analyzed(run: Run, number: signal.Signals) -> None:
    ran = run(LOGGING + f"import os; os.kill(os.getpid(), {int(number)})\n")
    assert ran.code == 128 + number
    assert ran.environment["finished"]["signal"] == number
    assert ran.report["inputs"][0]["kinds"]["onednn_verbose"] == 1


def test_the_bar_applies_where_the_program_exited_well(run: Run) -> None:
    assert run(LOGGING).code == 0
    assert run(LOGGING, "--require", "TUN001").code == 1
    assert run(LOGGING + "raise SystemExit(5)", "--require", "TUN001").code == 5
    assert run("print('nothing')", "--fail-on", "error").code == 2


def test_a_prompt_is_answered(run: Run, room: Path, environment: dict[str, str]) -> None:
    del run
    program = "print('You are', input('Name? '))"
    done = subprocess.run(
        [*TRACELENS, "run", "-q", "-o", str(room / "asked"), "--", sys.executable, "-c", program],
        env=environment,
        input="ana\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (0, "Name? You are ana\n")


def test_ctrl_c_is_passed_on_and_what_was_recorded_is_analyzed(
    room: Path, environment: dict[str, str]
) -> None:
    script = room / "endless.py"
    script.write_text(LOGGING + "import time; time.sleep(60)\n")
    words = ["run", "-q", "-o", str(room / "interrupted"), "--", sys.executable, str(script)]
    with (
        subprocess.Popen(
            [*TRACELENS, *words],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as child,
        ended(child),
    ):
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        os.killpg(child.pid, signal.SIGINT)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "KeyboardInterrupt" in err
    report = json.loads((room / "interrupted" / "report.json").read_text())
    assert report["inputs"][0]["kinds"]["onednn_verbose"] == 1


def test_a_hanging_program_ends_in_time(run: Run) -> None:
    began = time.monotonic()
    ran = run(LOGGING + "while True: pass\n", "--time-limit", "1")
    assert ran.code == 130
    assert time.monotonic() - began < 60
    assert "--time-limit" in ran.err
    assert ran.report["inputs"][0]["kinds"]["onednn_verbose"] == 1


def test_what_a_program_leaves_running_is_ended_and_told(run: Run) -> None:
    ran = run("import subprocess\nprint(subprocess.Popen(['sleep', '60']).pid)\n")
    assert ran.code == 0
    assert "1 process outlived the program" in ran.err
    assert not is_alive(int(ran.out))


def test_a_working_directory_that_disappears_takes_nothing_along(
    room: Path, environment: dict[str, str]
) -> None:
    inside = room / "inside"
    inside.mkdir()
    (room / "vanish.py").write_text(LOGGING + "import os, shutil; shutil.rmtree(os.getcwd())\n")
    done = subprocess.run(
        [*TRACELENS, "run", "-q", "--", sys.executable, str(room / "vanish.py")],
        env=environment,
        cwd=inside,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0
    assert (inside / "tracelens-run" / "report.json").is_file(), done.stderr


def test_a_reader_that_goes_away_does_not_stop_the_recording(
    room: Path, environment: dict[str, str]
) -> None:
    script = room / "loud.py"
    script.write_text("for n in range(100_000): print('line', n)\n" + LOGGING)
    words = [*TRACELENS, "run", "-o", str(room / "loud"), "--", sys.executable, str(script)]
    with (
        subprocess.Popen(
            words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as child,
        ended(child),
    ):
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline() == "line 0\n"
        child.stdout.close()
        err = child.stderr.read()
    assert child.returncode == 0, err
    assert "Traceback" not in err
    report = json.loads((room / "loud" / "report.json").read_text())
    assert report["inputs"][0]["kinds"]["onednn_verbose"] == 1


def test_a_directory_of_somebody_else_is_refused(run: Run, room: Path) -> None:
    (room / "thesis").mkdir()
    (room / "thesis" / "chapter1.tex").touch()
    ran = run([sys.executable, "-c", "pass"], "-o", str(room / "thesis"))
    assert ran.code == 2
    assert "is not empty, and no recording" in ran.err


def test_an_earlier_recording_is_replaced_where_it_was_named(run: Run, room: Path) -> None:
    bundle = room / "named"
    for _ in range(2):
        run(LOGGING, "-o", str(bundle))
    assert sorted(path.name for path in bundle.iterdir()) == [
        "environment.json",
        "log.txt.gz",
        "report.html",
        "report.json",
    ]


def test_what_cannot_be_started_is_misuse(run: Run) -> None:
    ran = run(["no-such-program"])
    assert ran.code == 2
    assert "no-such-program: cannot be run: No such file or directory" in ran.err


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("", "guards,recompiles,graph_breaks,output_code,perf_hints,schedule"),
        ("+dynamo", "+dynamo,guards,recompiles,graph_breaks,output_code,perf_hints,schedule"),
        ("recompiles", "recompiles,guards,graph_breaks,output_code,perf_hints,schedule"),
        ("help", "help"),
    ],
)
def test_the_users_switches_stay(run: Run, given: str, wanted: str) -> None:
    program = "import os; print(os.environ['TORCH_LOGS'], os.environ['ONEDNN_VERBOSE'])"
    ran = run(program, env={"TORCH_LOGS": given, "ONEDNN_VERBOSE": "0"})
    assert ran.out == f"{wanted} 0\n"


@pytest.mark.parametrize("text", ["no newline", "one\n", "", "\x00\r\nlast\r"])
def test_standard_output_is_the_programs_byte_by_byte(
    room: Path, environment: dict[str, str], text: str
) -> None:
    """The result goes to standard error, where there is no terminal to show both."""
    program = f"import sys; sys.stdout.buffer.write({text.encode()!r})"
    script = room / "bytes.py"
    script.write_text(f"import os\nos.write(2, {ONEDNN.encode()!r} + b'\\n')\n{program}\n")
    words = [*TRACELENS, "run", "-o", str(room / "bytes"), "--", sys.executable, str(script)]
    done = subprocess.run(words, env=environment, capture_output=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (0, text.encode())
    assert b"tracelens: recorded in" in done.stderr


@pytest.mark.live
@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "signal 11 (SIGSEGV) ended it"),
        ("raise SystemExit(3)", "exit code 3"),
    ],
)
def test_a_program_that_ends_badly_is_not_said_to_be_well(run: Run, ends: str, words: str) -> None:
    ran = run(f"import torch\n{LOGGING}{ends}\n", quiet=False)
    assert words in ran.err
    assert "Nothing to fix" not in ran.err + ran.out
    assert ran.report["runs"][0]["ended"] == "error"
    assert f"# tracelens: ended {words}" in ran.log


@pytest.mark.parametrize("piped", [True, False])
def test_standard_input_is_passed_on_and_kept(
    room: Path, environment: dict[str, str], piped: bool
) -> None:
    """A pipe of more than a pipe holds, to the end; or a file, from where it was read to."""
    text = "line\n" * 60_000
    (room / "given").write_text(text)
    bundle = room / f"input-{piped}"
    program = "import sys; print(len(sys.stdin.read()))"
    words = [*TRACELENS, "run", "-q", "-o", str(bundle), "--", sys.executable, "-c", program]
    with (room / "given").open() as given:
        done = subprocess.run(
            words,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
            **({"input": text} if piped else {"stdin": given}),
        )
    assert (done.returncode, done.stdout) == (0, f"{len(text)}\n")
    assert gzip.decompress((bundle / "stdin.gz").read_bytes()).decode() == text


def test_what_a_program_does_not_read_is_left_for_the_next(
    room: Path, environment: dict[str, str]
) -> None:
    words = [*TRACELENS, "run", "-q", "-o", str(room / "left"), "--", sys.executable, "-c", "pass"]
    program = f"import subprocess; subprocess.run({words!r}, check=True); print(input())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        input="for the next\n",
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout == "for the next\n"


# A disk that is full, and a recording that is cut short. A limit on the size of a file raises as a
# full disk does, and needs no disk of its own.

FULL = (
    "import resource, sys, tracelens.cli as cli; "
    "resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room})); sys.exit(cli.main())"
)
TALKS = "import random\nfor _ in range(9999): print(random.random())\nraise SystemExit(7)\n"


def test_a_full_disk_changes_no_exit_code(environment: dict[str, str], tmp_path: Path) -> None:
    code = FULL.format(room=30_000)
    argv = [sys.executable, "-c", code, "run", "-o", str(tmp_path), "--", sys.executable, "-c"]
    done = subprocess.run(
        [*argv, TALKS], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 7
    assert done.stdout.count("\n") == 9999
    assert done.stderr.count("the log is not complete: File too large") == 1
    told = json.loads((tmp_path / "environment.json").read_text())
    assert (told["exit_code"], told["finished"]["code"]) == (7, 7)
    assert told["notes"] == ["the log is not complete: File too large"]


def test_a_full_disk_keeps_no_report_and_shows_it_all_the_same(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """What is said fits: no word of a program that did not import torch."""
    sample = Path(__file__).parents[2] / "fixtures" / "logs" / "samples"
    talks = f"print(open({str(sample / 'aarch64-bf16-linear.log')!r}).read())\n"
    code = FULL.format(room=20_000)
    argv = [sys.executable, "-c", code, "run", "-o", str(tmp_path), "--", sys.executable, "-c"]
    done = subprocess.run(
        [*argv, talks], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0
    assert "no report is kept: " in done.stderr
    assert "File too large. Hint: record into a folder with room: -o DIR" in done.stderr
    assert "ONE001" in done.stderr  # standard output is the program's
    assert "imported torch" not in done.stderr
    assert "recorded in" not in done.stderr
    assert "Errno" not in done.stderr
    assert not list(tmp_path.glob("*.part"))


def test_facts_that_no_longer_fit_are_cut_to_how_the_program_ended(
    tmp_path: Path,
) -> None:
    facts.begin_environment(tmp_path, {"command": ["a"], "machine": {}})
    assert json.loads((tmp_path / facts.NAME).read_text())["complete"] is False
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    whole = {"command": ["a"], "exit_code": 7, "processes": ["x" * 2 * facts.ROOM]}
    resource.setrlimit(resource.RLIMIT_FSIZE, (facts.ROOM, limits[1]))
    try:
        said = facts.end_environment(tmp_path, whole)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "File too large" in said
    kept = json.loads((tmp_path / facts.NAME).read_text())
    assert (kept["exit_code"], kept["command"], kept["complete"]) == (7, ["a"], False)
    assert facts.end_environment(tmp_path, whole) == ""
    assert json.loads((tmp_path / facts.NAME).read_text())["processes"] == whole["processes"]
    assert [path.name for path in tmp_path.iterdir()] == [facts.NAME]


def test_a_recording_killed_at_its_first_line_has_it(
    environment: dict[str, str], tmp_path: Path
) -> None:
    child = "import time; print('first', flush=True); time.sleep(60)"
    argv = [*TRACELENS, "run", "-o", str(tmp_path / "run"), "--", sys.executable, "-c", child]
    tool = subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE)
    log = tmp_path / "run" / "log.txt.gz"
    with ended(tool):
        assert tool.stdout is not None
        assert tool.stdout.readline() == b"first\n"
        end = time.monotonic() + 30
        while log.stat().st_size <= 10 and time.monotonic() < end:
            time.sleep(0.01)
        tool.kill()
        tool.communicate(timeout=60)
    assert zlib.decompressobj(31).decompress(log.read_bytes()) == b"first\n"
    told = json.loads((log.parent / "environment.json").read_text())
    assert (told["command"][-1], told["complete"]) == (child, False)


def test_an_empty_log_says_that_its_recording_was_cut_short(
    environment: dict[str, str], tmp_path: Path
) -> None:
    facts.begin_environment(tmp_path, {"command": ["a"]})
    (tmp_path / "log.txt.gz").write_bytes(gzip.compress(b""))
    argv = [*TRACELENS, "analyze", str(tmp_path)]
    for said in ("an empty log: its recording was cut short", "an empty file"):
        done = subprocess.run(
            argv, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 2
        assert said in done.stderr
        facts.write_environment(tmp_path, {"command": ["a"]})
