"""Blocks that keep the channels last, and make the tensor contiguous for each convolution."""
# logs: none
# graphs: 0
# adapted: it is applied to the tensor of the program
# expect: faster

TRACE = True
torch.manual_seed(0)
convolutions = [torch.nn.Conv2d(64, 64, 3, padding=1).eval() for _ in range(3)]
images = torch.randn(4, 48, 48, 64)


def step(number):
    x = images
    with torch.no_grad():
        for convolution in convolutions:
            # before:
            y = convolution(x.permute(0, 3, 1, 2).contiguous())
            # after:
            # y = convolution(x.permute(0, 3, 1, 2))
            # end
            x = y.permute(0, 2, 3, 1).contiguous()
    return x
