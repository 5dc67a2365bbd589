"""Servers, builds, notebooks and eager PyTorch in the words that failures are told by as well."""
# ruff: noqa: E501 -- lines of other programs

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.failures.printing import WORDS, Text, printed
from tracelens.failures import Failure
from tracelens.source import read

TRACEBACK = "Traceback (most recent call last):"


def nginx(pick: random.Random) -> Iterator[str]:
    name = pick.choice(WORDS)
    yield f'2026/11/21 12:00:00 [error] 31#31: *7 open() "/srv/{name}.png" failed (2: No such file or directory), client: 10.0.0.7'
    yield f"2026/11/21 12:00:01 [crit] 31#31: *8 connect() to unix:/run/{name}.sock failed (13: Permission denied)"
    yield "upstream prematurely closed connection while reading response header from upstream"
    yield '10.0.0.7 - - [21/Nov/2026:12:00:00 +0000] "POST /compile HTTP/2.0" 502 157 "-" "curl/8.1"'


def rust(pick: random.Random) -> Iterator[str]:
    name = pick.choice(WORDS)
    yield f"thread 'tokio-runtime-worker' panicked at src/{name}.rs:71:14:\ncalled `Result::unwrap()` on an `Err` value: Os {{ code: 2, kind: NotFound, message: \"No such file or directory\" }}"
    yield "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace"
    yield f"Error: failed to run custom build command for `openssl-sys v0.9 ({name})`\n  --- stderr\n  ptr: API call failed at init"


def java(pick: random.Random) -> Iterator[str]:
    name = pick.choice(WORDS)
    yield f"2026-11-21 12:00:00.000 ERROR 7 --- [nio-8080-exec-1] c.e.{name.title()}Controller : {name} is not found"
    yield f"org.springframework.beans.factory.BeanCreationException: Error creating bean with name '{name}': Invocation of init method failed"
    yield f"\tat org.springframework.boot.SpringApplication.run(SpringApplication.java:{pick.randrange(900)})"
    yield "Caused by: java.lang.OutOfMemoryError: Java heap space\n\t... 27 common frames omitted"
    yield "java.lang.UnsupportedOperationException: null\n\tat java.util.AbstractList.add(AbstractList.java:153)"


def python_tests(pick: random.Random) -> Iterator[str]:
    name = pick.choice(WORDS)
    yield f"_____________________________ test_{name} _____________________________"
    yield f"tests/test_{name}.py:31: in test_{name}\n    assert compile({name}) == 1\nsrc/{name}.py:12: in compile\n    raise ValueError(source)\nE   ValueError: cannot compile {name}"
    yield f"E   FileNotFoundError: [Errno 2] No such file or directory: '/srv/triton/{name}/config.pbtxt'"
    yield f"E   UnicodeDecodeError: 'utf-8' codec can't decode byte 0x8e in position {pick.randrange(9)}: invalid start byte"
    yield "=========================== short test summary info ============================"
    yield f"FAILED tests/test_{name}.py::test_{name} - ValueError: cannot compile {name}\nFAILED tests/test_{name}.py::test_b - RuntimeError: Failed: {name}"
    yield f"================= 2 failed, {pick.randrange(99)} passed in 0.42s ================="


def eager(pick: random.Random) -> Iterator[str]:
    """Errors of PyTorch that have nothing to do with compiling."""
    size = pick.randrange(2, 99)
    yield f'{TRACEBACK}\n  File "/home/ana/proj/train.py", line {size}, in <module>\n    loss = model(x)\n  File "/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1751, in _call_impl\n    return forward_call(*args, **kwargs)'
    yield f"RuntimeError: mat1 and mat2 shapes cannot be multiplied ({size}x3 and 4x5)"
    yield f"RuntimeError: The size of tensor a ({size}) must match the size of tensor b (3) at non-singleton dimension 1"
    yield f"Size does not match at dimension 1 expected index torch.Size([1, {size}, 1]) to be no larger than self torch.Size([1, 3, 7]) apart from dimension 2"
    yield "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [1, 2, 2]], which is output 0 of AsStridedBackward0, is at version 1; expected version 0 instead."
    yield f"UserWarning: x.shape torch.Size([{size}, 3]) s2 has no effect\n  warnings.warn(msg)"
    yield "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn"
    yield "ValueError: vmap: Expected all tensors to have the same size in the mapped dimension, got sizes [3, 4] for the mapped dimension"
    yield f"layer {size}: torch.Size([{size}, 64]) -> torch.Size([{size}, 128])"


def terraform(pick: random.Random) -> Iterator[str]:
    name = pick.choice(WORDS)
    yield f'╷\n│ Error: Unsupported argument\n│\n│   on main.tf line {pick.randrange(99)}, in resource "aws_instance" "{name}":\n│ An argument named "{name}" is not expected here.\n╵'
    yield f'ERROR:  relation "{name}" does not exist at character 15\nSTATEMENT:  vacuum {name}'
    yield f'fatal: [host]: FAILED! => {{"msg": "The task includes an option with an undefined variable: \'{name}\' is not found"}}'


def fortran(pick: random.Random) -> Iterator[str]:
    name = pick.choice(WORDS)
    yield f'CMake Error at CMakeLists.txt:{pick.randrange(99)} (find_package):\n  Could not find a package configuration file provided by "{name}"'
    yield f"src/{name}.cu({pick.randrange(99)}): error: identifier \"{name}\" is undefined\nnvcc fatal   : Value 'sm_80' is not defined for option 'gpu-architecture'"
    yield f"{name}.obj : error LNK2019: unresolved external symbol {name} referenced in function main\n{name}.exe : fatal error LNK1120: 1 unresolved externals"
    yield f"ninja: build stopped: subcommand failed.\nundefined reference to `{name}'\ncollect2: error: ld returned 1 exit status"
    yield f"/usr/bin/ld: cannot find -l{name}\nimport {name}: /usr/lib/{name}.so: undefined symbol: _ZN5boost6system"


KINDS: tuple[Text, ...] = (
    nginx,
    rust,
    java,
    python_tests,
    eager,
    terraform,
    fortran,
)


def told(path: Path) -> list[tuple[str, str]]:
    evidence, _ = read([str(path)])
    return [(seen.record.cause, seen.record.message[:200]) for seen in evidence.table(Failure)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_same_words_elsewhere_are_no_failure_of_the_compiler(
    kind: Text, tmp_path: Path
) -> None:
    path = tmp_path / "run.log"
    path.write_text(printed((kind,), 3, 60_000, mixed=True), encoding="utf-8")
    assert told(path) == []


def test_nor_are_all_of_them_mixed(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(printed(KINDS, 11, 300_000, mixed=True), encoding="utf-8")
    assert told(path) == []
