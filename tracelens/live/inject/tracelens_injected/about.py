"""Facts about torch and the machine, as this process sees them."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .hooks import Hooks
from .journal import Journal

__all__ = ["first", "install", "last", "sources"]


def install(hooks: Hooks, journal: Journal) -> None:
    """Tell what is known when torch has been imported, and the rest at the end."""

    def imported(torch: ModuleType) -> None:
        journal.open()
        journal.tell(about=first(torch))
        journal.at_end.append(lambda: journal.tell(about=last(torch)))
        journal.at_end.append(lambda: journal.tell(sources=sources()))

    hooks.after("torch", imported)


def first(torch: ModuleType) -> dict[str, Any]:
    """Return what is known as soon as torch is there."""
    return _gathered(
        {
            "torch": lambda: str(torch.__version__),
            "torch_git": lambda: torch.version.git_version,
            "torch_debug": lambda: torch.version.debug,
            "torch_config": lambda: torch.__config__.show().strip(),
            "cuda": lambda: torch.version.cuda,
            "hip": lambda: torch.version.hip,
            "affinity": lambda: sorted(os.sched_getaffinity(0)),
            "platform": platform.platform,
            "machine": platform.machine,
            "environment": _variables,
        }
    )


def last(torch: ModuleType) -> dict[str, Any]:
    """Return facts that asking for too early might fix, or that the program may change."""
    return _gathered(
        {
            "threads": torch.get_num_threads,
            "interop_threads": torch.get_num_interop_threads,
            "parallel_info": lambda: torch.__config__.parallel_info().strip(),
            "mkldnn": torch.backends.mkldnn.is_available,
            # Attributes that old versions lack are looked up when asked for.
            "cpu_capability": lambda: str(torch.backends.cpu.get_cpu_capability()),
            "float32_matmul_precision": torch.get_float32_matmul_precision,
            "devices": lambda: _devices(torch),
        }
    )


def sources() -> list[str]:
    """Return the files of the code that this process has read: the user's, and which libraries.

    Of an installed package the first file stands for all, and the one that says its version.
    """
    standard = os.path.dirname(os.__file__) + os.sep
    mine = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
    found = set()
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if not isinstance(path, str) or not path.endswith(".py"):
            continue
        package, _, rest = name.partition(".")
        installed = package == "torch" or "site-packages" in path or "dist-packages" in path
        if installed and rest not in ("", "version", "_version"):
            continue
        path = os.path.abspath(path)
        if installed or not path.startswith((standard, mine)):
            found.add(path)
    return sorted(found)


def _devices(torch: ModuleType) -> Any:
    """Return the accelerators, if the program has used one: asking would initialize them."""
    if not torch.cuda.is_initialized():
        return None
    return [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]


#: Beginnings of variables that change what torch does, and that hold no secrets.
_TELLING = (
    "ATEN_", "CUDA_VISIBLE", "DNNL_", "GOMP_", "HIP_VISIBLE", "KMP_", "LD_PRELOAD", "MKL_", "NCCL_",
    "OMP_", "ONEDNN_", "PYTORCH_", "TORCHDYNAMO_", "TORCHINDUCTOR_", "TORCH_", "TRITON_",
)  # fmt: skip


def _variables() -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if name.startswith(_TELLING)}


def _gathered(facts: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    found = {}
    for name, ask in facts.items():
        try:
            value = ask()
        except Exception:
            continue
        if value is not None:
            found[name] = value
    return found
