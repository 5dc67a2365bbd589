"""Secrets planted in a report: none is in any format for sharing, a format of a pack included."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.corpus import cases, log_of, needs_corpus
from tracelens.cli._output import Plan
from tracelens.cli._terminal import Terminal
from tracelens.config import Config
from tracelens.engine import analyze
from tracelens.plugins.facts import RendererFacts
from tracelens.plugins.registry import discover
from tracelens.render import Options, Renderer
from tracelens.render._redact import redact
from tracelens.report import EvidenceLine, Finding, Report, Severity, Where

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "fixtures" / "logs" / "samples" / "aarch64-bf16-linear.log"
FORMATS = discover("renderers", Renderer)

#: In two parts, since no file of the project names a machine.
HOME, WORK = "/" + "home", "/" + "work"
HEX = "9f86d081884c7d659a2feaa0c55ad015"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"
BASE64 = "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA="

GHP = "ghp_" + "Zz9" * 12
GHO = "gho_" + "Yy8" * 12
PAT = "github_pat_" + "Ab1_" * 8
HF = "hf_" + "aB3" * 11
SK = "sk-" + "proj1" * 6
AKIA = "AKIA" + "ABCD2345EFGH6789"
XOX = "xoxb-" + "123456789-abc"

PRIVATE = "PRIVATE " + "KEY"
#: In two parts, each of them: a scanner of secrets would take them for real.
TOKENS = (
    "glpat-" + "AbCdEfGhIjKlMnOpQrSt",
    "npm_" + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
    "pypi-" + "AgEIcHlwaS5vcmcCJGFiY2RlZmdoLWFiY2QtYWJjZC1hYmNk",
    "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "ya29." + "a0AfH6SMBx1234567890abcdefghijklmnop",
    "SG." + "abcdefghijklmnopqrstuv.ABCDEFGHIJKLMNOPQRSTUVWXYZ0123",
    "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc",
    "nvapi-" + "AbCdEfGhIjKlMnOpQrStUvWx",
    "gsk_" + "AbCdEfGhIjKlMnOpQrStUvWx",
    "dapi" + "0123456789abcdef0123456789abcdef",
)

#: What must not be seen, and a line that gives it away.
PLANTED = {
    "zelda": f'File "{HOME}/zelda/proj/model.py", line 3',
    "bruno": "/Users/bruno/proj/model.py:7 in forward",
    "carla": r"D:\Users\carla\proj\model.py",
    "dmitri": "/data/dmitri/checkpoints/a.pt",
    "edgar": "/scratch/edgar/run7/log.txt",
    "fatima": "/lustre/users/fatima/x.py",
    "goran": f"/export{HOME}/goran/x.py",
    "hanako": f"/mnt/nfs{HOME}/hanako/x.py",
    "ingrid": f"{WORK}/ingrid/x.py",
    "jorge": "/var/torchinductor_jorge/ab/cab.py",
    "kwame": "USER=kwame",
    "lotte": "ssh lotte@gpubox",
    "marek": "marek@login-node7:~/proj$ python train.py",
    "nadia": f"hello nadia, and {HOME}/nadia/x",
    "secrethost1": "host=secrethost1.corp.acme",
    "secrethost2": "hostname: secrethost2",
    "secrethost3": "MASTER_ADDR=secrethost3",
    "secrethost4": "http://secrethost4.acme.dev:8080/api",
    "secrethost5": "tcp://secrethost5:29500",
    "secrethost6": "s3://secrethost6/run7/rank0.log",
    "anas-secrethost7": "anas-secrethost7.local",
    "olga@institute.museum": "mail olga@institute.museum",
    "peter.b@uni.ch": "from peter.b@uni.ch",
    "10.11.12.13": "connect to 10.11.12.13:29500",
    "2001:db8::7a": "listening on [2001:db8::7a]:29500",
    "fe80::1ff": "addr fe80::1ff:fe23:4567:890a",
    GHP: f"login with {GHP}",
    GHO: f"login with {GHO}",
    PAT: f"login with {PAT}",
    HF: f"login with {HF}",
    SK: f"login with {SK}",
    AKIA: f"login with {AKIA}",
    XOX: f"login with {XOX}",
    JWT: f"cookie {JWT}",
    "ZmFrZWtleQ": "AccountKey=ZmFrZWtleQ==;EndpointSuffix=core",
    "hunter22": "password=hunter22",
    "swordfish": "passwd: swordfish",
    "tr0ub4dor": "pw=tr0ub4dor",
    "opensesame": "MY_SECRET=opensesame",
    "tok3nvalue": "token: tok3nvalue",
    "abc.def-123": "Authorization: Bearer abc.def-123",
    "dXNlcjpwYXNz": "Authorization: Basic dXNlcjpwYXNz",
    "pw12": "https://ana:pw12@example.org/x",
    HEX: f"session {HEX}",
    BASE64[:-1]: f"using {BASE64}",
    "Falcon": "we call it Project Falcon",
    "Jürgen Müller": r'File "C:\Users\Jürgen Müller\proj\m.py", line 3',
    "zoe7": f"file://{HOME}/zoe7/x.py",
    "quentin": "/afs/cern.ch/user/q/quentin/x.py",
    "ravi8": f"/gpfs/fs1{HOME}/ravi8/x.py",
    "xenia": "/mnt/c/Users/xenia/proj/x.py",
    "ivanovic": r"\\wsl$\Ubuntu" + HOME.replace("/", "\\") + r"\ivanovic\x.py",
    "fileserver01": r"\\fileserver01\share\data\x.py",
    "amirali": "cd ~amirali/proj/x.py",
    "gpu-node-17": "HOSTNAME=gpu-node-17",
    "node[01-04]": "SLURM_NODELIST=node[01-04]",
    "nodeh2": "running on host nodeh2",
    "farid": "Logged in as: farid",
    "gina77": "wandb: Currently logged in as: gina77 (acme-team). Use `wandb login`",
    "acme-team": "wandb: Currently logged in as: gina78 (acme-team). Use `wandb login`",
    **{token: f"it is {token} now" for token in TOKENS},
    "cl13nt": "client_secret=cl13nt",
    "phr4se": "passphrase=phr4se",
    "t0kxyz": "prog --token t0kxyz --x",
    "r00tpw": "mysql://root:r00tpw@db1.acme.lan/x",
    "pgpw1": "PGPASSWORD=pgpw1",
    "00:1a:2b:3c:4d:5e": "eth0 00:1a:2b:3c:4d:5e",
    "i-0abcd1234ef567890": "instance i-0abcd1234ef567890",
    "ip-10-1-2-3": "ip-10-1-2-3.ec2.internal",
    "bucket9": "gs://bucket9/run/x",
    "cachepw": "redis://:cachepw@cache1:6379",
}

#: What is part of something longer, or may as well be a project: seen where it stands, not alone.
IN_PLACE = {
    "ursula": "/u/ursula/proj/x.py",
    "acmecorp": "git@github.com:acmecorp/secretrepo.git",
    "wJalrXUtnFEMI": "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "MIIEvQIB": f"-----BEGIN {PRIVATE}-----MIIEvQIBADANBgkqhkiG9w0BAQEFAASC-----END {PRIVATE}-----",
    "abcSIG": "https://x.blob.core.windows.net/c/b?sv=2020-08-04&sig=abcSIG%2Fdef%3D",
    "s3ss10n": "Cookie: sessionid=s3ss10n; csrftoken=abc",
    "210987654321": "arn:aws:iam::210987654321:role/x",
    "8a7b6c5d-1234": "GPU 0: (UUID: GPU-8a7b6c5d-1234-5678-9abc-def012345678)",
    "kube9": "pod kube9-7d9f8b6c5-x2x4z on node pool",
    "AAAAB3NzaC1yc2E": "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7 me@there",
}
ALL = PLANTED | IN_PLACE


class Plain(Renderer):
    """What a pack may write that thinks of nothing."""

    name = "plain"
    suffixes = (".plain",)
    redacts = False

    @classmethod
    def render(cls, report: Report, options: Options) -> str:
        del options
        return report.to_json()


def folder(secret: str, number: int) -> str:
    """Return a folder that is called as the secret is, where it may be seen alone."""
    return secret.strip("@-_") if secret in PLANTED else f"proj{number}"


def planted(report: Report) -> Report:
    """Every line is evidence, and what it gives away stands in titles, tables and places alone."""
    findings = [
        Finding(
            id=f"GBR003-{number:06x}",
            code="GBR003",
            name="print-or-builtin",
            severity=Severity.WARNING,
            title=f"it is {secret if secret in PLANTED else number} here",
            message=line,
            where=Where(file=f"{HOME}/zelda/{folder(secret, number)}/m.py", line=1, function="f"),
            evidence=(EvidenceLine(input="run.log", line=1, text=line, note=line),),
            data={"said": line},
        )
        for number, (secret, line) in enumerate(ALL.items())
    ]
    tables = {"graph_breaks": [{"file": line, "line": 1, "count": 2} for line in ALL.values()]}
    return report.model_copy(update={"findings": tuple(findings), "tables": tables})


@pytest.mark.parametrize("format_", FORMATS, ids=lambda cls: cls.name)
def test_no_secret_is_in_any_format(format_: type[Renderer], reports: dict[str, Report]) -> None:
    options = Options(
        verbose=True, max_chars=10_000_000, redact=True, redact_words=("Project Falcon", "Falcon")
    )
    text = format_.render(planted(reports["reference"]), options)
    assert [secret for secret in ALL if secret in text] == []


def test_no_secret_reaches_a_format_of_a_pack(
    reports: dict[str, Report], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = RendererFacts(Plain.__module__, "Plain", "plain", (".plain",), "some-pack")
    monkeypatch.setattr(RendererFacts, "load", lambda _: Plain)
    plan = Plan(((str(tmp_path / "out.plain"), facts),))
    plan.write(
        planted(reports["reference"]),
        Terminal(),
        Config.model_validate({"redact-words": ("Project Falcon", "Falcon")}),
        verbose=True,
    )
    text = (tmp_path / "out.plain").read_text()
    assert json.loads(text)["findings"]
    assert [secret for secret in ALL if secret in text] == []


@pytest.mark.parametrize(
    "line",
    [
        "oneDNN v3.7.1 (commit 8d263e693366ef8db40acc569cc7d8edf644556d)",
        "torch 2.13.0+git9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "fx graph cache hit for key f2x7gq4kd5c3zqvhnmgk6wzcrusz5cya4kqyq6o2vp5wqf3zmrvk",
        "hash: 9f86d081884c7d659a2feaa0c55ad0159f86d081884c7d659a2feaa0c55ad015",
        "/var/cache/triton/9f86d081884c7d659a2feaa0c55ad015/kernel.ptx",
        "/var/x/tmpab/cqd6u4mrzfp2m3czdz6rkvxqmlxz4jtbwnbsbnsiafpmegixrmfa.py:41",
        "triton_red_fused__native_batch_norm_legit_functional_add_relu_threshold_backward_13",
        "cpp_CppMicroGemmFP32Vec_threads_128_blocking_64_32_16_fused_relu",
        "out = x@w.to(dtype) + a@b.mT + q@k.transpose(-2, -1)",
        "y = x[1000::2] + z[::2] + w[0:10:2]",
        "src:bf16::blocked:ab::f0 wei:bf16:a:blocked:Ab16a::f0 2a::f0",
        "def f(token: Tensor, key: torch.Tensor, password=None, secret: str = None):",
        "hidden = self.token(x); pad_token=0 eos_token=</s> token=token_ids",
        "host = torch.ones(3); device='cuda' server = None; host=cfg.host",
        "L['self']._modules['home'] L['user'].data user = model(x)",
        "https://docs.pytorch.org/docs/stable/torch.compiler.html https://github.com/pytorch",
        "TORCH_LOGS=recompiles TORCHINDUCTOR_FREEZING=1 OMP_NUM_THREADS=8",
        '{"frame_id": 0, "has_payload": "5601d02186053adcc1ba29fd248c1d20"}',
        "see https://docs.vllm.ai/en/latest for more",
        "/data/imagenet/train /scratch/cache/y /data/model.pt",
        "falls back to the host: unsupported; on a server: none",
        "y = x & ~mask; z = ~mask / 2; w = ~keep/total",
        "add_1 on node add_1, on device cuda:0, on host memory, in the cookie jar",
        "cloned git@github.com:pytorch/pytorch.git",
        "V1120 11:07:29.063000 16287 torch/_inductor/graph.py:2722] [0/0_1] 00:11:22",
        r"re.compile('\\d+\\s\\w') and C:\\temp\\x",
        "--max-tokens 512 --tokenizer gpt2 --pad-token pad --password-file x",
        "private key -----BEGIN CERTIFICATE-----",
        "BackwardHookFunctionForCausalLMWithValueHeadAndSomethingElse",
    ],
)
def test_torchs_own_words_stay(reports: dict[str, Report], line: str) -> None:
    finding = (
        planted(reports["one"])
        .findings[0]
        .model_copy(
            update={
                "title": "t",
                "message": line,
                "where": None,
                "evidence": (),
                "data": {},
            }
        )
    )
    report = reports["one"].model_copy(update={"findings": (finding,)})
    redacted, count = redact(report)
    assert redacted.findings[0].message == line
    assert count == 0


def test_our_own_digests_stay(reports: dict[str, Report]) -> None:
    redacted, _ = redact(reports["reference"])
    assert redacted.inputs[0].sha256 == reports["reference"].inputs[0].sha256
    assert [f.id for f in redacted.findings] == [f.id for f in reports["reference"].findings]


def test_a_person_called_like_a_word_destroys_nothing(reports: dict[str, Report]) -> None:
    line = f"{HOME}/linear/x.py runs torch.nn.linear, a linear layer"
    finding = planted(reports["one"]).findings[0].model_copy(update={"message": line})
    report = reports["one"].model_copy(update={"findings": (finding,)})
    said = redact(report)[0].findings[0].message
    assert "runs torch.nn.linear, a linear layer" in said
    assert f"{HOME}/linear" not in said


@needs_corpus
@pytest.mark.parametrize(
    "case",
    [
        case
        for case in cases("2.13.0/*")[::10]
        if "art_" not in case.name and "verbose" not in case.name
    ],
    ids=lambda case: case.name,
)
def test_nothing_but_names_is_replaced_in_the_corpus(case: Path) -> None:
    """The corpus was recorded by ana; who reads it as that knows all that may be replaced."""
    report = analyze(log_of(case))
    redacted = redact(report)[0].to_json()
    undone = report.to_json()
    for name in ("/home/ana/venv/lib/python3.11/site-packages", "/home/ana"):
        undone = undone.replace(name, "~" if name == "/home/ana" else "<site-packages>")
    assert redacted == undone


def test_the_sample_has_nothing_to_hide() -> None:
    report = analyze(str(SAMPLE)).model_copy(update={"inputs": ()})
    assert "<" not in "".join(f.title for f in redact(report)[0].findings)
