"""Keys of attention that grow by one position for each token."""
# logs: none
# graphs: 0
# expect: faster

TRACE = True
torch.manual_seed(0)
LENGTH, TOKENS = 600, 40
prompt = torch.randn(4, 8, LENGTH, 64)
parts = torch.randn(TOKENS, 4, 8, 1, 64)


def step(number):
    # before:
    cache = prompt
    # after:
    # cache = torch.empty(4, 8, LENGTH + TOKENS, 64)
    # cache[:, :, :LENGTH] = prompt
    # end
    for n, part in enumerate(parts, LENGTH):
        # before:
        cache = torch.cat([cache, part], 2)
        # after:
        # cache[:, :, n : n + 1] = part
        # end
    return cache
