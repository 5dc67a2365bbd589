"""A profiler that begins before the first step, which compiles."""
# logs: none

compiled = torch.compile(lambda x: torch.relu(x @ x.T).sum(), backend="eager")
x = torch.rand(64, 64)


def step(number):
    return compiled(x)


# before:
run = torch.profiler.profile()
# after:
# schedule = torch.profiler.schedule(wait=1, warmup=2, active=3)
# run = torch.profiler.profile(schedule=schedule)
# end
with run:
    for number in range(6):
        step(number)
        run.step()
run.export_chrome_trace(f"{OUT}/trace.json")
