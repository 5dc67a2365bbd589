"""Programs print exceptions, errors and tracebacks all day; none of it is about torch.compile."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from tests.failures.printing import WORDS, Text, printed
from tracelens.failures import Failure
from tracelens.source import read


def training(pick: random.Random) -> Iterator[str]:
    for step in range(40):
        yield (
            f"step {step:5d} | loss {pick.random():.4f} | error: {pick.random():.3f} | "
            f"grad_norm {pick.random():.2f} | mean error {pick.random():.2e}"
        )
    yield "validation: word error rate 0.12, Error: 3.4 %"
    yield f"100%|██████████| {pick.randrange(99)}/99 [00:12<00:00, 7.9it/s, error=0.12]"


def web_server(pick: random.Random) -> Iterator[str]:
    name = pick.choice(WORDS)
    yield f'127.0.0.1 - - [21/Nov/2026 12:00:00] "GET /api/{name} HTTP/1.1" 500 -'
    yield f"ERROR:app:Exception on /api/{name} [GET]"
    yield "Traceback (most recent call last):"
    for depth in range(pick.randrange(2, 9)):
        yield f'  File "/srv/app/{pick.choice(WORDS)}.py", line {depth * 7 + 3}, in {name}'
        yield f"    return self.{pick.choice(WORDS)}(request)"
    yield f"sqlalchemy.exc.OperationalError: (psycopg2.OperationalError) no such {name}: timeout"
    yield "(Background on this error at: https://sqlalche.me/e/20/e3q8)"


def pip(pick: random.Random) -> Iterator[str]:
    yield f"Collecting {pick.choice(WORDS)}-{pick.choice(WORDS)}==1.{pick.randrange(9)}"
    yield "  error: subprocess-exited-with-error"
    yield "  Building wheel did not run successfully."
    yield "  │ exit code: 1"
    yield "      src/ext.c:12:10: fatal error: libpq-fe.h: No such file or directory"
    yield "      compilation terminated."
    yield "      error: command '/usr/bin/gcc' failed with exit code 1"
    yield "ERROR: Could not build wheels, which is required to install this project"


def ci(pick: random.Random) -> Iterator[str]:
    stamp = f"2026-11-21T12:{pick.randrange(60):02}:{pick.randrange(60):02}.1234567Z"
    yield f"{stamp} ##[group]Run tests"
    yield f"{stamp} FAILED tests/test_{pick.choice(WORDS)}.py::test_it - AssertionError: 1 == 2"
    yield f"{stamp} E       ValueError: {pick.choice(WORDS)} is not found"
    yield f"{stamp} ##[error]Process completed with exit code 1."


def other_languages(pick: random.Random) -> Iterator[str]:
    yield 'Exception in thread "main" java.lang.NullPointerException: Cannot invoke it'
    yield f"\tat com.example.{pick.choice(WORDS)}.Main.run(Main.java:{pick.randrange(300)})"
    yield "Caused by: java.io.IOException: Connection reset"
    yield f"TypeError: Cannot read properties of undefined (reading '{pick.choice(WORDS)}')"
    yield f"    at Object.<anonymous> (/srv/node/{pick.choice(WORDS)}.js:12:34)"
    yield "thread 'main' panicked at src/main.rs:4:5: index out of bounds: the len is 3"
    yield "panic: runtime error: invalid memory address or nil pointer dereference"
    yield "goroutine 1 [running]:"
    yield f"main.c:{pick.randrange(99)}:5: error: expected ';' before 'return'"
    yield "make: *** [Makefile:12: main.o] Error 1"
    yield "Segmentation fault (core dumped)"


def caught(pick: random.Random) -> Iterator[str]:
    yield "WARNING:root:retrying after an error"
    yield "Traceback (most recent call last):"
    yield f'  File "/home/ana/proj/{pick.choice(WORDS)}.py", line 12, in load'
    yield "    with open(path) as file:"
    yield f"FileNotFoundError: [Errno 2] No such file or directory: '{pick.choice(WORDS)}.json'"
    yield "re.error: could not compile the pattern: unbalanced parenthesis"
    yield f"requests.exceptions.ConnectionError: HTTPSConnectionPool(host='{pick.choice(WORDS)}')"
    yield "kubelet: Error: ImagePullBackOff: Unsupported: media type is not found"


def builds(pick: random.Random) -> Iterator[str]:
    name = pick.choice(WORDS)
    yield f"      building '{name}._speedups' extension"
    yield f"      src/{name}.c:1:10: fatal error: Python.h: No such file or directory"
    yield f"      {name}.cpp(2): fatal error C1083: Cannot open include file: 'algorithm'"
    yield "LINK : fatal error LNK1104: cannot open file 'msvcprt.lib'"
    yield f"/usr/bin/ld: cannot find -l{name}: No such file or directory"
    yield "collect2: error: ld returned 1 exit status"
    yield "/bin/sh: 1: g++: not found"
    yield f"clang: error: unsupported option '-f{name}'"
    yield "nvcc fatal   : Unsupported gpu architecture 'compute_120'"
    yield f"kernels/{name}.cu(12): error: identifier is undefined"
    yield "ninja: build stopped: subcommand failed."
    yield "RuntimeError: Error compiling objects for extension"


def services(pick: random.Random) -> Iterator[str]:
    name = pick.choice(WORDS)
    yield f'{{"level": "error", "msg": "could not {name}: IOError: pipe", "stack": "a\\nb"}}'
    yield f"kernel: Out of memory: Killed process 812 ({name}) total-vm:123456kB"
    yield f"E1121 12:00:00.1 1 reflector.go:138] Failed to watch *v1.{name}: Unauthorized"
    yield f"PermissionError: [Errno 13] Permission denied: '/var/lib/{name}'"
    yield "OSError: [Errno 28] No space left on device"
    yield "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"
    yield "EOFError: Ran out of input"
    yield f"ImportError: /usr/lib/lib{name}.so: undefined symbol: _ZN5boost6system"
    yield "dlopen failed: library not found"
    yield f"TimeoutError: {name} did not answer"


KINDS: tuple[Text, ...] = (training, web_server, pip, ci, other_languages, caught, builds, services)


def test_ordinary_output_tells_of_no_failure(tmp_path: Path) -> None:
    for seed in range(3):
        path = tmp_path / f"{seed}.log"
        path.write_text(printed(KINDS, seed, 400_000), encoding="utf-8")
        evidence, _ = read([str(path)])
        found = [(seen.record.cause, seen.record.message) for seen in evidence.table(Failure)]
        assert found == []


def test_nor_does_it_where_a_compiled_program_goes_on(tmp_path: Path) -> None:
    record = (
        "V1121 12:01:37.100000 501 torch/_dynamo/guards.py:3006] [0/1] [__recompiles] "
        "Recompiling function forward in /home/ana/proj/model.py:8\n"
        "V1121 12:01:37.100000 501 torch/_dynamo/guards.py:3006] [0/1] [__recompiles]     "
        "triggered by the following guard failure(s):\n"
        "V1121 12:01:37.100000 501 torch/_dynamo/guards.py:3006] [0/1] [__recompiles]     "
        "- 0/0: n == 2\n"
    )
    path = tmp_path / "run.log"
    steps = "".join(f"step {n} loss {1 / (n + 1):.4f}\n" for n in range(100))
    path.write_text(record + printed(KINDS, 7, 200_000) + steps, encoding="utf-8")
    evidence, _ = read([str(path)])
    assert [seen.record.message for seen in evidence.table(Failure)] == []
