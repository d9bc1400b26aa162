"""Programs of tests/fixtures/programs.py: results, strides, printed text and errors equal those that real PyTorch recorded.

Creation, promotion, indexing, in-place writes, views, reductions, linear algebra, bad arguments, printing, random streams, modules.
"""

from __future__ import annotations

import importlib.util
import unittest
import warnings

from tensor_fixtures import difference, error_difference, load, scope, torch

from programs import PROGRAMS  # isort: skip

# Where Thirdbook differs on purpose. Each entry says why.
DIFFERENT = {
    "torch.device('foo')": "the list of device names is Thirdbook's",
    "torch.empty(4).exponential_()": "drawn from another library's stream in PyTorch",
}
# Fresh results (no views) that PyTorch lays out by columns.
BY_COLUMNS = ("nonzero()", "torch.linalg.inv(", "torch.linalg.cholesky(")
RECORDED = load("programs.json.gz")


def run(source: str):
    torch.manual_seed(0)
    names = scope()
    *body, last = source.strip().split("\n")
    exec("\n".join(body), names)
    return eval(last, names)


def _by_columns(source: str) -> bool:
    return any(part in source for part in BY_COLUMNS)


def check(source: str) -> str:
    wanted = RECORDED["programs"][source]
    try:
        value = run(source)
    except Exception as raised:
        if "e" in wanted:
            return error_difference(raised, wanted["e"])
        return f"raised {type(raised).__name__}: {raised}"
    if "e" in wanted:
        return f"gave {value!r}, wanted {wanted['e'][0]}: {wanted['e'][1]}"
    if "r" in wanted:
        found = difference(tuple(value) if isinstance(value, tuple) else value, wanted["r"])
        if found:
            return found
    elif str(value) != wanted["p"]:
        return f"{value!s}, wanted {wanted['p']}"
    if isinstance(value, torch.Tensor):
        if "st" in wanted and list(value.stride()) != wanted["st"] and value.numel() > 0 and not _by_columns(source):
            return f"strides {value.stride()}, wanted {wanted['st']}"
        if repr(value) != wanted["p"] and "grad_fn" not in wanted["p"]:
            return f"printed\n{value!r}\nwanted\n{wanted['p']}"
    return ""


class Programs(unittest.TestCase):
    pass


HAS_NUMPY = importlib.util.find_spec("numpy") is not None


def _add(group: str, sources: list) -> None:
    if not sources:
        return

    def test(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for source in sources:
                if source in DIFFERENT:
                    continue
                with self.subTest(source):
                    self.assertEqual("", check(source))

    test.__doc__ = f"{len(sources)} programs: {group}"
    setattr(Programs, f"test_{group}", test)


def _reaches_numpy(source: str) -> bool:
    return "numpy" in source


for _group, _sources in PROGRAMS.items():
    _add(_group, [source for source in _sources if HAS_NUMPY or not _reaches_numpy(source)])
    if not HAS_NUMPY:
        for _place, _source in enumerate(filter(_reaches_numpy, _sources)):
            _skipped = unittest.skip(f"NumPy is not installed here: {_source}")(lambda self: None)
            setattr(Programs, f"test_{_group}_with_numpy_{_place}", _skipped)


if __name__ == "__main__":
    unittest.main()
