"""Every log of the fixtures, and every grammar."""

from tracelens.testing import GrammarCase, RuleCase


def test_rule(rule_case: RuleCase) -> None:
    rule_case.check()


def test_grammar(grammar_case: GrammarCase) -> None:
    grammar_case.check()
