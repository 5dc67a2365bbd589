"""Distributed runs: ranks that do not do the same."""
