"""Gradients that are made anew in each step, and marked as if they were not."""
# device: cuda
# logs: +cudagraphs

STEPS = 24
model = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=torch.tensor(1e-3, device="cuda"))
update = torch.compile(optimizer.step, mode="reduce-overhead")
x = torch.randn(32, 64, device="cuda")
kept = []


def step(number):
    y = model(x)
    y.sum().backward()
    if number == 0:
        for p in model.parameters():
            torch._dynamo.mark_static_address(p.grad)
    update()
    kept.append([p.grad for p in model.parameters()])
    # before:
    optimizer.zero_grad()
    # after:
    # optimizer.zero_grad(set_to_none=False)
    # end
    return y
