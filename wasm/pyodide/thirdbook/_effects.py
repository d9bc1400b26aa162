"""Effects that rewritten code does at its replay for a call that would look at its own frame.

In: what the call was given, and where the traced code stood. Out: the same effect. Invariant: called from the rewritten code object itself, whose globals
are the traced function's.
"""

from __future__ import annotations

import sys
import warnings


def warn(message, category, filename, lineno):
    """warnings.warn as if called at filename:lineno in the caller's module."""
    names = sys._getframe(1).f_globals
    registry = names.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, category, filename, lineno, names.get("__name__") or "<string>", registry)


def warning_raises(category) -> bool:
    """Whether a filter makes an exception of some warnings of this category."""
    return any(action == "error" and issubclass(category, kind) for action, _message, kind, _module, _line in warnings.filters)
