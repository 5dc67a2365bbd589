"""What people paste beside torch's own records: servers, collectives, AMD's libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, analyze

BAR = "  0%|" + 60 * " " + "| 0/23 [00:00<?, ?it/s]"


def _told(text: str, tmp_path: Path) -> list[Finding]:
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    return list(analyze(str(path)).told)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (
            (
                "cuda eval  densenet121                 WARNING torchdynamo.convert_frame: "
                "torchdynamo hit config.cache_size_limit (64)\n"
                "   function: 'forward' (/home/ana/proj/norm.py:33)\n"
                "   reasons:  ['___check_obj_id(self, 140082261322960)']\n"
            ),
            "RCP001",
            "`forward` hit the limit of 64 entries",
        ),
        (
            (
                "MIOpen(HIP): Warning [IsEnoughWorkspace] [GetSolutionsFallback WTI] Solver "
                "<GemmFwdRest>, workspace required: 91054080, provided ptr: 0000000000000000 "
                "size: 0 What is that?\n"
            ),
            "ENV011",
            "want of workspace",
        ),
        (
            (
                "Collective WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
                "Timeout(ms)=1000000) raised the following async exception: NCCL error: unhandled "
                "system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.25.1\n"
                "ncclSystemError: System call (e.g. socket, malloc) or external library call "
                "failed or device error. \n"
            ),
            "ERR000",
            "a call of NCCL failed",
        ),
        (
            (
                "n1:812:901 [5] misc/socket.cc:483 NCCL WARN socketStartConnect: Connect to "
                "10.0.0.82<38455> failed : Connection refused\n"
            ),
            "LOG001",
            "network that NCCL chose: socketStartConnect",
        ),
    ],
)
def test_what_is_pasted_is_answered(text: str, code: str, words: str, tmp_path: Path) -> None:
    first = _told(text, tmp_path)[0]
    assert first.code == code
    assert words in first.title


def test_a_connection_that_nccl_cannot_make_is_one_of_an_interface(tmp_path: Path) -> None:
    error = "RuntimeError: NCCL error in: /pt/ProcessGroupNCCL.cpp:1331, unhandled system error\n"
    refused = f"{error}Last error:\nsocketStartConnect: Connect to 127.0.0.1<4506> failed : abort\n"
    warned = "n1:812:901 [5] NCCL WARN socketStartConnect: Connect to 10.0.0.8<3> failed\n"
    for text in (refused, warned):
        advice = _told(text, tmp_path)[0].advice
        assert any("NCCL_SOCKET_IFNAME" in (one.env or "") for one in advice), text
    ended = "socketProgress: Connection closed by remote peer n2<4>\n"
    others = (f"{error}Last error:\n{ended}", f"n1:812:901 [5] NCCL WARN {ended}")
    for text in (error, *others, "n1:812:901 [5] NCCL WARN Cuda failure 'out of memory'\n"):
        advice = _told(text, tmp_path)[0].advice
        assert not any("NCCL_SOCKET_IFNAME" in (one.env or "") for one in advice), text


def test_the_line_of_a_server_is_read_behind_a_bar(tmp_path: Path) -> None:
    begin = "[2025-07-01 12:00:00 TP0] Capture cuda graph begin. This can take several minutes."
    end = "[2025-07-01 12:00:48 TP0] Capture cuda graph end. Time elapsed: 47.72 s."
    path = tmp_path / "pasted.txt"
    path.write_text(f"{BAR}{begin}\n{BAR}{end}\n", encoding="utf-8")
    assert "CMP006" in {finding.code for finding in analyze(str(path)).findings}


def test_the_line_of_a_launcher_is_a_failure(tmp_path: Path) -> None:
    text = (
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 3 "
        "(pid: 429) of binary: /usr/bin/python\n"
    )
    first = _told(text, tmp_path)[0]
    assert first.code == "ERR000"
    assert first.title.startswith("a process that torchrun had started failed")


@pytest.mark.parametrize("mark", ["+", "-"])
def test_a_table_of_the_profiler_in_a_diff_is_read(mark: str, tmp_path: Path) -> None:
    text = (
        "           aten::addmm        87.81%        3.613s        91.90%        3.781s      "
        "12.604ms           300  \n"
    )
    assert "`aten::addmm`" in _told(f"{mark}{text}", tmp_path)[0].message


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (
            (
                "[rank0]:[E1206 18:44:16.994932383 ProcessGroupNCCL.cpp:1709] [PG 1 Rank 0] "
                "Timeout at NCCL work: 53, last enqueued NCCL work: 55, last completed NCCL work: "
                "52.\n"
                "[rank0]:[E1206 18:44:16.994957078 ProcessGroupNCCL.cpp:621] [Rank 0] Some NCCL "
                "operations have failed or timed out.\n"
            ),
            "ERR029",
            "a collective timed out",
        ),
        (
            (
                "torch.distributed.DistBackendError: [4] is setting up NCCL communicator and "
                "retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but "
                "store->get('0') got error: Socket Timeout\n"
            ),
            "ERR000",
            "the processes did not find each other",
        ),
        (
            (
                "skipping cudagraphs due to deterministic index put. Found from : \n"
                '   File "/home/ana/proj/model.py", line 12, in forward\n     y[i] = x\n'
            ),
            "CGR003",
            "deterministic index put in `y[i] = x` cannot be recorded",
        ),
        (
            "n1:180458:182539 [1] NCCL INFO Connected all rings\n",
            "LOG001",
            "lines of NCCL's own log",
        ),
        (
            (
                f"prim_kind    shapes{' ' * 60}ncalls  time(ms)  overall%\n"
                "convolution  mb5_ic64oc64_ih56oh56kh3sh1dh0ph1  800  204.16  16.53\n"
            ),
            "LOG001",
            "verbose_converter",
        ),
    ],
)
def test_what_is_left_of_a_log_is_answered(
    text: str, code: str, words: str, tmp_path: Path
) -> None:
    first = _told(text, tmp_path)[0]
    assert first.code == code
    assert words in first.title
