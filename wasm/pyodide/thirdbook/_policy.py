"""Words about effects: what `config.side_effect_replay_policy` makes of a ledger.

In: the rows of one compilation's ledger, before anything was replayed. Out: a record of the logger "thirdbook", a warning, or SideEffectError; each
row with its source and the lines that wrote it. Invariant: called once per compilation.
"""

from __future__ import annotations

import logging
import warnings

from ._errors import SideEffectError

logger = logging.getLogger("thirdbook")

_LOG, _WARN, _ERROR = 1, 2, 3


class SideEffectWarning(UserWarning):
    """A compiled function changes the world (config.side_effect_replay_policy = "warn")."""


def places(row) -> str:
    """Where a row was written: `file:line, file:line`."""
    return ", ".join(dict.fromkeys(f"{site['file']}:{site['line']}" for site in row["sites"])) or "an unknown line"


def target_of(row) -> str:
    """What a row writes: G['b'].value."""
    verb, _, name = row["operation"].partition(" ")
    return f"{row['source']}.{name}" if verb in ("setattr", "delattr") else row["source"]


def line_of(row) -> str:
    change = f"{row['before']} -> {row['after']}" if "before" in row else row["after"]
    return f"{target_of(row)}: {row['operation']}, {change} ({places(row)})"


def announce(policy: int, function: str, rows: list[dict]) -> None:
    """policy: 1 log, 2 warn, 3 error. Raises SideEffectError, or the warning where the user made warnings errors."""
    seen = [row for row in rows if not row["kind"].endswith("-new")]
    text = "\n".join(f"  {line_of(row)}" for row in seen)
    count = "one side effect" if len(seen) == 1 else f"{len(seen)} side effects"
    if policy == _ERROR:
        raise SideEffectError(f"{function} has {count}, which config.side_effect_replay_policy = 'error' forbids; nothing has been changed:\n{text}")
    message = f"{function} has {count}, replayed after its graph:\n{text}"
    if policy == _WARN:
        site = next((site for row in seen for site in row["sites"]), {"file": "<unknown>", "line": 1})
        warnings.warn_explicit(message, SideEffectWarning, site["file"], site["line"] or 1)
    elif policy == _LOG:
        logger.info("%s", message)
