"""A profiler that records the Python stack of each operator."""
# logs: none
# graphs: 0

x = torch.rand(64, 64)


def step(number):
    return x @ x


def record(run):
    with run:
        for number in range(8):
            step(number)
            run.step()
    run.export_chrome_trace(f"{OUT}/trace.json")


# before:
record(torch.profiler.profile(with_stack=True))
# after:
# record(torch.profiler.profile(schedule=torch.profiler.schedule(wait=1, warmup=2, active=3)))
# end
