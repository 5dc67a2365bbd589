"""What names people, machines and secrets, and the words that look like such and stay.

Every pattern is linear: bounded repeats, and no repeat within a repeat that could share its text.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable

from tracelens.late import late
from tracelens.render._machines import MACHINES
from tracelens.render._people import FOLDERS, SITE, STRONG
from tracelens.render._tokens import TOKENS

__all__ = ["KINDS", "NOBODY", "is_common", "stays"]

KINDS = (*SITE, *STRONG, *FOLDERS, *TOKENS, *MACHINES)
#: Names that are no person's: shared directories, and accounts that every machine has.
NOBODY = frozenset(
    """
    shared public default linuxbrew root data datasets dataset models model cache tmp temp common
    projects project proj src checkpoints ckpt logs log runs results output outputs imagenet coco
    bert gpt2 llama mistral qwen resnet vit unet whisper wikitext cifar10 mnist
    pip conda envs bin lib site-packages torch pytorch users home
    """.split()  # noqa: SIM905 -- read as a list of words
) | {"all users"}
#: Words that torch, its logs and everybody's code use: no bare mention of them is replaced.
_COMMON = frozenset(
    """
    admin agent aten auto backend backward batch build builder buffer call cache code compile conv
    cpp cpu cuda data debug default dev device dynamo eager embed error example false forward
    frame fuse fused gelu gpu graph guard head home host inductor init inner input int jovyan
    kernel key layer lib linear local log logger loss main math matmul mha model module name
    nobody node none null optimizer output outer param parameter path pool position proj project
    public python rank relu root run runner scale secret self server service shape shared size
    softmax source start step stream string sum system task temp template tensor test tests token
    tokenizer tool torch trace train training triton true ubuntu unknown user users value values
    vector version view weight weights work worker wrapper float bool str

    all aot autograd autotune autotuning bench benchmark benchmarks break breaks bytecode caching
    cmd codegen compiled counters cudagraph cudagraphs ddp dir dispatch distributed dump dynamic env
    exec explain freezing fusion generated graphs grep guards hint hints inputs level max memory
    metrics miopen mkl mode nsys omp onednn op ops overlap perf precision print printed profile
    profiler recompile recompiles report schedule serve sglang stack static stats table thread
    threads tracelens utils verbose vllm
    """.split()  # noqa: SIM905 -- read as a list of words
)
#: Hosts that anybody may know.
_PUBLIC = late(
    r"(?i)(?:^|\.)(?:pytorch\.org|github\.com|github\.io|githubusercontent\.com|python\.org|"
    r"pypi\.org|huggingface\.co|nvidia\.com|intel\.com|arm\.com|amd\.com|anaconda\.(?:org|com)|"
    r"google\.com|microsoft\.com|w3\.org|readthedocs\.(?:io|org)|stackoverflow\.com|arxiv\.org|"
    r"uxlfoundation\.org|openai\.com|schemastore\.org|oasis-open\.org|gnu\.org|apache\.org)$|"
    r"^docs\.[\w.-]{1,200}$|^(?:www\.)?example\.(?:org|com|net)$|^localhost$|^\d{1,3}(?:\.\d{1,3}){3}$"
)
#: Whose repositories anybody may know.
_REPOSITORIES = late(
    r"(?i)(?:pytorch|uxlfoundation|oneapi-src|huggingface|triton-lang|nvidia|intel|vllm-project)/"
)
#: Before a digest: it is then no secret.
_DIGEST = late(
    r"(?i)(?:commit|git|sha|hash|digest|cache|md5|key|fingerprint|revision|\brev|build|version|"
    r"checksum|blob|graph|kernel|payload|uuid|trace)[^\s]{0,24}[\s'\"=:(\[]{0,4}$"
)
_TYPES = late(
    r"(?:torch|self|cls|os|np|typing|config|args|cfg|kwargs|L)[.\[(]|"
    r"(?:Tensor|Optional|List|Dict|Any|Union|str|int|bool|float|bytes|None|none|null|True|False|"
    r"true|false|Literal|tuple|list|dict)(?![\w-])"
)


def is_common(name: str) -> bool:
    """Tell whether a name is a word that means something else where it stands alone."""
    return name.lower() in _COMMON | NOBODY


def stays(label: str, name: str, match: re.Match[str]) -> bool:
    """Tell whether what a pattern has found is something that anybody may see."""
    test = _TESTS.get(label)
    return name.startswith("<") or (test is not None and test(name, match))


def _is_nobody(name: str, match: re.Match[str]) -> bool:
    del match
    return name.lower() in NOBODY


def _is_public(name: str, match: re.Match[str]) -> bool:
    del match
    return bool(_PUBLIC.search(name) or _TYPES.match(name)) or is_common(name)


def _is_known_repository(name: str, match: re.Match[str]) -> bool:
    del match
    return bool(_REPOSITORIES.match(name))


def _is_public_login(name: str, match: re.Match[str]) -> bool:
    """Tell whether it is no person's address: ``git@github.com``."""
    user, _, host = name.partition("@")
    return user == "git" and _is_public(host, match)


def _is_other(name: str, match: re.Match[str]) -> bool:
    """Tell whether a user is nobody, or a pseudonym already."""
    return _is_nobody(name, match) or bool(re.fullmatch(r"user\d{0,6}", name))


def _is_digest(name: str, match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start("name") - 48) : match.start("name")]
    return bool(_DIGEST.search(before)) or not _is_random(name)


def _is_no_secret(name: str, match: re.Match[str]) -> bool:
    """Tell whether the value of a key such as ``token`` is a type, a name or a number."""
    if _TYPES.match(name) or name.lower() in _COMMON:
        return True
    key = match.groupdict(default="")["keep"]
    if re.search(r"(?i)pass|secret|pw|account|sig|api|access|private|credential|authori", key):
        return False
    env = key.rstrip("=:'\" ").isupper()
    return not (env or any(map(str.isdigit, name)) or len(name) >= 16) or name.isdigit()


def _is_random(text: str) -> bool:
    """Tell whether a text is drawn rather than written: digits and letters in no order."""
    plain = text.rstrip("=")
    digits = sum(map(str.isdigit, plain))
    if not 3 <= digits < len(plain):
        return False
    count = Counter(plain)
    bits = -sum(n / len(plain) * math.log2(n / len(plain)) for n in count.values())
    if re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", plain):
        return bits > 3
    cases = any(map(str.islower, plain)) and any(map(str.isupper, plain))
    changes = len(re.findall(r"[A-Za-z](?=\d)|\d(?=[A-Za-z])|[a-z](?=[A-Z])|[A-Z](?=[a-z])", plain))
    return cases and bits > 4 and changes >= len(plain) // 4


_TESTS: dict[str, Callable[[str, re.Match[str]], bool]] = {
    "home": _is_nobody,
    "user": _is_other,
    "folder": _is_nobody,
    "host": _is_public,
    "url": _is_public,
    "mail": _is_public_login,
    "login": _is_public_login,
    "repository": _is_known_repository,
    "key": _is_no_secret,
    "digest": _is_digest,
}
