"""A profiler that is left before its schedule becomes active."""
# logs: none
# graphs: 0
# adapted: it is written in several lines

x = torch.rand(64, 64)


def step(number):
    return x @ x


# before:
run = torch.profiler.profile(schedule=torch.profiler.schedule(wait=0, warmup=3, active=2))
# after:
# run = torch.profiler.profile(
#     schedule=torch.profiler.schedule(wait=1, warmup=1, active=3),
#     on_trace_ready=lambda p: p.export_chrome_trace(f"{OUT}/trace.json"),
# )
# end
with run:
    for number in range(2):
        step(number)
        run.step()
    # before:
    # after:
    # for number in range(4):
    #     step(number)
    #     run.step()
    # end
# before:
run.export_chrome_trace(f"{OUT}/trace.json")
# after:
# pass
# end
