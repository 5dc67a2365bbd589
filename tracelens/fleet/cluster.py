"""The work is shared by the workers of a Dask cluster: a scheduler's, or a small one of our own.

A scheduler is trusted: what it and its workers answer is unpickled here. They need the same
tracelens and the same packs, which is asked first; inputs they reach by the same paths, or as URLs.
What a worker cannot do is done here.
"""

from __future__ import annotations

import logging
import pickle
import platform
import socket
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Self, TypeVar

from tracelens import context, version
from tracelens.errors import UsageError
from tracelens.plugins.registry import GROUPS, distribution_of, installed

__all__ = ["Cluster", "about", "perform"]

T = TypeVar("T")
R = TypeVar("R")

#: Seconds to wait for a scheduler, for its first worker, and for what both say of themselves.
CONNECTING, WORKERS, ASKING = 10.0, 60.0, 60.0
#: Seconds between two looks at a task that is under way, and without a worker before we give up.
PERIOD, DESERTED = 1.0, 30.0
#: Tasks that wait for a thread, for each thread.
AHEAD = 2
#: How often a task may lose its worker.
RETRIES = 3
#: Failures of tasks that are told apart.
MAX_REMARKS = 5


def about() -> dict[str, str]:
    """Return what must be the same on every machine (asked of a worker, too)."""
    entries = [entry for group in sorted(GROUPS) for entry in installed(group)]
    packs = {distribution_of(entry.value.partition(":")[0]) for entry in entries}
    return {
        "tracelens": version.__version__,
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "packs": ", ".join(sorted(filter(None, packs))) or "none",
    }


def perform(request: bytes) -> bytes:
    """Do what is asked (on a worker)."""
    try:
        holds, work, task = pickle.loads(request)  # noqa: S301 -- from the client
        with context.using(holds):
            return pickle.dumps((about(), work(task), ""), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        return pickle.dumps((about(), None, f"{type(error).__name__}: {error}"))


class Cluster:
    """Connects to a scheduler, or starts workers on this machine."""

    here = False
    shares = 1
    least = 1

    def __init__(self, scheduler: str | None, count: int) -> None:
        self.remarks: list[str] = []
        self._scheduler = scheduler
        self._count = max(1, count)
        self._stack = ExitStack()
        self._client: Any = None

    def __enter__(self) -> Self:
        """Connect.

        Raises:
            UsageError: Dask is not installed, nobody answers, or the versions differ.
        """
        if find_spec("distributed") is None:
            hint = "pip install 'torch-tracelens[fleet]'"
            raise UsageError("the engine dask: dask.distributed is not installed", hint=hint)
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # we say it in our words
        with ExitStack() as stack:
            self._client = self._connected(stack)
            self._check()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Disconnect, and end the workers that are ours."""
        self._stack.close()

    def _connected(self, stack: ExitStack) -> Any:
        from distributed import Client, LocalCluster  # noqa: PLC0415 -- an extra

        address: Any = self._scheduler
        try:
            if address is not None:
                _answering(address)
            if address is None:
                address = LocalCluster(
                    n_workers=self._count,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False},
                    silence_logs=logging.CRITICAL,
                )
                stack.callback(address.close, timeout=CONNECTING)
            client = Client(address, timeout=CONNECTING, set_as_default=False)
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            what = str(error).partition("\n")[0].strip() or type(error).__name__
            hint = "the address as dask-scheduler prints it: tcp://HOST:8786"
            where = f"the scheduler {self._scheduler}" if self._scheduler else "the engine dask"
            raise UsageError(f"{where}: cannot be reached: {what}", hint=hint) from error
        stack.callback(_closed, client)
        return client

    def _check(self) -> None:
        """Ask the workers what they are.

        Raises:
            UsageError: There is none, or one is not as this process.
        """
        try:
            self._client.wait_for_workers(1, timeout=WORKERS)
        except TimeoutError as error:
            raise UsageError(f"the scheduler {self._scheduler}: no workers") from error
        try:
            said = self._client.run(about, on_error="return")
        except Exception as error:
            what = str(error).partition("\n")[0]
            raise UsageError(f"the scheduler {self._scheduler}: {what}") from error
        for worker, theirs in sorted(said.items()):
            if what := _difference(theirs):
                hint = "install the same on every worker"
                raise UsageError(f"the worker {worker}: {what}", hint=hint)

    @contextmanager
    def map(
        self, work: Callable[[T], R], tasks: Sequence[T], *, seconds: float
    ) -> Iterator[Iterator[R]]:
        """Return what ``work`` returns for each of ``tasks``, from the workers."""
        under_way: deque[Any] = deque()
        try:
            yield self._results(work, tasks, under_way, seconds)
        finally:
            for future in under_way:
                with suppress(Exception):  # the cluster may be gone
                    future.cancel()

    def _results(
        self, work: Callable[[T], R], tasks: Sequence[T], under_way: deque[Any], seconds: float
    ) -> Iterator[R]:
        holds = context.current()
        if self._scheduler is not None:  # what is found in a folder of that name is unpickled
            holds = replace(holds, cache=None)
        name, asked = f"tracelens-{uuid.uuid4().hex}", 0
        room = AHEAD * max(1, self._threads())
        for number, task in enumerate(tasks):
            while asked < min(len(tasks), number + room):
                request = pickle.dumps((holds, work, tasks[asked]))
                under_way.append(self._submitted(request, f"{name}-{asked}"))
                asked += 1
            future = under_way.popleft()
            found = self._result(future, seconds)
            del future  # the worker may forget it
            yield work(task) if found is None else found[0]

    def _submitted(self, request: bytes, key: str) -> Any:
        """Hand a task over; None when the cluster is gone."""
        try:
            return self._client.submit(perform, request, key=key, pure=False, retries=RETRIES)
        except Exception as error:
            self._remark(f"a task was done here: {error}")
            return None

    def _result(self, future: Any, seconds: float) -> tuple[Any] | None:
        """Wait for an answer; None when the task must be done here."""
        if future is None:
            return None
        begun = seen = time.monotonic()
        while time.monotonic() - begun < seconds:
            try:
                theirs, result, trouble = pickle.loads(future.result(timeout=PERIOD))  # noqa: S301
            except TimeoutError:
                if self._client.status != "running":
                    break
                seen = time.monotonic() if self._threads() else seen
                if time.monotonic() - seen > DESERTED:
                    break
                continue
            except Exception as error:
                self._remark(f"a task was done here: {type(error).__name__}")
                return None
            if trouble := trouble or _difference(theirs):
                self._remark(f"a task was done here: a worker said: {trouble}")
                return None
            return (result,)
        self._remark("a task was done here: no worker has answered")
        return None

    def _threads(self) -> int:
        try:
            return sum(self._client.nthreads().values())
        except Exception:  # whoever waits sees that the cluster is gone
            return 0

    def _remark(self, text: str) -> None:
        if text not in self.remarks and len(self.remarks) < MAX_REMARKS:
            self.remarks.append(text)


def _answering(address: str) -> None:
    """See that a scheduler is there, before anybody waits for it: it speaks first.

    Raises:
        OSError: Nobody is there, or somebody else.
    """
    protocol, _, place = address.rpartition("://")
    host, _, port = place.rstrip("/").rpartition(":")
    if not (host and port.isdecimal()):
        raise OSError("no address")
    with socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECTING) as line:
        line.settimeout(CONNECTING)
        if protocol in {"", "tcp"} and line.recv(8)[1:] != bytes(7):
            raise OSError("something else than a scheduler of Dask is there")


def _difference(theirs: Any) -> str:
    """Return in what a worker differs from this process; empty when in nothing."""
    if not isinstance(theirs, dict):
        return f"cannot be asked for its tracelens ({str(theirs).partition(chr(10))[0]})"
    for name, ours in about().items():
        if theirs.get(name) != ours:
            return f"{name} {theirs.get(name)}, and {ours} here"
    return ""


def _closed(client: Any) -> None:
    with suppress(Exception):  # it is going anyway
        client.close(timeout=CONNECTING)
