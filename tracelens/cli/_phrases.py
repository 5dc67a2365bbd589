"""Which rules a message is about, for ``tracelens explain "Failed to find C compiler"``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tracelens.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracelens.rules import Rule

__all__ = ["rules_about"]

#: Shortest phrase that is looked for, in letters: shorter ones are in too many pages.
MIN_LETTERS = 6
#: Shortest part of a failure's phrase.
MIN_PART = 5
#: Words that find a page apart from each other, at least.
MIN_WORDS = 2
#: Rules that are named where many hold the phrase.
MAX_NAMED = 5
#: The name of an exception, and that it says something.
_EXCEPTION = re.compile(r"(?:^|[\s.(])[A-Z]\w*(?:Error|Exception|Unsupported)\b:? ?\S")
#: What torch writes below an error of a program that is traced.
_BELOW = "TORCHDYNAMO_VERBOSE"
#: Failures that rules of other families explain, from records of their own.
_ELSEWHERE = {
    "constraint": "DYN002",
    "data-dependent": "DYN001",
    "no-choices": "TUN005",
    "no-openmp": "ENV003",
    "output-overwritten": "CGR006",
    "recompile-limit": "RCP001",
    "two-openmp": "ENV010",
}
#: The rule for what no other rule explains.
_ANY = "ERR000"


def rules_about(phrase: str) -> list[Rule]:
    """Return the rules that a message tells of, the likeliest first.

    Those that a failure with this message gets; then those that are named so, or whose failures
    have the words in what they are known by; then those on whose page the words stand, apart from
    each other only where nothing else has them. An exception that none of them knows is for the
    rule about what is not explained.

    Raises:
        UsageError: There is none.
    """
    from tracelens.engine import select_rules
    from tracelens.failures.causes import hits, mentioned, squeeze
    from tracelens.failures.refusals import refusal

    rules = select_rules()
    text, _ = squeeze([phrase])
    causes = [cause for cause, _, _ in hits(text)] or [cause for cause, *_ in hits(text + _BELOW)]
    other = [rule for cause in causes for rule in rules if rule.code == _ELSEWHERE.get(cause)]
    failing = [rule for cause in causes for rule in rules if cause in _causes_of(rule)]
    low = text.lower()
    named = [rule for rule in rules if low in rule.name.replace("-", "")]
    written = _written(rules, low) if len(low) >= MIN_LETTERS else []
    part = mentioned(text) if len(low) >= MIN_PART else []
    failing_so = [rule for cause in part for rule in rules if cause in _causes_of(rule)]
    found = list(dict.fromkeys((*other, *failing, *named, *failing_so, *written)))
    if not found and (_EXCEPTION.search(phrase) or refusal(phrase)):
        found = [rule for rule in rules if rule.code == _ANY]
    if not (found := found or _with_each_word(rules, phrase)):
        raise UsageError(
            f"no rule has the code or name {phrase!r}, or these words on its page",
            hint="tracelens rules lists them",
        )
    return found[:MAX_NAMED]


def _written(rules: Sequence[Rule], low: str) -> list[Rule]:
    """Return the rules on whose page the words stand, those first that say them most often."""
    counts = {rule.code: _page(rule).count(low) for rule in rules}
    return sorted((rule for rule in rules if counts[rule.code]), key=lambda r: -counts[r.code])


def _with_each_word(rules: Sequence[Rule], phrase: str) -> list[Rule]:
    """Return the rules on whose page each word stands, first those with most of the rarest."""
    words = {word.lower() for word in re.findall(r"\w{3,60}", phrase)}
    if len(words) < MIN_WORDS:
        return []
    counts = {rule.code: [_page(rule).count(word) for word in words] for rule in rules}
    found = [rule for rule in rules if all(counts[rule.code])]
    return sorted(found, key=lambda rule: (-min(counts[rule.code]), -sum(counts[rule.code])))


def _causes_of(rule: Rule) -> tuple[str, ...]:
    """Return the causes of failures that a rule is about."""
    return tuple(getattr(rule, "of_causes", ()))


def _page(rule: Rule) -> str:
    """Return what the rule says, without blanks: the page, and what it advises."""
    from tracelens.failures.causes import squeeze

    said = [rule.__doc__ or ""]
    said += [remedy.text for remedy in rule.remedies if isinstance(remedy.text, str)]
    return squeeze(said)[0].lower().replace("``", "")
