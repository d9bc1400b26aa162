"""Every op against the sample and error inputs of PyTorch's own op database (tests/fixtures/opdb.json.gz).

Values, dtype, shape; for views also memory, strides and offset; the method of the same name; the type of the error for bad arguments.
"""

from __future__ import annotations

import re
import unittest
import warnings

from tensor_fixtures import difference, error_difference, load, torch

import encoding  # isort: skip

RECORDED = load("opdb.json.gz")["ops"]
# What Thirdbook leaves out on purpose: a substring of the reason that its error gives.
UNSUPPORTED = re.compile("Thirdbook|not supported|unexpected keyword argument '(out|fweights|aweights)'")
# Sums of many terms in another order, and functions of two roundings: the tolerance is wider by this factor.
SCALE = {"nn.functional.gelu": 2, "softmax": 2, "linalg.inv": 8, "inverse": 8, "linalg.solve": 16, "linalg.cond": 64, "logcumsumexp": 4}


# Differences that are accepted, by what the comparison says.
KNOWN = {
    **dict.fromkeys(("amax", "amin", "aminmax"), "up to 64 dims"),
    "masked_select": "refer to a single memory location",
    "linspace": "0-dimensional start and end",
    "logspace": "0-dimensional start and end",
    "nn.functional.batch_norm": "Dimension out of range",     # no elements and no channels
}

# Of several equal elements any place may be named.
PLACES_OPEN = {"kthvalue", "median", "mode", "nanmedian"}


def function_of(name: str):
    target = torch
    for part in name.split("."):
        target = getattr(target, part, None)
        if target is None:
            return getattr(torch.Tensor, name, None)
    return target


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_of(item)
    elif isinstance(value, dict):
        yield from tensors_of(list(value.values()))


def view_difference(got, wanted, inputs) -> str:
    place, strides, offset = wanted
    source = inputs[place]
    if got.untyped_storage() != source.untyped_storage():
        return "a copy, wanted a view"
    matter = [place for place, size in enumerate(got.shape) if size != 1]
    same = all(got.stride(place) == strides[place] for place in matter)
    if same and got.storage_offset() - source.storage_offset() == offset:
        return ""
    return f"view {got.stride()} at {got.storage_offset()}, wanted {strides} at {offset}"


def check(name: str, case: dict, method: bool, unknown: bool) -> str:
    args = encoding.decode(torch, case["a"])
    kwargs = {key: encoding.decode(torch, value) for key, value in case.get("k", {}).items()}
    function = getattr(type(args[0]), name) if method else function_of(name)
    torch.manual_seed(0)
    try:
        got = function(*args, **kwargs)
    except Exception as raised:
        if "e" in case:
            return error_difference(raised, case["e"])
        return f"raised {type(raised).__name__}: {raised}"
    if "e" in case:
        return f"gave {got!r}, wanted {case['e'][0]}: {case['e'][1]}"
    if unknown:
        wanted = [t.get("s") for t in ([case["r"]] if isinstance(case["r"], dict) else case["r"])]
        shapes = [list(t.shape) for t in tensors_of(got)]
        return "" if shapes == wanted else f"shapes {shapes}, wanted {wanted}"
    got = tuple(got) if isinstance(got, tuple) else got
    wanted = case["r"]
    if name in PLACES_OPEN and isinstance(wanted, dict) and "l" in wanted:
        got, wanted = got[:1], {"l": wanted["l"][:1]}
    found = difference(got, wanted, SCALE.get(name, 1))
    if not found and "view" in case:
        found = view_difference(got, case["view"], list(tensors_of([args, kwargs])))
    return found


def ways(name: str, entry: dict, case: dict) -> tuple:
    """Whether to call the function only, or the method as well."""
    has_method = entry.get("method") and name != "where" and isinstance(case["a"][0], dict) and "t" in case["a"][0]
    return (False, True) if has_method else (False,)


def is_left_out(name: str, found: str) -> bool:
    if name in KNOWN and KNOWN[name] in found:
        return True
    return bool(UNSUPPORTED.search(found)) and ("NotImplementedError" in found or "TypeError" in found)


class OpDatabase(unittest.TestCase):
    pass


def _add(name: str, entry: dict) -> None:
    def test(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for place, case in enumerate(entry["cases"]):
                for method in ways(name, entry, case):
                    with self.subTest(case=place, method=method):
                        found = check(name, case, method, entry.get("unknown", False))
                        if not is_left_out(name, found):
                            self.assertEqual("", found)

    test.__doc__ = f"{name}: {len(entry['cases'])} cases"
    setattr(OpDatabase, "test_" + re.sub(r"\W", "_", name), test)


for _name, _entry in RECORDED.items():
    _add(_name, _entry)


if __name__ == "__main__":
    unittest.main()
