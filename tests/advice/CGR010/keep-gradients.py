"""A compiled optimizer that replays a CUDA graph on gradients that are made anew."""
# device: cuda
# logs: cudagraphs,perf_hints

model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(8)]).cuda()
optimizer = torch.optim.AdamW(
    model.parameters(), lr=torch.tensor(1e-3, device="cuda"), capturable=True
)
update = torch.compile(optimizer.step, mode="reduce-overhead")
x = torch.randn(32, 64, device="cuda")


def step(number):
    y = model(x)
    y.sum().backward()
    # before:
    # after:
    # if number == 0:
    #     for p in model.parameters():
    #         torch._dynamo.mark_static_address(p.grad)
    # end
    update()
    # before:
    optimizer.zero_grad()
    # after:
    # optimizer.zero_grad(set_to_none=False)
    # end
    return x
