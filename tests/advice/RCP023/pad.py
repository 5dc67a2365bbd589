"""Convolutions on a CPU choose by the number of elements: each layer asks for its own condition."""
# adapted: the sizes that come are the program's own

model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(8, 16, 3, padding=1)
).eval()
compiled = torch.compile(model, backend="aot_eager", dynamic=True)
SIZES = (32, 40, 64, 128)
STEPS = 4


def step(number):
    size = SIZES[number % 4]
    x = torch.ones(1, 3, size, size)
    # before:
    padded = x
    # after:
    # padded = torch.nn.functional.pad(x, (0, 128 - size, 0, 128 - size))
    # end
    with torch.no_grad():
        return compiled(padded)[:, :, : size - 1, : size - 1]
