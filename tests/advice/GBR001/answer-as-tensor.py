"""A choice between two results, by an operator that answers with a bool of Python."""
# adapted: the choice is the program's own

a, b = torch.ones(4), torch.zeros(4)


@torch.compile(backend="eager")
def choose(a, b):
    # before:
    return a + 1 if torch.equal(a, b) else b * 2
    # after:
    # same = (a == b).all()
    # return torch.where(same, a + 1, b * 2)
    # end


def step(number):
    return choose(a, b)
