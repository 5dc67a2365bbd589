"""Inputs in object stores are read as files are, and only when the user names them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.fleet.inputs import KERNELS, job
from tracelens import analyze
from tracelens.cli import main
from tracelens.errors import SourceError
from tracelens.report import Report
from tracelens.source import Reading, remote
from tracelens.source.places import expand

if TYPE_CHECKING:
    import fsspec
    import s3fs

LOG = min(KERNELS.glob("fires-*.log"))

# What botocore warns of is no fault of ours.
pytestmark = [pytest.mark.live, pytest.mark.filterwarnings("default")]


@pytest.fixture
def memory() -> Iterator[fsspec.AbstractFileSystem]:
    import fsspec

    store = fsspec.filesystem("memory")
    yield store
    store.store.clear()
    store.pseudo_dirs[:] = [""]
    remote._ASKED.clear()


@pytest.fixture(scope="module")
def s3() -> Iterator[s3fs.S3FileSystem]:
    import s3fs
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "verysecretkey",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        store = s3fs.S3FileSystem()
        store.mkdir("logs-of-ana")
        yield store
        s3fs.S3FileSystem.clear_instance_cache()
        server.stop()


def called(report: Report, url: str, folder: str) -> str:
    """Return a report as it would be of files in a folder."""
    return report.model_dump_json().replace(url, folder)


def test_a_prefix_of_a_bucket_says_what_the_folder_says(
    s3: s3fs.S3FileSystem, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = job(tmp_path / "run7")
    (folder / ".hidden.log").write_text("no\n")
    (folder / "more.log.gz").write_bytes(gzip.compress(LOG.read_bytes(), mtime=0))
    s3.put(f"{folder}/", "logs-of-ana/run7", recursive=True)
    here = analyze(str(folder))
    there = analyze("s3://logs-of-ana/run7")
    assert len(there.inputs) == 5
    assert called(there, "s3://logs-of-ana/run7", str(folder)) == here.model_dump_json()
    ranks = analyze("s3://logs-of-ana/run7/ranks/rank*.log")
    assert len(ranks.inputs) == 2
    assert len(ranks.runs) == 1
    assert main(["analyze", "s3://logs-of-ana/run7/program.log", "-f", "markdown"]) == 0
    page = capsys.readouterr().out
    assert "s3://<host1>/run7/program.log" in page.replace("\\", "")
    assert "logs-of-ana" not in page
    assert "verysecretkey" not in page
    assert "AKIAEXAMPLE" not in page


def test_processes_read_a_bucket(s3: s3fs.S3FileSystem) -> None:
    for name in ("a", "b"):
        s3.pipe(f"logs-of-ana/two/{name}.log", LOG.read_bytes())
    alone = analyze("s3://logs-of-ana/two")
    said: list[str] = []
    shared = analyze("s3://logs-of-ana/two", jobs=2, engine="process", remark=said.append)
    assert (shared.model_dump_json(), said) == (alone.model_dump_json(), [])


def test_a_large_object_is_read_block_by_block(
    s3: s3fs.S3FileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from s3fs import core

    monkeypatch.setattr(remote, "BLOCK", 50_000)
    data = LOG.read_bytes() * (1 + 1_200_000 // len(LOG.read_bytes()))
    s3.pipe("logs-of-ana/large.log", data)
    (tmp_path / "large.log").write_bytes(data)
    sizes = []
    fetch = core._fetch_range

    def fetched(*asked: Any, **more: Any) -> Any:
        sizes.append(asked[5] - asked[4])
        return fetch(*asked, **more)

    monkeypatch.setattr(core, "_fetch_range", fetched)
    (name,) = expand(("s3://logs-of-ana/large.log",))
    _, there = Reading().file(name)
    _, here = Reading().file(str(tmp_path / "large.log"))
    assert there.model_dump() | {"path": ""} == here.model_dump() | {"path": ""}
    assert there.bytes == len(data)
    assert len(sizes) > 2
    assert max(sizes) < len(data)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("s3://logs-of-ana/nothing", "s3://logs-of-ana/nothing: no such file or directory"),
        ("s3://logs-of-ana/no*.log", "s3://logs-of-ana/no*.log: no such file or directory"),
        ("s3://no-such-bucket-at-all/x", "s3://no-such-bucket-at-all/x: no such file or directory"),
    ],
)
def test_what_is_not_there_is_said_as_of_files(url: str, said: str, s3: s3fs.S3FileSystem) -> None:
    del s3
    with pytest.raises(SourceError) as error:
        analyze(url)
    assert str(error.value) == said


def test_an_object_that_goes_away_is_an_error(memory: fsspec.AbstractFileSystem) -> None:
    memory.pipe("/x.log", LOG.read_bytes())
    (name,) = expand(("memory://x.log",))
    memory.rm("/x.log")
    with pytest.raises(SourceError, match=r"^memory:///x\.log: No such file or directory$"):
        Reading().file(name)


def test_nothing_but_what_the_user_names_is_opened(
    memory: fsspec.AbstractFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.pipe("/other.log", LOG.read_bytes())
    log = tmp_path / "run.log"
    log.write_bytes(LOG.read_bytes() + b"see memory://other.log and s3://bucket/x.log\n")
    report = tmp_path / "report.json"
    assert main(["analyze", str(log), "-o", str(report), "-q"]) == 0
    told = json.loads(report.read_text())
    told["inputs"][0]["path"] = "memory:///other.log"
    report.write_text(json.dumps(told))
    seen: list[str] = []
    monkeypatch.setattr(type(memory), "open", lambda *args, **_: seen.append(str(args)))
    target = tmp_path / "evidence.zip"
    assert main(["bundle", str(report), "-o", str(target)]) == 0
    assert target.is_file()
    assert seen == []


def test_keys_in_a_url_stay_out_of_its_name(memory: fsspec.AbstractFileSystem) -> None:
    del memory
    url = "ftp://ana:secret@example.org/run.log?X-Amz-Signature=abc#part"
    assert remote._named(url) == "ftp://example.org/run.log"
    assert "secret" not in remote._said(OSError(f"cannot open {url}"), url)
    names = [remote._kept("https://h/x", remote._Place(f"https://h/x?v={n}")) for n in (1, 2, 1)]
    assert names[:2] == ["https://h/x", "https://h/x#2"]
    assert names[2] == names[0]


def test_what_cannot_be_read_without_an_extra_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(remote, "find_spec", lambda _: None)
    assert main(["analyze", "s3://bucket/x.log"]) == 2
    assert "pip install 'torch-tracelens[s3]'" in capsys.readouterr().err
    monkeypatch.undo()
    assert main(["analyze", "nosuch://bucket/x.log"]) == 2
    assert "nosuch://bucket/x.log: Protocol not known: nosuch" in capsys.readouterr().err
