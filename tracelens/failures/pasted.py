"""A few lines that somebody copied: an error of torch, compiled or not, and nothing else."""

from __future__ import annotations

import re
from itertools import takewhile

from tracelens.failures.home import line_of
from tracelens.failures.messages import is_warned, raised_by
from tracelens.failures.refusals import is_own, refusal
from tracelens.failures.words import is_error, is_news, of_torch
from tracelens.late import late
from tracelens.logs.failures import Episode, Raised, Traced

__all__ = ["LAST_LINES", "STOPS", "alone", "is_pasted", "refused_line"]

#: A last traceback after which so much more was printed ended the program.
LAST_LINES = 40

#: What does not belong to a message any more.
STOPS = re.compile(
    r"\s*$|from user code|Set TORCH|You can suppress|The above exception|During handling"
    r"|Traceback \(|Original traceback|For more (?:info|details)|User [Ss]tack"
    r"|\s*The following call|While executing|\s*\\?`\\?`\\?`\w*\s*$"
    # How the traceback of another process ends.
    r"|\"\"\"\s*$"
    r"|frame #\d+: |Exception raised from \w+ at "
    r"|Command (?:exited with non-zero status|terminated by signal) \d+\s*$"
    r"|# ?tracelens: |tracelens: |model name\s*: |(?:flags|Features)\s*: |onednn_verbose,"
)
#: Files of torch; lines of a message that stands alone.
_IN_TORCH = late(r"(?:^|[/\\])(?:torch|unsloth(?:_zoo|_compiled_cache))[/\\]")
MAX_ALONE = 30
#: What tells that a program runs models of torch.
_ON_TORCH = late(
    r"-packages[/\\](?:accelerate|bitsandbytes|deepspeed|diffusers"
    r"|lightning|peft|pytorch_lightning|safetensors|sglang|timm|transformers|trl|vllm|xformers)[/\\]"
)
_RUNS_TORCH = late(
    r"(?<![A-Za-z])torch|[Tt]riton\b|TORCH_USE_CUDA_DSA|\bc10::|" + _ON_TORCH.pattern
)
#: Lines below the last exception of a long input, its own and what is printed at an exit, and of
#: the code between the last frame and its exception.
MAX_BELOW, MAX_CODE = 20, 4
#: A guard that did not fit, in the words of an error.
_REASON = late(r"(?:last reason: |^\s{0,8}- )\d{1,9}/\d{1,9}: ")
#: A line of a program's text.
_IMPORT = late(r"\s*(?:import [\w.]+(?: as \w+)?\s*$|from [\w.]+ import )")


def is_pasted(last: Raised, episode: Episode, frames: list[Traced]) -> bool:
    """Tell whether a few lines end in an error of torch, compiled or not: someone asks about it.

    So do many lines that end in a traceback out of torch.
    """
    if not episode.short:
        return _is_end(last, episode, frames)
    if episode.torch:
        return _is_known(last, episode) and not _says_little(last)
    if any(line_of(item).startswith("TORCH_LOGS Info") for item in episode.items):
        return False  # TORCH_LOGS=help ends so
    if any(_IN_TORCH.search(one.place) or _ON_TORCH.search(one.place) for one in frames[-4:]):
        return True
    said = f"{last.message}{last.bare}"
    if _is_known(last, episode):
        return True
    own = not frames and "." not in last.errors[-1]
    return own and (of_torch(said) or raised_by(said) is not None)


def _is_end(last: Raised, episode: Episode, frames: list[Traced]) -> bool:
    """Tell whether the input ends in a traceback out of torch, and torch logged nothing in it."""
    below = len(episode.items) - episode.items.index(last)
    if episode.after is None or episode.torch or below + episode.after > MAX_BELOW:
        return False
    if not frames or not 0 < last.at - frames[-1].at <= MAX_CODE:
        return False  # what it follows by chance
    out = any(_IN_TORCH.search(frame.place) for frame in frames[-4:])
    return out or _is_known(last, episode)


def _is_known(last: Raised, episode: Episode) -> bool:
    said = f"{last.message}{last.bare}{_more(last, episode)}"
    return is_refused(f"{last.errors[-1]}: {said}", episode)


def _says_little(last: Raised) -> bool:
    """Tell whether it is a check in a library that failed, whatever brought it about."""
    found = refusal(last.message)
    return found is not None and found.of == "library"


def is_refused(message: str, episode: Episode) -> bool:
    """Tell whether torch, or what runs on it, refuses something in these words."""
    found = refusal(message)
    if found is None:
        return False
    return is_own(message) or any(_RUNS_TORCH.search(line_of(item)) for item in episode.items)


def _more(last: Raised, episode: Episode) -> str:
    """Return the next lines where a message begins below its exception's name."""
    if last.message or last.bare.strip(": "):
        return ""
    at = episode.items.index(last) + 1
    return " ".join(line_of(item) for item in episode.items[at : at + 2])


def alone(episode: Episode, raised: list[Raised], frames: list[Traced]) -> int:
    """Return the line of a few that is a message of torch's alone; below 0: none."""
    items = episode.items
    if (said := refused_line(episode, raised)) >= 0:
        return said
    if not episode.short or episode.torch or raised or frames or len(items) > MAX_ALONE:
        return -1
    if any(item.logged or "Warning" in line_of(item) for item in items):
        return -1
    lines = [line_of(item) for item in items]
    if any(map(_IMPORT.match, lines)) or is_news(lines):
        return -1
    for n, line in enumerate(lines):
        if is_warned(line) or _REASON.search(line):
            continue
        if is_error(line, _below(lines, n)) or raised_by(line) or is_refused(line, episode):
            return n
    return -1


def refused_line(episode: Episode, raised: list[Raised]) -> int:
    """Return the line of a few that only torch refuses something with; below 0: none.

    The traceback that stands there, too, has no end, or is that of a launcher.
    """
    if not episode.short or raised:
        return -1
    lines = [line_of(item) for item in episode.items]
    if any("Warning" in line for line in lines) or any(map(_IMPORT.match, lines)):
        return -1
    for n, line in enumerate(lines):
        found = None if episode.items[n].logged else refusal(line)
        if found is not None and is_own(line):
            return n
    return -1


def _below(lines: list[str], at: int) -> str:
    """Return the two lines with which a sentence may go on."""
    return " ".join(takewhile(lambda line: not STOPS.match(line), lines[at + 1 : at + 3]))
