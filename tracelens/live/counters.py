"""Whether the kernel lets a program count its instructions (``perf_event_open``)."""

from __future__ import annotations

import ctypes
import os
import platform
import struct

__all__ = ["available"]

#: The number of the call, by architecture, and the size of the first version of its structure.
_CALL = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
_SIZE = 64
#: Instructions, of user code only (``exclude_kernel``, ``exclude_hv``).
_HARDWARE, _INSTRUCTIONS, _USER_ONLY = 0, 1, 1 << 5 | 1 << 6


def available() -> bool:
    """Return whether instructions of this process can be counted: often not in a container."""
    number = _CALL.get(platform.machine())
    if number is None or platform.system() != "Linux":
        return False
    wanted = struct.pack("IIQQQQQ", _HARDWARE, _SIZE, _INSTRUCTIONS, 0, 0, 0, _USER_ONLY).ljust(
        _SIZE, b"\0"
    )
    try:
        file = ctypes.CDLL(None, use_errno=True).syscall(
            ctypes.c_long(number), wanted, 0, -1, -1, ctypes.c_ulong(0)
        )
    except (OSError, AttributeError):
        return False
    if file < 0:
        return False
    os.close(file)
    return True
