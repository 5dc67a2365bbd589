"""Whoever reads the inputs, the report is the same, byte for byte."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import chores
from tests.fleet.inputs import job
from tracelens import analyze, version
from tracelens.cli import main
from tracelens.errors import SourceError, UsageError
from tracelens.fleet import cluster
from tracelens.fleet.cluster import Cluster

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

LIMIT = 120.0

# What Dask warns of is no fault of ours.
pytestmark = [pytest.mark.live, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(job(tmp_path_factory.mktemp("job") / "all"))


@pytest.fixture(scope="module")
def serial(inputs: str) -> str:
    return analyze(inputs).model_dump_json()


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2,
        local_directory=str(tmp_path_factory.mktemp("dask")),
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
        silence_logs=50,
    ) as found:
        yield found


@pytest.fixture
def client(dask: LocalCluster) -> Iterator[Client]:
    from distributed import Client

    with Client(dask.scheduler_address, timeout=LIMIT, set_as_default=False) as found:
        found.wait_for_workers(1, timeout=LIMIT)
        yield found


def test_the_inputs_are_several_runs_and_a_job(inputs: str) -> None:
    report = analyze(inputs)
    assert sorted(len(run.inputs) for run in report.runs) == [1, 2]
    assert len(report.inputs) == 4
    assert {"DST001", "ONE001"} <= {finding.code for finding in report.findings}


def test_processes_say_what_one_says(inputs: str, serial: str) -> None:
    assert analyze(inputs, jobs=2, engine="process").model_dump_json() == serial


def test_a_cluster_says_what_one_process_says(
    inputs: str, serial: str, dask: LocalCluster, client: Client
) -> None:
    del client
    said: list[str] = []
    report = analyze(inputs, scheduler=dask.scheduler_address, remark=said.append)
    assert (report.model_dump_json(), said) == (serial, [])


def test_a_worker_that_is_killed_in_the_middle_changes_nothing(
    inputs: str, serial: str, dask: LocalCluster, client: Client
) -> None:
    client.wait_for_workers(2, timeout=LIMIT)
    victims = sorted(client.run(os.getpid).values())

    def kill(_: int) -> None:
        if victims:
            os.kill(victims.pop(), signal.SIGKILL)
            del victims[:]

    report = analyze(inputs, scheduler=dask.scheduler_address, progress=kill)
    assert (report.model_dump_json(), victims) == (serial, [])


def test_what_a_worker_cannot_read_is_said_as_ever(
    tmp_path: Path, dask: LocalCluster, client: Client
) -> None:
    del client
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text("nothing of ours\n")
    with pytest.raises(SourceError) as alone:
        analyze(str(tmp_path))
    with pytest.raises(SourceError) as together:
        analyze(str(tmp_path), scheduler=dask.scheduler_address)
    assert str(together.value) == str(alone.value)


def test_workers_with_another_tracelens_are_refused(
    inputs: str, dask: LocalCluster, client: Client
) -> None:
    client.run(_pretend, "0.0.9")
    try:
        with pytest.raises(UsageError, match=r"worker tcp://.*: tracelens 0\.0\.9, and .* here$"):
            analyze(inputs, scheduler=dask.scheduler_address)
    finally:
        client.run(_pretend, version.__version__)


def _pretend(number: str) -> None:
    from tracelens import version

    version.__version__ = number


def test_a_task_that_kills_its_worker_is_done_here() -> None:
    from dask import config

    tasks = [(os.getpid(), number) for number in range(3)]
    once = {"distributed.scheduler.allowed-failures": 0}
    with config.set(once), Cluster(None, 1) as team:
        with team.map(chores.die, tasks, seconds=LIMIT) as answers:
            assert list(answers) == [0, 1, 2]
        assert team.remarks == ["a task was done here: KilledWorker"]


def test_the_command_starts_workers_of_its_own(
    inputs: str, serial: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", inputs, "--engine", "dask", "--jobs", "1", "-f", "json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert len(out) > 1000
    assert main(["analyze", inputs, "--engine", "serial", "-f", "json"]) == 0
    assert capsys.readouterr().out == out
    assert '"code":"DST001"' in serial


def test_nobody_at_the_address_is_an_error(inputs: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert main(["analyze", inputs, "--scheduler", f"tcp://127.0.0.1:{port}"]) == 2
    err = capsys.readouterr().err
    assert f"the scheduler tcp://127.0.0.1:{port}: cannot be reached" in err
    assert main(["analyze", inputs, "--scheduler", "tcp://nowhere"]) == 2
    assert "no address" in capsys.readouterr().err


def test_somebody_else_at_the_address_is_an_error(
    inputs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "CONNECTING", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(UsageError, match="reached"):
        analyze(inputs, scheduler=f"tcp://127.0.0.1:{mute.getsockname()[1]}")


def test_a_scheduler_without_workers_is_an_error(
    inputs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import LocalCluster

    monkeypatch.setattr(cluster, "WORKERS", 0.5)
    with (
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", silence_logs=50) as empty,
        pytest.raises(UsageError, match=r"no workers$"),
    ):
        analyze(inputs, scheduler=empty.scheduler_address)


def test_without_the_extra_the_error_says_how_to_install_it(
    inputs: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster, "find_spec", lambda _: None)
    assert main(["analyze", inputs, "--engine", "dask"]) == 2
    assert "pip install 'torch-tracelens[fleet]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--engine", "ray"], "no engine 'ray'"),
        (["--engine", "process", "--scheduler", "tcp://127.0.0.1:1"], "has no scheduler"),
        (["--scheduler", "tcp://127.0.0.1:1", "--jobs", "2"], "workers of its own"),
        (["--engine", "serial", "--jobs", "2"], "reads in one process"),
    ],
)
def test_options_that_do_not_go_together(
    options: list[str], said: str, inputs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", inputs, *options]) == 2
    assert said in capsys.readouterr().err
