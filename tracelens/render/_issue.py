"""An issue about one finding: where to, under which title, with what in it, and what to search."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

from tracelens.late import late
from tracelens.render import _words
from tracelens.render._github import code, details, fence, grid, text
from tracelens.render._strings import elide, one_line, one_row
from tracelens.report import Finding, Report

__all__ = [
    "Issue",
    "address",
    "body",
    "named",
    "projects",
    "repository",
    "search",
    "title",
    "yours",
]

#: Where a package's issues are kept, by the name of its folder; what is not here goes to PyTorch.
REPOSITORIES = {
    "torch": "pytorch/pytorch",
    "onednn": "uxlfoundation/oneDNN",
    "transformers": "huggingface/transformers",
    "diffusers": "huggingface/diffusers",
    "accelerate": "huggingface/accelerate",
    "peft": "huggingface/peft",
    "timm": "huggingface/pytorch-image-models",
    "torchao": "pytorch/ao",
    "torchvision": "pytorch/vision",
    "torchaudio": "pytorch/audio",
    "triton": "triton-lang/triton",
    "vllm": "vllm-project/vllm",
    "sglang": "sgl-project/sglang",
    "torch_geometric": "pyg-team/pytorch_geometric",
    "x_transformers": "lucidrains/x-transformers",
}
#: The same by the name that people use.
_NAMES = {"pytorch": REPOSITORIES["torch"], **REPOSITORIES}
#: Rules whose findings are a matter of oneDNN itself.
ONEDNN = ("ONE001", "ONE002", "ONE005", "ONE008")
#: Characters of a title, of a line of the log, and of an address that GitHub and browsers take.
MAX_TITLE, MAX_LINE, MAX_ADDRESS = 120, 400, 7_000
MAX_EVIDENCE, MAX_WORDS, MAX_YOURS = 12, 8, 20
_PACKAGE = late(r"(?:site|dist)-packages>?/([A-Za-z_]\w{0,60})")
_FILE = late(r"(?<![\w./~<>+-])[\w.~<>/+-]{1,200}\.pyx?(?::\d{1,7})?(?!\w)")
_WORD = late(r"[A-Za-z_][\w.]{3,60}")
#: A line of the program, as messages quote it.
_QUOTED = late(r"`?[^\s`]{1,200}\.pyx?:\d{1,7}`?: `[^`]{0,400}`")
#: In place of the environment.
_UNSAID = "The log does not say.\n"
#: Words that every issue has.
_COMMON = frozenset(
    """
    with that this from when into onto than then them they were have does each once twice some
    more most less same other about where which while runs takes time times call calls breaks
    graph log line lines
    """.split()  # noqa: SIM905 -- read as a list of words
)


class Issue(NamedTuple):
    """What goes into an issue."""

    repository: str
    title: str
    body: str


def named(project: str) -> str:
    """Return ``owner/name`` of a project given so, or by the name of its library; empty if none."""
    if re.fullmatch(r"[A-Za-z0-9][\w-]{0,38}/[\w.-]{1,100}", project):
        return project
    return _NAMES.get(project.lower(), "")


def projects() -> tuple[str, ...]:
    """Return the names of libraries whose project is known."""
    return tuple(_NAMES)


def repository(finding: Finding) -> str:
    """Return ``owner/name`` of the project that can mend it: the library that it is in."""
    if finding.code in ONEDNN:
        return REPOSITORIES["onednn"]
    named = str(finding.data.get("package") or "")
    places = [finding.where.file if finding.where else "", *(e.text for e in finding.evidence)]
    found = [match[1] for place in places if (match := _PACKAGE.search(place))]
    wanted = next((name for name in (named, *found) if name in REPOSITORIES), "torch")
    return REPOSITORIES[wanted]


def title(finding: Finding) -> str:
    """Return one line without back-ticks that names what happens."""
    return elide(one_line(finding.title).replace("`", ""), MAX_TITLE)


def search(finding: Finding) -> list[str]:
    """Return the words by which the same issue can be found, the rarest kinds first.

    Files and lines of the program are nobody else's; what torch says about it, others have met.
    """
    said = " ".join(part for part in (finding.title, finding.message) if part)
    said = _FILE.sub("", _QUOTED.sub("", said))
    marked = [word for part in re.findall(r"`([^`]{3,80})`", said) for word in _WORD.findall(part)]
    logged = [e.text for e in finding.evidence if "," not in e.text and not _FILE.search(e.text)]
    plain = " ".join([_FILE.sub("", finding.title), *logged[:1]])
    rest = [word for word in _WORD.findall(plain) if word.lower() not in _COMMON]
    return list(dict.fromkeys([*marked, *rest]))[:MAX_WORDS]


def body(report: Report, finding: Finding, script: str) -> str:
    """Return the text of the issue in Markdown; the report is to be without names already."""
    return "\n".join(_sections(report, finding, script)).strip() + "\n"


def _sections(report: Report, finding: Finding, script: str) -> Iterator[str]:
    yield f"### What happens\n\n{text(finding.title)}\n\n{text(finding.message, 4_000)}\n"
    facts = [("Where", str(finding.where or "")), ("Cost", _words.costs(finding))]
    facts += [("Seen", _words.seen(finding)), ("Rule", f"{finding.code} {finding.name}")]
    yield "\n".join(f"- {name}: {code(said)}" for name, said in facts if said) + "\n"
    if finding.evidence:
        lines = [elide(one_row(line.text), MAX_LINE) for line in finding.evidence[:MAX_EVIDENCE]]
        yield f"### What the log says\n\n{fence(chr(10).join(lines), 'text')}\n"
    if said := _words.confirmation(finding.confirmation):
        yield f"### Run again\n\n{text(said, 1_000)}\n"
    rows = [[text(name), text(value)] for name, value in _words.environment(report.environment)]
    yield f"### Environment\n\n{grid(['', ''], rows) if rows else _UNSAID}"
    if script:
        yield "### To reproduce\n\n" + details("repro.py", fence(script, "python"))
    else:
        yield "### To reproduce\n\nNo small script shows it: the log is of the whole program.\n"


def yours(finding: Finding) -> list[str]:
    """Return the names of the user's own that stay in the text: files that are in no package."""
    said = [str(finding.where or ""), finding.title, finding.message]
    said += [one_row(line.text) for line in finding.evidence[:MAX_EVIDENCE]]
    packages = {match[1] for part in said for match in _PACKAGE.finditer(part)} | {*REPOSITORIES}
    files = dict.fromkeys(match[0] for part in said for match in _FILE.finditer(part))
    return [
        elide(file, 120)
        for file in files
        if not _PACKAGE.search(file) and file.partition("/")[0] not in packages
    ][:MAX_YOURS]


def address(issue: Issue, *bodies: str) -> str:
    """Return the address of a new issue that holds the first of ``bodies`` that is short enough."""
    base = f"https://github.com/{issue.repository}/issues/new?title={quote(issue.title)}&body="
    texts = [quote(body) for body in bodies]
    return base + next((text for text in texts if len(base) + len(text) <= MAX_ADDRESS), "")
