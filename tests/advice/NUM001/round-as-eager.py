"""A chain of operators in bfloat16, which the compiled code rounds once."""
# logs: graph_code

import traceback


def chain(x):
    y = x
    for _ in range(12):
        y = (y * 1.37 + x).tanh() - 0.21 * y
    return y


compiled = torch.compile(chain)
x = torch.linspace(-1, 1, 4096).to(torch.bfloat16)


def step(number):
    y = compiled(x)
    if number == 0:
        try:
            torch.testing.assert_close(y, chain(x))
        except AssertionError:
            traceback.print_exc()
    return y
