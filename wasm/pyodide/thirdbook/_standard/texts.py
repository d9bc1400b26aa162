"""Texts: representations that guard against recursion, formats, notes of exceptions, substitution by a function, JSON."""

from .._core import Tensor
from .._core import _array_no_model as no_model


def shown(function, self):
    """What reprlib.recursive_repr makes of a __repr__; one that comes back to itself is too deep for a trace."""
    return function.__wrapped__(self)


def substituted(pattern, repl, string, count=0):
    """re.Pattern.sub"""
    if not callable(repl):
        return pattern.subn(repl, string, count)[0]
    pieces = []
    at = done = 0
    for match in pattern.finditer(string):
        if count and done == count:
            break
        done += 1
        pieces.append(string[at : match.start()])
        text = repl(match)
        if text is not None:
            pieces.append(text)
        at = match.end()
    pieces.append(string[at:])
    return string[:0].join(pieces)


def encoder(markers, default, encode, indent, key_separator, item_separator, sort_keys, skipkeys, allow_nan):
    """The C encoder of json, by json's own Python one."""
    from json.encoder import INFINITY, _make_iterencode

    def floatstr(number):
        if number != number:
            text = "NaN"
        elif number == INFINITY:
            text = "Infinity"
        elif number == -INFINITY:
            text = "-Infinity"
        else:
            return float.__repr__(number)
        if not allow_nan:
            raise ValueError("Out of range float values are not JSON compliant: " + repr(number))
        return text

    return _make_iterencode(None, default, encode, indent, floatstr, key_separator, item_separator, sort_keys, skipkeys, True)


def percent(form, values):
    """form % values, piece by piece, so that numbers and texts of later calls stay what they are; None: not of that kind."""
    if type(values) is not tuple:
        values = (values,)
    pieces = []
    at = used = 0
    while (start := form.find("%", at)) >= 0:
        pieces.append(form[at:start])
        end = start + 1
        while form[end : end + 1] in ("#", "0", "-", "+", " ", ".", "1", "2", "3", "4", "5", "6", "7", "8", "9"):
            end += 1
        flags, kind = form[start + 1 : end], form[end : end + 1]
        at = end + 1
        if kind == "%" and not flags:
            pieces.append("%")
            continue
        if used == len(values) or used == 20:
            return None
        if not _fits(flags, kind, values[used]):
            return None
        pieces.append((flags, kind, values[used]))
        used += 1
    if used < len(values):
        return None
    text = ""
    for piece in pieces:
        text += piece if type(piece) is str else _converted(*piece)
    return text + form[at:]


def _fits(flags, kind, value):
    if not flags and (kind == "s" or kind == "r"):
        return True
    if flags.strip("0123456789.") not in ("", "+") or flags[:2] == "00" or flags.count(".") > 1 or flags[-1:] == ".":
        return False
    if kind == "d":
        return type(value) is int and "." not in flags
    return kind in ("f", "e", "g") and (type(value) is float or type(value) is int or isinstance(value, Tensor))


def _converted(flags, kind, value):
    if not flags and kind == "s":
        return str(value)
    if not flags and kind == "r":
        return repr(value)
    return format(float(value) if kind != "d" else value, flags + kind)


def noted(self, note):
    """BaseException.add_note"""
    if not isinstance(note, str):
        if type(note).__module__ != "builtins":
            no_model("a note that is no text")
        kind = "None" if note is None else type(note).__name__
        raise TypeError("add_note() argument must be str, not " + kind)
    try:
        notes = self.__notes__
    except AttributeError:
        notes = self.__notes__ = []
    if not isinstance(notes, list):
        raise TypeError("Cannot add note: __notes__ is not a list")
    list.append(notes, note)
