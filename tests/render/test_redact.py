"""Names, paths and secrets that must not leave the machine, and look-alikes that must."""

from __future__ import annotations

import re
import time

import pytest

from tracelens.plugins import manifest
from tracelens.render._redact import redact
from tracelens.report import EvidenceLine, Report

TOKEN = "hf_" + "aB3" * 11
GITHUB = "ghp_" + "Zz9" * 12
HOME = "/home/ana/proj".removesuffix("/proj")
AWS = "AKIA" + "ABCD2345EFGH6789"


def told(report: Report, *texts: str) -> tuple[list[str], int]:
    """Return what becomes of ``texts`` when they are quoted in a report, and the count."""
    evidence = tuple(EvidenceLine(input="run.log", line=1, text=text) for text in texts)
    finding = report.findings[0].model_copy(update={"evidence": evidence})
    redacted, count = redact(report.model_copy(update={"findings": (finding,)}))
    return [line.text for line in redacted.findings[0].evidence], count


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('File "/home/ana/proj/app.py", line 12', 'File "~/proj/app.py", line 12'),
        ("/Users/ana/app.py:12 in forward", "~/app.py:12 in forward"),
        (HOME, "~"),
        (f"cwd={HOME}:/usr/bin", "cwd=~:/usr/bin"),
        (r"C:\Users\Ana Maria\proj\app.py", r"~\proj\app.py"),
        (r"'C:\\Users\\ana\\proj'", r"'~\\proj'"),
        ("in C:/Users/ana/proj/x.c:3", "in ~/proj/x.c:3"),
        ("in D:/a/Users/ana/x.c:3", "in ~/x.c:3"),
        ("/home/ana/v/lib/python3.11/site-packages/torch/nn.py", "<site-packages>/torch/nn.py"),
        ("/usr/lib/python3/dist-packages/torch", "<site-packages>/torch"),
        (
            "if x:  # me/eva/v/lib/site-packages/a/b.py:9 in f",
            "if x:  # <site-packages>/a/b.py:9 in f",
        ),
        ("cp39-abi3/site-packages is a folder", "<site-packages> is a folder"),
        ("all in site-packages/torch", "all in site-packages/torch"),
        ("/x/torchinductor_ana/ab/cab.py", "/x/torchinductor_user1/ab/cab.py"),
        ("rm -rf /tmp/torchinductor_$USER", "rm -rf /tmp/torchinductor_$USER"),
        ("ls /home/$USER/proj", "ls /home/$USER/proj"),
        ("USER=ana LOGNAME=ana", "USER=user1 LOGNAME=user1"),
        (f"HF_TOKEN={TOKEN}", "HF_TOKEN=<secret1>"),
        ("HF_TOKEN=plain_value", "HF_TOKEN=<secret1>"),
        (f"login with {GITHUB} and {TOKEN}", "login with <secret1> and <secret2>"),
        (f"AWS_ACCESS_KEY_ID={AWS}", "AWS_ACCESS_KEY_ID=<secret1>"),
        ("password=hunter22, x", "password=<secret1>, x"),
        ("{'api_key': 'abcdef'}", "{'api_key': '<secret1>'}"),
        ("Authorization: Bearer abc.def-123", "Authorization: Bearer <secret1>"),
        ("https://ana:pw12@example.org/x", "https://<secret1>@example.org/x"),
        ("MASTER_ADDR=node17.cluster", "MASTER_ADDR=<host1>"),
        ("hostname: build-7", "hostname: <host1>"),
        ("anas-macbook.local and n7.rack.internal", "<host1> and <host2>"),
        ("on ip-10-1-2-3.ec2.internal now", "on <host1> now"),
        ("tcp://10.20.30.40:29500", "tcp://<ip1>:29500"),
        ("addr fe80::1ff:fe23:4567:890a up", "addr <ip1> up"),
        ("2001:db8:0:0:8:800:200c:417a", "<ip1>"),
        ("mail ana.b@example.org", "mail <mail1>"),
    ],
)
def test_what_is_replaced(reports: dict[str, Report], text: str, expected: str) -> None:
    assert told(reports["one"], text)[0] == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "src:bf16:a:blocked:ab::f0 wei:bf16:a:any:any::f0,,64x64:64x64",
        "V1120 10:39:59.849000 26510 torch/_inductor/graph.py:2469] [0/0] [__output_code]",
        "pad_token=0 max_tokens: 512 num_token=12.5 PAD_TOKEN=32000",
        "y = x@self.weight.t() + a@b",
        "nvidia-cudnn-cu12==9.1.0.70 oneDNN version 3.7.1.0",
        "127.0.0.1:29500 0.0.0.0 localhost hostname=localhost",
        "torch._dynamo.config.recompile_limit = 64",
        "Topologically Sorted Source Nodes: [linear], Original ATen: [aten.addmm]",
        "/opt/conda/bin/python /Users/Shared/x torchinductor_root/ab",
        "L['self']._modules['user'] key == 'secret' threading.local() self.internal",
    ],
)
def test_what_stays(reports: dict[str, Report], text: str) -> None:
    assert told(reports["one"], text) == ([text], 0)


def test_a_user_called_as_an_artifact_changes_no_switch(reports: dict[str, Report]) -> None:
    switches = sorted({one.switch for one in manifest.current().logs if "=" in one.switch})
    words = {word for one in switches for word in re.findall("[a-z]{3,}", one.replace("_", " "))}
    homes = [f"/home/{word}/app.py:3 in f" for word in ("perf", *sorted(words))]
    found, _ = told(reports["reference"], *homes, *switches)
    assert re.fullmatch(r"~(?:user\d+)?/app\.py:3 in f", found[0])
    assert found[len(homes) :] == switches


def test_equal_names_get_equal_pseudonyms(reports: dict[str, Report]) -> None:
    texts, count = told(
        reports["one"],
        "/home/ana/a.py and /home/runner/b.py",
        "/home/runner/c.py and /scratch/ana/run and runner@build7:22",
        "10.0.0.1 10.0.0.2 10.0.0.1",
    )
    assert texts == [
        "~/a.py and ~user2/b.py",
        "~user2/c.py and /scratch/user1/run and user2@<host1>:22",
        "<ip1> <ip2> <ip1>",
    ]
    assert count == 8


def test_every_field_is_redacted(reports: dict[str, Report]) -> None:
    report = reports["recompiles"]
    redacted, count = redact(report)
    assert "ana" not in redacted.to_json()
    assert count == report.to_json().count(HOME)
    assert redacted.inputs[0].path == "~/proj/logs/serve.log"


def test_redacting_twice_changes_nothing(report: Report) -> None:
    once, _ = redact(report)
    assert redact(once) == (once, 0)


@pytest.mark.parametrize(
    "unit",
    ["a", "a.", "a@", "/a", "/home/", "TOKEN", "1.", "a:", "C:\\Users\\", "eyJa.", "A_", "host=a."],
)
def test_the_time_grows_with_the_length(reports: dict[str, Report], unit: str) -> None:
    signs = " /home/ -packages/ :// @ key= hf_ user= host bearer ip-"
    start = time.process_time()
    told(reports["one"], unit * (100_000 // len(unit)) + signs)
    assert time.process_time() - start < 2.0
