"""An exception raised and caught inside the trace: the mutations around it stay in order, nothing breaks."""

import torch

log = []


def pick(table, key):
    try:
        return table[key]
    except KeyError as missing:
        log.append(missing.args[0])
        return 10
    finally:
        log.append("picked")


@torch.compile
def f(x):
    return x + pick({"a": 1}, "b")


assert f(torch.zeros(1)).tolist() == [10.0] and log == ["b", "picked"]
