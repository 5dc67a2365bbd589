"""Patches of a complex image, times a complex probe, before a Fourier transform, in training."""
# logs: output_code,perf_hints
# graphs: 0

import torch

torch.manual_seed(0)
image = torch.randn(160, 160, dtype=torch.complex64, requires_grad=True)
probe = torch.randn(2, 48, 48, dtype=torch.complex64, requires_grad=True)
places = [(3 * n, 5 * n) for n in range(8)]


def intensities():
    patches = torch.stack([image[y : y + 48, x : x + 48] for y, x in places])
    far = torch.fft.fft2(probe[None] * patches[:, None], norm="ortho")
    return far.abs().pow(2).sum(1)


# before:
compiled = torch.compile(intensities)
# after:
# compiled = intensities
# end


def step(number):
    result = compiled()
    result.add(1e-9).sqrt().mean().backward()
    image.grad = probe.grad = None
    return result.detach()
