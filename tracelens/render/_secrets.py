"""What names people, machines and secrets: patterns, and the words that look like such and stay.

Every pattern is linear: bounded repeats, and no repeat within a repeat that could share its text.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = ["KINDS", "NOBODY", "SITE", "STRONG", "Kind", "is_common", "kind", "stays"]

_NAME = r"(?P<name>[^\s/\\:;,'\"()\[\]{}<>|=@]{1,64})"
_BYTE = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
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
    """.split()  # noqa: SIM905 -- read as a list of words
)
#: Hosts that anybody may know.
_PUBLIC = re.compile(
    r"(?i)(?:^|\.)(?:pytorch\.org|github\.com|github\.io|githubusercontent\.com|python\.org|"
    r"pypi\.org|huggingface\.co|nvidia\.com|intel\.com|arm\.com|amd\.com|anaconda\.(?:org|com)|"
    r"google\.com|microsoft\.com|w3\.org|readthedocs\.(?:io|org)|stackoverflow\.com|arxiv\.org|"
    r"uxlfoundation\.org|openai\.com|schemastore\.org|oasis-open\.org|gnu\.org|apache\.org)$|"
    r"^docs\.[\w.-]{1,200}$|^(?:www\.)?example\.(?:org|com|net)$|^localhost$|^\d{1,3}(?:\.\d{1,3}){3}$"
)
#: Before a digest: it is then no secret.
_DIGEST = re.compile(
    r"(?i)(?:commit|git|sha|hash|digest|cache|md5|key|fingerprint|revision|\brev|build|version|"
    r"checksum|blob|graph|kernel|payload|uuid|trace)[^\s]{0,24}[\s'\"=:(\[]{0,4}$"
)
_TYPES = re.compile(
    r"(?:torch|self|cls|os|np|typing|config|args|cfg|kwargs|L)[.\[(]|"
    r"(?:Tensor|Optional|List|Dict|Any|Union|str|int|bool|float|bytes|None|none|null|True|False|"
    r"true|false|Literal|tuple|list|dict)(?![\w-])"
)
#: What a mail address may end in, besides two letters: an attribute of a matrix must not pass.
_DOMAINS = (
    "com org net edu gov mil int info biz name dev app cloud tech online site xyz science academy "
    "email company systems software digital museum example test invalid local internal corp lan "
    "pro jobs mobi aero coop travel asia cat tel post wiki ninja zone world network"
).replace(" ", "|")


class Kind(NamedTuple):
    """What to look for: of a match, ``keep`` stays and ``name`` gets a pseudonym.

    A text without any of the ``signs`` (all lower case) holds no match and is not searched.
    """

    label: str
    signs: tuple[str, ...]
    pattern: re.Pattern[str]


def kind(label: str, signs: str, *patterns: str) -> Iterator[Kind]:
    """Yield a kind for each pattern."""
    for pattern in patterns:
        yield Kind(label, tuple(signs.split()), re.compile(pattern))


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
    "user": _is_nobody,
    "folder": _is_nobody,
    "host": _is_public,
    "url": _is_public,
    "key": _is_no_secret,
    "digest": _is_digest,
}

#: Contexts in which a name is certainly a person's: it is then replaced everywhere.
STRONG = (
    *kind(
        "home",
        "/home/ /users/",
        r"(?<![\w.~-])(?:/[\w.-]{1,40}){0,4}/(?:home|[Uu]sers)/" + _NAME,
    ),
    *kind(
        "home",
        r"users\ users/",
        r"(?<!\w)[A-Za-z]:[\\/]{1,2}Users[\\/]{1,2}(?P<name>[^\\/:*?\"'<>|\r\n]{1,64})(?=[\\/])",
    ),
    *kind("user", "/torchinductor_", r"(?P<keep>/torchinductor_)" + _NAME),
    *kind(
        "user",
        "user logname",
        r"(?P<keep>(?<![\w.])(?:USER|LOGNAME|USERNAME|SUDO_USER|user|username|login)['\"]?"
        r"(?:=|: )['\"]?)(?P<name>(?!\d|self\b|None\b)[\w][\w.-]{1,63})(?![\w(\[])",
    ),
    *kind(
        "folder",
        "/scratch/ /lustre/ /gpfs/ /nfs/ /beegfs/ work/ /data/",
        r"(?P<keep>(?<![\w.~-])/(?:scratch|lustre|gpfs|nfs|beegfs|work|data)(?:/(?:users|scratch|work))?/)"
        r"(?P<name>[^\s/\\:;,'\"()\[\]{}<>|=@.]{1,64})(?=/)",
    ),
)
#: The same, where it may as well be a project's: replaced in this place alone.
_FOLDERS = kind(
    "folder",
    "workspace/ /mnt/",
    r"(?P<keep>(?<![\w.~-])/(?:workspace|mnt/data|mnt/work|mnt/scratch)/)"
    r"(?P<name>[^\s/\\:;,'\"()\[\]{}<>|=@.]{1,64})(?=/)",
)
_SECRETS = (
    *kind(
        "secret",
        "hf_ gh github_pat_ glpat- xox sk- akia asia eyj",
        r"(?<!\w)(?P<name>hf_[A-Za-z0-9]{16,200}|gh[opsur]_[A-Za-z0-9]{20,200}"
        r"|github_pat_[A-Za-z0-9_]{20,200}|glpat-[\w-]{16,200}|xox[abprs]-[\w-]{10,200}"
        r"|sk-[A-Za-z0-9_-]{20,200}|(?:AKIA|ASIA)[A-Z0-9]{16}"
        r"|eyJ[\w-]{10,2000}\.[\w-]{10,2000}\.[\w-]{6,2000})",
    ),
    *kind(
        "secret", "bearer basic", r"(?P<keep>\b(?:[Bb]earer|Basic) )(?P<name>[\w.~+/=-]{8,2000})"
    ),
    *kind(
        "userinfo",
        "://",
        r"(?P<keep>\b[a-z][a-z0-9+.-]{1,20}://)(?P<name>[^\s/:@'\"]{0,200}:[^\s/@'\"]{1,200})(?=@)",
    ),
    # A number after ``token=`` is a count of tokens.
    *kind(
        "key",
        "token secret pass pw credential account sig key= key: key' key\" authorization",
        r"(?P<keep>(?i:(?<![a-z0-9])(?:[a-z0-9]{1,40}[_.-]){0,5}"
        r"(?:token|secret|passphrase|password|passwd|pw|credentials?|accountkey|account_key|"
        r"sharedaccesskey|signature|sig|apikey|api[_-]key|access[_-]key(?:[_-]id)?|private[_-]key|"
        r"secret[_-]key|authorization)(?:_id)?)['\"]?(?:=(?!=)|: ?)['\"]?)"
        r"(?P<name>(?!(?:Bearer|Basic) |[\d.]{1,12}(?![\w-]))[^\s'\",;&<>()\[\]{}]{3,2000})",
    ),
    *kind(
        "digest",
        "0 1 2 3 4 5 6 7 8 9",
        r"(?<![\w/+.=-])(?P<name>[0-9a-f]{32,512}|[0-9A-F]{32,512}"
        r"|[A-Za-z0-9+/]{32,2000}={0,2})(?![\w/+.=-])",
    ),
)
_MACHINES = (
    *kind(
        "host",
        "host nodename node_name nodelist master_addr server rdzv_endpoint machine_name",
        r"(?P<keep>(?i:(?<![a-z0-9])(?:[a-z0-9]{1,40}[_.-]){0,4}"
        r"(?:host|hostname|nodename|node_name|nodelist|master_addr|server|server_name|"
        r"rdzv_endpoint|machine_name))['\"]?(?:=(?!=)|: ?)['\"]?)"
        r"(?P<name>(?!localhost|\d|https?:)[A-Za-z0-9][\w.-]{1,254})(?![\w(\[])",
    ),
    *kind(
        "url",
        "://",
        r"(?P<keep>(?<![\w.+-])[A-Za-z][A-Za-z0-9+.-]{1,20}://(?:[^\s/@'\"]{1,300}@)?)"
        r"(?P<name>[A-Za-z0-9](?:[\w.-]{0,250}\w)?)(?=[:/?#\s'\"),;\]]|$)",
    ),
    # ``threading.local`` is no host: the name needs a digit or a hyphen.
    *kind(
        "host",
        "ip- .local .lan .internal .corp .intra .amazonaws .cluster",
        r"(?<![\w.-])(?P<name>ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}(?:\.[\w-]{1,63}){0,6}"
        r"|(?=[A-Za-z]{0,63}[\d-])[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,5}"
        r"\.(?:local|lan|internal|corp|intra|localdomain|amazonaws\.com|cluster)(?![\w.-]*\w))",
    ),
    # ``x@self.net`` is a matrix product, ``x@w.to(y)`` another one.
    *kind(
        "mail",
        "@",
        r"(?<![\w.+-])(?P<name>(?!self\.|cls\.)[\w.+-]{1,64}@(?!self\.|cls\.)[\w-]{1,63}"
        r"(?:\.[\w-]{1,63}){0,4}"
        rf"\.(?:{_DOMAINS}|[a-z]{{2}}))(?![\w(\[.-]*[\w(\[])",
        r"(?<=<)(?P<name>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5})(?=>)",
        r"(?P<keep>(?i:e?mail(?:to)?)['\"]?[=:] ?['\"]?)"
        r"(?P<name>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5})",
    ),
    *kind(
        "login",
        "@",
        r"(?<![\w.+/-])(?P<name>[A-Za-z_][\w.-]{0,62}@(?!self\b|cls\b)"
        r"(?:[A-Za-z][A-Za-z0-9]{0,62}-[A-Za-z0-9-]{1,62}|[A-Za-z][\w.-]{0,100}(?=:[~/]|[:$]\s)))"
        r"(?![\w(])",
        r"(?P<keep>\b(?:ssh|scp|rsync|sftp) )(?P<name>[\w.-]{1,63}@[\w.-]{1,255})",
    ),
    # Four numbers behind ``==`` or ``version`` are a version.
    *kind(
        "ip",
        ".",
        r"(?<![\w.])(?<![=<>~]=)(?<![vV]ersion )(?!127\.|0\.0\.0\.0|255\.)"
        rf"(?P<name>{_BYTE}\.{_BYTE}\.{_BYTE}\.{_BYTE})(?![\w.]*\w)",
    ),
    *kind(
        "ip",
        ":",
        r"(?<![\w:])(?P<name>(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}"
        r"|(?:[23][0-9A-Fa-f]{3}|[fF][cdCD][0-9A-Fa-f]{2}|[fF][eE]80)(?::[0-9A-Fa-f]{0,4}){2,7})"
        r"(?![\w:])",
    ),
)

SITE = tuple(
    kind(
        "site",
        "-packages",
        r"(?P<name>(?<![\w.~-])(?:/|~/|[A-Za-z]:[\\/])[^\s'\"<>|:;,()]{0,250}?"
        r"[\\/](?:site|dist)-packages)(?![\w-])",
    )
)
KINDS = (*SITE, *STRONG, *_FOLDERS, *_SECRETS, *_MACHINES)
