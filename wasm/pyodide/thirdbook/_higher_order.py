"""Higher-order calls under PyTorch's names: cond, while_loop, scan, map, checkpoint.

In: functions and what they are called with. Out: what plain Python control flow gives. Invariant: each body runs exactly as often as plain Python would run it, so effects
in it happen once a run. PyTorch repeats or re-orders bodies (a checkpoint runs again in the backward pass, both branches of a cond are
traced), so effects there are an error in PyTorch: `config.higher_order_effects = "refuse"` makes them one here as well, a
SideEffectError that names object and line, before anything has changed.
"""

from __future__ import annotations

from ._core import Tensor, ops

__all__ = ["checkpoint", "cond", "map", "scan", "while_loop"]

_refuse = False


def refuse_effects(refuse: bool) -> None:
    global _refuse
    _refuse = refuse


def _run_refusing(body, operands, kwargs=None):
    """The body as a compiled function of its own, under the policy that forbids effects."""
    from ._api import compile, config

    with config.patch(side_effect_replay_policy="error"):
        return compile(body)(*operands, **(kwargs or {}))


def cond(pred, true_fn, false_fn, operands=()):
    """true_fn(*operands) where pred (a bool or a tensor of one element) is true, else false_fn(*operands).

    Errors: TypeError when operands is neither a tuple nor a list, or a branch is not callable.
    """
    if not isinstance(operands, (tuple, list)):
        raise TypeError(f"cond: operands is a tuple or a list, not {type(operands).__name__}")
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError("cond: both branches have to be callable")
    if _refuse:
        return _run_refusing(true_fn if pred else false_fn, operands)
    if pred:
        return true_fn(*operands)
    return false_fn(*operands)


def while_loop(cond_fn, body_fn, carried_inputs, additional_inputs=()):
    """body_fn(*carried, *additional) as long as cond_fn of the same is true; gives the last carried values as a tuple."""
    carried = tuple(carried_inputs)
    while _run_refusing(cond_fn, (*carried, *additional_inputs)) if _refuse else cond_fn(*carried, *additional_inputs):
        result = _run_refusing(body_fn, (*carried, *additional_inputs)) if _refuse else body_fn(*carried, *additional_inputs)
        carried = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    return carried


def scan(combine_fn, init, xs, *, dim=0, reverse=False):
    """combine_fn(carry, x) → (carry, y) along dim of xs (a tensor, or a tuple of tensors): (last carry, the stacked ys along dim 0).

    Errors: RuntimeError when xs has no element along dim.
    """
    first = xs if isinstance(xs, Tensor) else xs[0]
    length = first.shape[dim]
    if length == 0:
        raise RuntimeError("scan: xs has no elements along dim")
    carry, collected = init, []
    for index in reversed(range(length)) if reverse else range(length):
        item = xs.select(dim, index) if isinstance(xs, Tensor) else tuple(x.select(dim, index) for x in xs)
        carry, value = _run_refusing(combine_fn, (carry, item)) if _refuse else combine_fn(carry, item)
        collected.append(value)
    if reverse:
        collected.reverse()
    return carry, _stacked(collected)


def map(f, xs, *args):
    """f(x, *args) for each x along dim 0 of xs (a tensor, or a tuple of tensors), stacked. RuntimeError when there is none."""
    first = xs if isinstance(xs, Tensor) else xs[0]
    if first.shape[0] == 0:
        raise RuntimeError("map: xs has no elements along dim 0")
    collected = []
    for index in range(first.shape[0]):
        item = xs[index] if isinstance(xs, Tensor) else tuple(x[index] for x in xs)
        collected.append(_run_refusing(f, (item, *args)) if _refuse else f(item, *args))
    return _stacked(collected)


def _stacked(values):
    if isinstance(values[0], Tensor):
        return ops.stack(values)
    return type(values[0])(ops.stack(list(column)) for column in zip(*values))


def checkpoint(function, *args, use_reentrant=None, preserve_rng_state=True, determinism_check="default", context_fn=None, debug=False,
               early_stop=True, **kwargs):
    """function(*args, **kwargs). Without a backward pass nothing is computed again, so effects in function happen once."""
    if _refuse:
        return _run_refusing(function, args, kwargs)
    return function(*args, **kwargs)
