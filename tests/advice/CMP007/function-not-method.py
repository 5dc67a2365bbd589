# recorded: tracelens run
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
# before:
model.compile()
# after:
# model = torch.compile(model)
# end


def step(number):
    return model(torch.ones(2, 8))
