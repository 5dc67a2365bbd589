"""A convolution written by hand: patches, and a product with them."""
# logs: none
# graphs: 0
# expect: faster

TRACE = True
torch.manual_seed(0)
channels, k = 24, 3
x = torch.randn(4, channels, 48, 48)
w = torch.randn(24, channels * k * k, requires_grad=True)


def step(number):
    # before:
    y = (w @ torch.nn.functional.unfold(x, k, padding=k // 2)).view(4, 24, 48, 48)
    # after:
    # y = torch.nn.functional.conv2d(x, w.view(-1, channels, k, k), padding=k // 2)
    # end
    y.square().mean().backward()
    return y
