"""Fail in all the ways in which torch can on a CPU, one after the other; not a test by itself."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import torch
import torch._dynamo
from torch._inductor import config as inductor
from torch.utils.checkpoint import checkpoint

MARK = "==== "
CASES: list[Callable[[], object]] = []
dynamo = torch._dynamo.config


def case(function: Callable[[], object]) -> Callable[[], object]:
    """Add a way to fail."""
    CASES.append(function)
    return function


@case
def shapes() -> None:
    torch.compile(lambda a, b: a @ b, backend="eager")(torch.ones(2, 3), torch.ones(4, 5))


@case
def no_fake_kernel() -> None:
    library = torch.library.Library("provoked", "DEF")
    library.define("foo(Tensor x) -> Tensor")
    library.impl("foo", lambda x: x + 1, "CPU")

    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.provoked.foo(x) + 1

    torch.compile(f, backend="eager", fullgraph=True)(torch.ones(2))


@case
def mapped() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.sin().sum() * torch.ones(3)

    x = torch.randn(3, requires_grad=True)
    y = torch.compile(f, backend="aot_eager")(x)

    def backward(v: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad(y, x, v, retain_graph=True)[0]

    torch.vmap(backward)(torch.eye(3))


@case
def printing() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        print("x")  # noqa: T201 -- it is the point
        return x + 1

    torch.compile(f, backend="eager", fullgraph=True)(torch.ones(2))


@case
def branch() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.sum() > 0 else x - 1

    torch.compile(f, backend="eager", fullgraph=True)(torch.ones(2))


@case
def own_backend() -> None:
    def bad(*_: object) -> object:
        raise ValueError("this backend cannot do it")

    torch.compile(lambda x: x + 1, backend=bad)(torch.ones(2))


@case
def unknown_backend() -> None:
    torch.compile(lambda x: x, backend="nonesuch")(torch.ones(2))


@case
def inside_dynamo() -> None:
    class Meta(type):
        def __instancecheck__(cls, one: object) -> bool:
            raise ZeroDivisionError("no answer")

    class Kind(metaclass=Meta):
        pass

    class Held:
        pass

    held = Held()

    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if isinstance(held, Kind) else x

    torch.compile(f, backend="eager", fullgraph=True)(torch.ones(2))


@case
def traced_again() -> None:
    torch.fx.symbolic_trace(torch.compile(torch.nn.Linear(2, 2), backend="eager"))


@case
def decided() -> None:
    dynamo.capture_scalar_outputs = True

    def f(x: torch.Tensor) -> torch.Tensor:
        n = x.sum().item()
        if n > 4:
            return x + 1
        return x - 1

    torch.compile(f, backend="eager", fullgraph=True)(torch.ones(2, dtype=torch.int64))


@case
def marked() -> None:
    x = torch.ones(16, 4)
    torch._dynamo.mark_dynamic(x, 0)

    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.shape[0] == 16 else x

    torch.compile(f, backend="eager")(x)


@case
def limit() -> None:
    f = torch.compile(lambda x, s: x + len(s), backend="eager", fullgraph=True)
    for n in range(20):
        f(torch.ones(2), "a" * n)


@case
def twice() -> None:
    f = torch.compile(lambda x: (x.sin() ** 3).sum(), backend="aot_eager")
    x = torch.ones(8, requires_grad=True)
    (slope,) = torch.autograd.grad(f(x), x, create_graph=True)
    slope.sum().backward()


@case
def recomputed() -> None:
    calls: list[int] = []

    def f(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return x.sin().exp().cos().tanh() if len(calls) < 2 else x.sin()

    checkpoint(f, torch.ones(3, requires_grad=True), use_reentrant=False).sum().backward()


@case
def strides() -> None:
    def turned(x: torch.Tensor) -> torch.Tensor:
        return x.t().contiguous().t()

    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.provoked_too.turned(x).view_as(x)

    made = torch.library.custom_op("provoked_too::turned", turned, mutates_args=())
    made.register_fake(lambda x: torch.empty_like(x).contiguous())
    torch.compile(f)(torch.ones(3, 4))


@case
def suppressed() -> None:
    dynamo.suppress_errors = True

    def bad(*_: object) -> object:
        raise ValueError("this backend cannot do it either")

    torch.compile(lambda x: x + 2, backend=bad)(torch.ones(2))


@case
def refused() -> None:
    inductor.cpp.cxx = (None, os.environ["REFUSING_COMPILER"])
    torch.compile(lambda x: x.sin() + 1)(torch.ones(64))


@case
def no_compiler() -> None:
    inductor.cpp.cxx = (None, "no-such-g++")
    torch.compile(lambda x: x.cos() + 2)(torch.ones(64))


def main(folder: Path) -> None:
    """Run each case; what it prints goes to a file of its own."""
    for function in CASES:
        torch._dynamo.reset()
        dynamo.capture_scalar_outputs = dynamo.suppress_errors = False
        sys.stderr.write(f"{MARK}{function.__name__}\n")
        try:
            function()
        except Exception:
            traceback.print_exc()
        sys.stderr.flush()
    (folder / "done").touch()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
