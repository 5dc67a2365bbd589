"""Which versions go together: torch, Triton, Python and CUDA.

Read from the metadata of the wheels (``Requires-Dist``, ``Requires-Python``) and the release notes
of torch; where a version is not listed, ``pip show torch`` names its own Triton.
"""

from __future__ import annotations

__all__ = ["CUDA_OF_ARCH", "PYTHON_SINCE", "SOURCE", "TRITON_OF", "TRITON_OF_WINDOWS", "pairs"]

SOURCE = "Requires-Dist of the torch wheels, and RELEASE.md of pytorch/pytorch"
#: torch -> triton (on Linux; torch 2.0 to 2.15).
TRITON_OF = {
    "2.0": "2.0",
    "2.1": "2.1",
    "2.2": "2.2",
    "2.3": "2.3",
    "2.4": "3.0",
    "2.5": "3.1",
    "2.6": "3.2",
    "2.7": "3.3",
    "2.8": "3.4",
    "2.9": "3.5",
    "2.10": "3.6",
    "2.11": "3.6",
    "2.12": "3.7",
    "2.13": "3.7",
    "2.14": "3.8",
    "2.15": "3.9",
}
#: torch -> what to ask pip for on Windows, where others build Triton.
TRITON_OF_WINDOWS = {
    torch: f"triton-windows<{triton.partition('.')[0]}.{int(triton.partition('.')[2]) + 1}"
    for torch, triton in TRITON_OF.items()
    if triton >= "3.0"
}
#: Python -> the first torch whose Dynamo knows it.
PYTHON_SINCE = {"3.11": "2.1", "3.12": "2.4", "3.13": "2.6", "3.14": "2.10", "3.15": "2.15"}
#: The compute capability -> the first CUDA whose ptxas knows it.
CUDA_OF_ARCH = {
    "sm_86": "11.1",
    "sm_87": "11.4",
    "sm_89": "11.8",
    "sm_90": "11.8",
    "sm_90a": "12.0",
    "sm_100": "12.8",
    "sm_100a": "12.8",
    "sm_101": "12.8",
    "sm_103": "12.9",
    "sm_103a": "12.9",
    "sm_110": "13.0",
    "sm_110a": "13.0",
    "sm_120": "12.8",
    "sm_120a": "12.8",
    "sm_121": "12.9",
    "sm_121a": "12.9",
}


def pairs(since: str = "2.4") -> str:
    """Return the table of torch and Triton in a line: ``2.8: 3.4, 2.9: 3.5``."""
    start = tuple(map(int, since.split(".")))
    rows = [
        f"{torch}: {triton}"
        for torch, triton in TRITON_OF.items()
        if tuple(map(int, torch.split("."))) >= start
    ]
    return ", ".join(rows)
