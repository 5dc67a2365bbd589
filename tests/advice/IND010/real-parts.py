"""Patches of a complex image, times a complex probe, before a Fourier transform, in training."""
# logs: output_code,perf_hints
# adapted: the patches are taken with one index, and the magnitude is squared

import torch

torch.manual_seed(0)
image = torch.randn(160, 160, dtype=torch.complex64, requires_grad=True)
probe = torch.randn(2, 48, 48, dtype=torch.complex64, requires_grad=True)
places = [(3 * n, 5 * n) for n in range(8)]
along = torch.arange(48)
rows, columns = (torch.tensor(one)[:, None] + along for one in zip(*places))


@torch.compile
def intensities():
    # before:
    patches = torch.stack([image[y : y + 48, x : x + 48] for y, x in places])
    z = torch.fft.fft2(probe[None] * patches[:, None], norm="ortho")
    return z.abs().pow(2).sum(1)
    # after:
    # x = torch.view_as_real(image)[rows[:, :, None], columns[:, None, :]][:, None]
    # a, b = x.unbind(-1)
    # c, d = torch.view_as_real(probe).unbind(-1)
    # z = torch.fft.fft2(torch.complex(a * c - b * d, a * d + b * c), norm="ortho")
    # return torch.view_as_real(z).pow(2).sum(-1).sum(1)
    # end


def step(number):
    result = intensities()
    result.add(1e-9).sqrt().mean().backward()
    image.grad = probe.grad = None
    return result.detach()
