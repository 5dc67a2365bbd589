"""Hand-built reports: what a renderer may meet, from nothing at all to hostile text."""

from __future__ import annotations

import pytest

from tracelens.report import (
    Advice,
    Confidence,
    Confirmation,
    Cost,
    Coverage,
    Environment,
    EvidenceLine,
    Finding,
    Input,
    KnownSite,
    Outcome,
    Report,
    Severity,
    Tool,
    UnreadText,
    Verdict,
    Where,
    fingerprint,
)

INNER = (
    "cpu,inner_product,ref:any,forward_inference,src:bf16::blocked:ab::f0 wei:bf16::blocked:ba::f0 "
    "bia:bf16::blocked:a::f0 dst:bf16::blocked:ab::f0,attr-scratchpad:user,,mb64ic64oc64"
)


def make_input(path: str = "run.log", **changes: object) -> Input:
    facts: dict[str, object] = {
        "path": path,
        "kinds": {"onednn_verbose": 50, "output_code": 3, "guards": 2},
        "bytes": 31790,
        "lines": 213,
        "sha256": "5f" * 32,
    }
    return Input.model_validate(facts | changes)


def make_coverage(**changes: object) -> Coverage:
    facts: dict[str, object] = {
        "lines": 213,
        "understood_lines": 192,
        "known_lines": 0,
        "program_lines": 21,
        "unread_lines": 0,
        "share": 1.0,
    }
    return Coverage.model_validate(facts | changes)


def make_report(*findings: Finding, **changes: object) -> Report:
    facts: dict[str, object] = {
        "tool": Tool(version="0.1.0"),
        "inputs": (make_input(),),
        "environment": Environment(torch="2.10.0", onednn="3.7.1", isa="AArch64 SVE (256 bits)"),
        "coverage": make_coverage(),
        "verdicts": (),
        "findings": tuple(sorted(findings, key=lambda finding: finding.order)),
    }
    return Report.model_validate(facts | changes)


def quote(line: int, text: str, note: str = "", path: str = "run.log") -> EvidenceLine:
    return EvidenceLine(input=path, line=line, text=text, note=note)


def reference() -> Report:
    """A frozen bf16 Linear on AArch64: oneDNN has no kernel but the reference one."""
    slow = Finding(
        id=fingerprint("ONE001", "inner_product", "bf16", "mb64ic64oc64"),
        code="ONE001",
        name="reference-kernel-dispatch",
        severity=Severity.ERROR,
        title="inner_product 64x64x64 bf16 ran on oneDNN's reference kernel (`ref:any`)",
        message=(
            "oneDNN 3.7.1 holds no fast bf16 `inner_product` for AArch64: the log shows no "
            "rejected candidate, so the reference kernel was the only one in this build. It is "
            "plain C++ that exists to be correct. The same product ran as a `matmul` on "
            "`gemm:acl` in eager mode, 3.5 times faster per call."
        ),
        count=4,
        where=Where(file="/home/ana/proj/seed.py", line=14, function="forward"),
        evidence=(
            quote(196, f"onednn_verbose,v1,primitive,create:cache_miss,{INNER},0.584961"),
            quote(198, f"onednn_verbose,v1,primitive,exec,{INNER},84.4229", "first call: 84 ms"),
            quote(202, f"onednn_verbose,v1,primitive,exec,{INNER},83"),
            quote(206, f"onednn_verbose,v1,primitive,exec,{INNER},85.918"),
            quote(210, f"onednn_verbose,v1,primitive,exec,{INNER},86.009"),
        ),
        cost=Cost(ms=339.35, share=0.764, basis="measured", of="the time in oneDNN"),
        advice=(
            Advice(
                text="Leave this model unfrozen: its Linear then runs on `matmul`.",
                setting="torch._inductor.config.freezing = False",
                env="TORCHINDUCTOR_FREEZING=0",
                since="2.6",
                until="2.14",
            ),
            Advice(
                text="Or run the layer in float32 and let oneDNN compute in bfloat16.",
                env="ONEDNN_DEFAULT_FPMATH_MODE=BF16",
                code='model = model.float()\nmodel = torch.compile(model, mode="max-autotune")',
            ),
        ),
    )
    emulated = Finding(
        id=fingerprint("ONE009", "matmul", "bf16"),
        code="ONE009",
        name="low-precision-emulated",
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        title="4 bf16 matmuls ran on a CPU that was set up without bf16 instructions",
        message="The CPU reports SVE with 256 bits; `brg:sve_512` was refused for the ISA.",
        count=4,
        evidence=(
            quote(
                13,
                "onednn_verbose,v1,primitive,create:dispatch,matmul,cpu,matmul,brg:sve_512,undef,"
                "src:bf16::blocked:ab::f0 wei:bf16:a:any:any::f0 dst:bf16::blocked:ab::f0,"
                "attr-scratchpad:user attr-post-ops:sum,,64x64:64x64,unsupported isa,"
                "src/cpu/aarch64/matmul/brgemm_matmul.cpp:120",
                "why the fast kernel was not used",
            ),
        ),
        cost=Cost(ms=102.2, share=0.23, basis="upper_bound", of="the time in oneDNN"),
        advice=(Advice(text="Compare with float32 before using bfloat16 on this machine."),),
    )
    hint = Finding(
        id=fingerprint("GRD001", "fn"),
        code="GRD001",
        name="guard-latency-high",
        severity=Severity.INFO,
        title="Checking the guards of `fn` takes 290 us per call",
        message="",
        where=Where(file="/home/ana/proj/seed.py", line=9),
        evidence=(quote(195, "Guard eval latency = 290.40 us"),),
    )
    note = Finding(
        id=fingerprint("ONE019", "all"),
        code="ONE019",
        name="verbose-summary",
        severity=Severity.NONE,
        title="13 executions of 3 primitives took 444 ms",
        message="",
    )
    reorder = Finding(
        id=fingerprint("ONE003", "reorder"),
        code="ONE003",
        name="weight-reorder-every-iteration",
        severity=Severity.WARNING,
        title="A weight is reordered in every call",
        message="",
        suppressed_by="ENV001",
    )
    verdicts = (
        verdict("ONE001", "reference-kernel-dispatch", Outcome.FIRED),
        verdict("ONE003", "weight-reorder-every-iteration", Outcome.FIRED),
        verdict("ONE009", "low-precision-emulated", Outcome.FIRED),
        verdict("GRD001", "guard-latency-high", Outcome.FIRED),
        verdict("ONE019", "verbose-summary", Outcome.FIRED),
        verdict("ONE006", "primitive-cache-thrash", Outcome.QUIET),
        verdict("RCP001", "recompile-limit-hit", Outcome.ABSENT, 'TORCH_LOGS="recompiles"'),
        verdict("RCP004", "int-argument-specialised", Outcome.ABSENT, 'TORCH_LOGS="recompiles"'),
        verdict("GBR001", "scalar-from-tensor", Outcome.ABSENT, 'TORCH_LOGS="graph_breaks"'),
        verdict("TRC001", "gpu-idle", Outcome.ABSENT, "a trace of torch.profiler"),
        verdict(
            "IND018", "fusion-refused", Outcome.CRASHED, reason="KeyError: 'buf0' (check, line 9)"
        ),
    )
    keys = ("primitive", "impl", "dtypes", "shape", "count", "ms", "share")
    rows = [
        dict(zip(keys, values, strict=True))
        for values in (
            ("inner_product", "ref:any", "bf16", "mb64ic64oc64", 4, 339.3499, 0.764),
            ("matmul", "gemm:acl", "bf16", "64x64:64x64", 4, 102.1661, 0.23),
            ("reorder", "jit:uni", "bf16", "64x64", 5, 3.0015, 0.0067),
        )
    ]
    return make_report(
        slow, emulated, hint, note, reorder, verdicts=verdicts, tables={"primitives": rows}
    )


def verdict(code: str, name: str, outcome: Outcome, needs: str = "", reason: str = "") -> Verdict:
    return Verdict(
        code=code, name=name, verdict=outcome, needs=(needs,) if needs else (), reason=reason
    )


def recompiles() -> Report:
    """One function compiled anew for every integer that it is called with."""
    findings = [
        Finding(
            id=fingerprint("RCP001", "head"),
            code="RCP001",
            name="recompile-limit-hit",
            severity=Severity.ERROR,
            title="`head` reached the recompile limit (8) and now runs without compilation",
            message=(
                "Each of the 8 compilations failed on the same guard, `name == 'layer_7'`: the "
                "function is compiled again for every name.\n\nAll further calls run eagerly."
            ),
            count=8,
            where=Where(file="/home/ana/proj/t_guards.py", line=14, function="head"),
            evidence=(
                quote(
                    77,
                    "torch._dynamo hit config.recompile_limit (8)",
                    path="/home/ana/proj/logs/serve.log",
                ),
                quote(
                    78,
                    "   function: 'head' (/home/ana/proj/t_guards.py:14)",
                    path="/home/ana/proj/logs/serve.log",
                ),
                quote(
                    79,
                    "   last reason: 0/7: name == 'layer_7'",
                    path="/home/ana/proj/logs/serve.log",
                ),
            ),
            cost=Cost(ms=14200, basis="estimated"),
            advice=(
                Advice(
                    text="Pass the module instead of its name, so that the guard holds for all.",
                    code="def head(x, layer):\n    return layer(x)",
                ),
            ),
            confirmation=Confirmation.model_validate({"state": "confirmed", "speedup": 12.3}),
        )
    ]
    for number, (name, guard) in enumerate(
        [("fn", "n == 2"), ("<lambda>", "s == 0.5"), ("forward", "tensor 'x' size mismatch")]
    ):
        findings.append(
            Finding(
                id=fingerprint("RCP004", name),
                code="RCP004",
                name="int-argument-specialised",
                severity=Severity.WARNING,
                title=f"`{name}` is compiled anew for every value of its argument",
                message=f"The guard `{guard}` fails in every other call.",
                count=3 + number,
                where=Where(file="/home/ana/proj/recompiles.py", line=8 + number, function=name),
                evidence=(
                    quote(2, f"Recompiling function {name} in /home/ana/proj/recompiles.py:8"),
                    quote(3, "    triggered by the following guard failure(s):"),
                    quote(
                        4,
                        f"    - 0/0: {guard}" + " " * 60 + "# if n >= 0:  # proj/recompiles.py:10",
                    ),
                ),
                advice=(
                    Advice(
                        text="Let the argument be dynamic.",
                        setting="torch._dynamo.config.specialize_int = False",
                        since="2.1",
                    ),
                ),
            )
        )
    tables = {
        "recompiles": [
            {"function": "head", "frame": "0", "count": 8, "guard": "name == 'layer_7'"},
            {"function": "fn", "frame": "1", "count": 2, "guard": "n == 2"},
        ]
    }
    return make_report(
        *findings,
        inputs=(
            make_input("/home/ana/proj/logs/serve.log", kinds={"recompiles": 31}, lines=12431),
            make_input("rank1.log", truncated=True, writers=("rank0", "rank1")),
        ),
        coverage=make_coverage(
            lines=12644,
            understood_lines=11950,
            known_lines=31,
            unread_lines=5,
            program_lines=658,
            share=0.99699,
            known=(
                KnownSite(site="torch/_inductor/scheduler.py:4995", count=21, first_line=44),
                KnownSite(site="torch/_dynamo/utils.py:12", count=10, first_line=90),
            ),
            unread=(
                UnreadText(
                    kind="guards",
                    text="| +- NOVEL_GUARD: <what>?",
                    count=5,
                    first_line=812,
                    reason="line 1, column 6: unexpected NOVEL_GUARD",
                ),
            ),
            notes=("rank1.log: lines after 100 MB were not kept for quoting",),
        ),
        tables=tables,
    )


def autotune() -> Report:
    """Tables of the autotuner, and nothing to do about them."""
    rows = [
        {
            "operation": "packed_linear(128x512, 1459233x1, 512x512)",
            "winner": "cpp_CppMicroGemmFP32Vec_0",
            "best_ms": 133.2662,
            "library_ms": 182.8809,
            "choices": 2,
            "ms": 39329.0,
        },
        {
            "operation": "linear_unary(64x512, 64x512, 64)",
            "winner": "_linear_pointwise",
            "best_ms": 0.0324,
            "library_ms": 0.0324,
            "choices": 2,
            "ms": 1204.0,
        },
    ]
    return make_report(
        inputs=(make_input(kinds={"autotune": 2, "output_code": 4}),),
        verdicts=(verdict("TUN001", "implausible-autotune-timing", Outcome.QUIET),),
        tables={"autotune": rows, "something_new": [{"a": 1}, {"b": [1, 2], "a": None}]},
    )


HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "<!-- <script> --><svg/onload=alert(1)>",
    "\x1b[31mred\x1b[0m \x1b]8;;http://evil.example\x07link\x1b]8;;\x07 \x9b31m \x00\x07\x08",
    "x" * 10_000,
    "`a` ``b`` ```c\n```\n# heading\n| a | b |\n[x](http://evil.example) ![i](http://evil.example/i)",
    "@octocat fixes #123 and GH-7, see https://github.com/o/r/issues/1 :tada: $x$ ~~gone~~ *b* _i_",
    (
        "\u202egnp.exe \u2066hidden\u2069 \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 "
        "\u65e5\u672c\u8a9e \U0001f600 e\u0301"
    ),
    "]]> {{ 7*7 }} {% raw %} ${7*7} %s {0} \\ &amp; &#64;",
    "",
)


def hostile() -> Report:
    """Log text that wants to be something else, in every field that can hold it."""
    findings = []
    for number, text in enumerate(HOSTILE):
        findings.append(
            Finding(
                id=fingerprint("LOG001", number),
                code="LOG001",
                name="log-incomplete",
                severity=Severity.NONE if number == 8 else list(Severity)[number % 3],
                title=text or "t",
                message=text,
                where=Where(file=text or "f", line=1, function=text),
                evidence=(quote(1, text, text, text or "p"), quote(10**9, text)),
                cost=Cost(ms=1.0, share=0.5, basis="measured", of=text),
                advice=(
                    Advice(text=text, setting=text, env=text, code=text, since=text, until=text),
                ),
                ignored=text if number == 5 else None,
                confirmation=Confirmation.model_validate({"state": "refuted", "reason": text}),
            )
        )
    bad = HOSTILE[0]
    every = " ".join(HOSTILE)
    return make_report(
        *findings,
        inputs=(make_input(every, kinds={bad: 1}, writers=(bad,)),),
        environment=Environment.model_validate({"torch": bad, "cpu": every, bad: bad}),
        coverage=make_coverage(
            known=(KnownSite(site=every, count=1, first_line=1),),
            unread=(UnreadText(kind=bad, text=every, count=1, first_line=1, reason=bad),),
            known_lines=1,
            unread_lines=1,
            notes=(every,),
        ),
        verdicts=(
            verdict("AAA001", bad, Outcome.ABSENT, bad),
            verdict("AAA002", bad, Outcome.CRASHED, reason=every),
        ),
        tables={bad: [{bad: every, "ms": float("nan"), "share": float("inf"), "list": (1, bad)}]},
    )


def one() -> Report:
    """One finding that says no more than it must."""
    return make_report(
        Finding(
            id="ONE001-000000",
            code="ONE001",
            name="reference-kernel-dispatch",
            severity=Severity.ERROR,
            title="matmul ran on the reference kernel",
            message="",
        )
    )


def clean() -> Report:
    """Nothing to fix."""
    return make_report(
        verdicts=(
            verdict("ONE001", "reference-kernel-dispatch", Outcome.QUIET),
            verdict("RCP001", "recompile-limit-hit", Outcome.ABSENT, 'TORCH_LOGS="recompiles"'),
        )
    )


def empty() -> Report:
    """A report about nothing."""
    return make_report(
        inputs=(),
        environment=Environment(),
        coverage=make_coverage(lines=0, understood_lines=0, program_lines=0),
    )


BUILDERS = {
    builder.__name__: builder
    for builder in (reference, recompiles, autotune, hostile, one, clean, empty)
}


@pytest.fixture(params=sorted(BUILDERS))
def report(request: pytest.FixtureRequest) -> Report:
    """Each of the reports in turn."""
    return BUILDERS[request.param]()


@pytest.fixture
def reports() -> dict[str, Report]:
    """All reports by name."""
    return {name: builder() for name, builder in BUILDERS.items()}


@pytest.fixture
def hostile_texts() -> tuple[str, ...]:
    """Log texts that want to be something else."""
    return HOSTILE
