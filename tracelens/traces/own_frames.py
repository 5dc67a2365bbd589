"""Whose line of Python it is that a trace names: one that somebody would change.

The profiler shortens files by where packages lie: what is left of ``threading.py`` or of
``numpy/fft/_pocketfft.py`` says nothing of it but its name. What calls such code is meant.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracelens.dynamo import user_code
from tracelens.late import late

__all__ = ["called", "in_model", "mine", "of_profiler"]

#: Of the standard library what computes, waits or writes; files of programs have other names.
_STANDARD = (
    r"asyncio|codecs|concurrent|contextlib|copy|csv|encodings|functools|gzip|http|importlib|json"
    r"|logging|lzma|multiprocessing|pathlib|pickle|queue|random|re|selectors|shutil|socket|ssl"
    r"|subprocess|tarfile|tempfile|threading|urllib|zipfile"
)
#: Packages that are called from models and loaders, and that nobody changes.
_PACKAGES = (
    r"PIL|albumentations|cv2|h5py|imageio|librosa|matplotlib|numpy|pandas|pyarrow|requests|scipy"
    r"|skimage|sklearn|soundfile|tensorboard|tqdm|wandb"
)
_FOREIGN = late(rf"(?:.*-packages/)?(?:(?:{_STANDARD}|{_PACKAGES})/|(?:{_STANDARD})\.py\Z)")
_PROFILER = late(r"(?:^|/)torch/(?:profiler/|autograd/profiler)")
_MODULE = late(r"(?:^|/)torch/nn/modules/module\.py\(\d+\): _(?:wrapped_)?call_impl$|\): forward$")
_LOADS = "torch/utils/data/"
_BUILTIN = late(r"<built-in (?:function|method) (\w+)")
#: A function of a module, whose name the profiler leaves out.
_GARBAGE = "<built-in function collect>"


def mine(frames: Sequence[str]) -> str:
    """Return the innermost of the frames that somebody would change."""
    for frame in frames:
        file, _, rest = frame.rpartition("(")
        if _FOREIGN.match(file.replace("\\", "/")):
            continue
        function = rest.partition("): ")[2]
        if function == "__call__" and "/" not in file:  # of a class beside the program
            function = ""
        if user_code.distance(file, function) == 0:
            return frame
    return ""


def of_profiler(frames: Sequence[str]) -> str:
    """Return the innermost frame of the profiler: what it calls is no work of the program's."""
    return next((f for f in frames if _PROFILER.search(f.replace("\\", "/"))), "")


def in_model(frames: Sequence[str]) -> bool:
    """Tell whether a module of torch is called in one of the frames, and not to prepare data."""
    short = [frame.replace("\\", "/") for frame in frames]
    return any(map(_MODULE.search, short)) and not any(_LOADS in frame for frame in short)


def called(name: str) -> str:
    """Return the name of a function that is written in C, as a program calls it."""
    if name == _GARBAGE:
        return "gc.collect"
    found = _BUILTIN.match(name)
    return found[1] if found else ""
