"""Texts: representations that guard against recursion, substitution by a function, JSON."""


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
