# recorded: tracelens run
layers = torch.nn.ModuleList([torch.nn.Linear(8, 8), torch.nn.ReLU()])
# before:
layers.compile()
# after:
# for number, layer in enumerate(layers):
#     layers[number] = torch.compile(layer)
# end


def step(number):
    x = torch.ones(2, 8)
    for layer in layers:
        x = layer(x)
    return x
