"""Silence is cut off before features are computed."""

import torch


def trim(wave):
    loud = (wave.abs() > 0.02).nonzero().flatten()
    return wave[loud]


def features(wave):
    # before:
    wave = trim(wave)
    # after:
    # pass
    # end
    return (wave * 2).cos().sum()


torch.manual_seed(0)
wave = torch.randn(64) * 0.1
compiled = torch.compile(features, backend="eager")


def step(number):
    # before:
    given = wave
    # after:
    # given = trim(wave)
    # end
    return compiled(given)
