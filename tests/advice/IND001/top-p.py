"""Top-p sampling that sorts the whole vocabulary on a CPU."""
# logs: output_code
# results: differ, since other numbers are drawn

import torch

torch.manual_seed(0)
p = 0.9
scores = 4 * torch.randn(4, 32000)


@torch.compile
def sample(logits):
    # before:
    ordered, at = torch.sort(logits, descending=True)
    probs = torch.softmax(ordered, dim=-1)
    keep = probs.cumsum(-1) - probs < p
    token = at.gather(-1, torch.multinomial(probs * keep, 1))
    # after:
    # probs, at = logits.softmax(-1).topk(min(1024, logits.shape[-1]))
    # keep = probs.cumsum(-1) - probs < p
    # token = at.gather(-1, torch.multinomial(probs * keep, 1))
    # end
    return token


def step(number):
    with torch.no_grad():
        return sample(scores)
