"""What to do where CUPTI, through which the profiler records the GPU, does not start."""

from __future__ import annotations

import re

from tracelens.remedies import Remedy

__all__ = ["ERROR", "NOT_RECORDED", "REFUSED"]

#: What failed; the hint that names an error which may be seen is not one.
ERROR = re.compile(r"(?<=failed with error )CUPTI_ERROR_[A-Z_]{3,60}")
_NO_INIT = "CUPTI_ERROR_NOT_INITIALIZED"
_NO_RIGHT = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"

REFUSED = (
    Remedy(
        id="own-libraries",
        text="A library of another origin is in CUPTI's place or in the driver's: take folders "
        "of CUDA out of `LD_LIBRARY_PATH`, `.../stubs` (a libcuda that only links) and "
        "`.../extras/CUPTI` first. torch finds its own CUPTI without it.",
        when="the profiler says CUPTI_ERROR_NOT_INITIALIZED",
        applies=lambda data: data.error == _NO_INIT,
        code="echo $LD_LIBRARY_PATH; env -u LD_LIBRARY_PATH python your_program.py",
        basis="untestable",
        proof="reports of this error; it needs a GPU",
    ),
    Remedy(
        id="alone",
        text="Let one profiler run at a time: no Nsight (`nsys`, `ncu`), no DCGM and no other "
        "tool that injects CUPTI (`CUDA_INJECTION64_PATH`) beside torch's.",
        when="the profiler says that CUPTI has a subscriber, or not why it did not start",
        applies=lambda data: data.refused and data.error not in {_NO_INIT, _NO_RIGHT},
        proof="https://docs.nvidia.com/cupti/main/main.html",
    ),
    Remedy(
        id="permit",
        text="Permit counters to users: by the driver's option below, or in containers with "
        "`--cap-add=SYS_ADMIN`.",
        when="the profiler says CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, or not why",
        applies=lambda data: data.refused and data.error in {"", _NO_RIGHT},
        code="echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | sudo tee "
        "/etc/modprobe.d/nvidia-profiling.conf  # then restart",
        proof="https://developer.nvidia.com/"
        "nvidia-development-tools-solutions-err-nvgpuctrperm-cupti",
    ),
)
NOT_RECORDED = Remedy(
    id="not-recorded",
    text="Look for CUDA in what this prints: without it, this torch records no GPU. With it, look "
    "on stderr for warnings of Kineto or CUPTI, end what else holds CUPTI (Nsight, DCGM, another "
    "profiler), and see that counters are not for administrators only.",
    when="CUDA was asked for, and nothing of it is in the table",
    applies=lambda data: data.asked and not (data.refused or data.xpu),
    code="print(torch.profiler.supported_activities())",
    since="1.8.1",
    basis="untestable",
    proof="needs a GPU whose CUPTI cannot be used",
)
