"""Random expressions of a known type.

In: a Scope (names by type) and a random.Random. Out: source text whose value has that type when the program runs.
Invariant: values stay small (no growth without bound) and exact in float32, so that eager and compiled can be equal to
the last bit.
"""

import random

WORDS = ("a", "b", "key", "zz", "Q", "mm")
TYPES = ("int", "float", "str", "bool", "list", "dict", "set", "deque", "tensor", "object")


class Scope:
    """Names that are bound at this place, by type; a child scope sees its parent's."""

    def __init__(self, parent=None, in_loop=False):
        self.names = {kind: list(parent.names[kind]) for kind in parent.names} if parent else {kind: [] for kind in TYPES}
        self.in_loop = in_loop or (parent.in_loop if parent else False)
        self.can_return = parent.can_return if parent else False

    def bind(self, kind, name):
        if name not in self.names[kind]:
            self.names[kind].append(name)

    def drop(self, name):
        for names in self.names.values():
            if name in names:
                names.remove(name)


class Expressions:
    """Builds expressions; `self.helpers` is {type: [call patterns with {int}, {tensor}… holes]} of the program's functions."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.helpers = {kind: [] for kind in TYPES}

    def of(self, kind, scope, depth=2):
        """Source text of an expression of type `kind`."""
        patterns = self._leaves(kind, scope)
        if depth > 0:
            patterns = patterns + self.helpers[kind] + _DEEP[kind]
        return self.fill(self.rng.choice(patterns), scope, depth - 1)

    def fill(self, pattern, scope, depth=1):
        """Replaces each {type} of a pattern by an expression, {name:type} by a bound name of that type."""
        out, rest = "", pattern
        while "«" in rest:
            head, _, tail = rest.partition("«")
            hole, _, rest = tail.partition("»")
            out += head + self._hole(hole, scope, depth)
        return out + rest

    def name(self, kind, scope):
        names = scope.names[kind]
        return self.rng.choice(names) if names else None

    def _hole(self, hole, scope, depth):
        if hole == "word":
            return repr(self.rng.choice(WORDS))
        if hole == "digit":
            return str(self.rng.randint(0, 4))
        if hole == "index":
            return self.rng.choice(("0", "0", "0", "-1", "1", f"({self.of('int', scope, 0)})"))
        if hole.startswith("name "):
            kind = hole[5:]
            return self.name(kind, scope) or _closed(self.of(kind, scope, 0))
        return _closed(self.of(hole if hole != "any" else self.rng.choice(TYPES[:5] + ("tensor",)), scope, depth))

    def _leaves(self, kind, scope):
        names = list(scope.names[kind]) * 2
        return names + [literal.replace("#", str(self.rng.randint(0, 9))) for literal in _LITERALS[kind]]


def _closed(text):
    """An operand that can stand anywhere."""
    return text if text.isidentifier() else f"({text})"


_LITERALS = {
    "int": ["#", "-#"],
    "float": ["#.5", "0.25", "-1.5"],
    "str": ["'a#'", "''", "'key'"],
    "bool": ["True", "False"],
    "list": ["[#, 1]", "[]", "[3, #, 2]"],
    "dict": ["{'a': #}", "{}", "{'b': 1, 'key': #}"],
    "set": ["{#, 1}", "set()"],
    "deque": ["deque([#, 2], 3)"],
    "tensor": ["torch.ones(4)", "(torch.arange(4.0) - #)"],
    "object": ["Plain(#)", "Prop(#)", "Sub(#)", "Slot(#)"],
}

# Patterns; «type» is filled with an expression of that type.
_DEEP = {
    "int": [
        "«int» + «int»", "«int» - «int»", "(«int» * «int») % 97", "abs(«int»)", "min(«int», «int»)", "len(«list»)", "len(«str»)", "len(«dict»)",
        "len(«set»)", "sum(«list»)", "«list».count(«int»)", "«dict».get(«word», «int»)", "(«int» if «bool» else «int»)", "«name object».n",
        "«name object».bump(«int»)", "«int» // («digit» + 1)", "«int» % («digit» + 1)", "max([«int», «int»])", "int(«bool»)", "next(iter(«list»), «int»)",
        "(lambda v: v + «int»)(«int»)", "(«name list» or [0])[«index»]", "«name dict».get(«word») or 0", "«name dict»[«word»]", "[«int», «int»][«digit» % 2]", "len(list(map(str, «list»)))",
        "sum(v for v in «list» if v % 2)", "(«deque» or [0])[0]", "ord(«word»[0])", "(«int» & 255) ^ «int»", "-«int»", "random.randint(0, 5)", "(«name list» or [5]).pop()",
        "«name dict».setdefault(«word», «int»)", "«name dict».pop(«word», «int»)", "«name object».twice",
    ],
    "float": ["«int» / 2", "«float» + «int»", "«float» * 0.5", "float(«int»)", "round(«float», 1)", "max(«float», «int»)", "-«float»", "abs(«float»)"],
    "str": [
        "f\"{«int»}\"", "f\"{«str»!r}:{«float»}\"", "str(«int»)", "«str».upper()", "(«str» + «str»)[-8:]", "'-'.join(map(str, «list»))[:12]", "repr(«list»)[:9]",
        "f\"{«list»}\"[:14]", "'%s|%d' % («word», «int»)", "'{}:{:>3}'.format(«word», «int»)", "«str»[::-1]", "type(«any»).__name__", "«str» if «bool» else «str»",
        "f\"{«float»:.2f}\"", "str(«bool»)", "next(iter(«dict»), «word»)",
    ],
    "bool": [
        "«int» < «int»", "«int» == «int»", "«int» in «list»", "«word» in «dict»", "«int» in «set»", "not «bool»", "(«bool» and «bool»)", "(«bool» or «bool»)",
        "«list» == «list»", "«name object» is «name object»", "hasattr(«name object», 'extra')", "isinstance(«name object», Plain)", "1 < «int» <= «int» < 9",
        "«str» != «str»", "«name list» is «name list»", "any(v > 1 for v in «list»)", "all(«list»)", "bool(«dict»)", "«float» > «int»", "«str».startswith('a')",
    ],
    "list": [
        "[v + «int» for v in «list»][:9]", "sorted(«list»)", "«list»[«digit»:]", "list(range(«digit»))", "(«list» + «list»)[:9]", "list(reversed(«list»))", "[«int», *«list»][:9]",
        "list(«set»)", "[v for v in «deque»]", "[a * b for a, b in zip(«list», «list»)]", "list(«dict».values())", "[i * v for i, v in enumerate(«list»)]",
        "list(filter(None, «list»))", "list(«list»)", "sorted(«list», key=lambda v: -v)", "list(gen(«digit»))", "[len(k) for k in «dict»]", "«list».copy()",
        "list(itertools.islice(gen(5), «digit»))", "list(itertools.accumulate(«list»))[:5]", "«name object».items",
    ],
    "dict": [
        "{str(v): v for v in «list»}", "dict(«dict»)", "{**«dict», «word»: «int»}", "dict(zip(«str», «list»))", "{k: v + 1 for k, v in «dict».items()}",
        "(«dict» | {«word»: «int»})", "dict.fromkeys(«str», «int»)", "dict(sorted(«dict».items()))",
    ],
    "set": ["set(«list»)", "{v % 3 for v in «list»}", "(«set» | «set»)", "(«set» - {«int»})", "(«set» & «set»)", "{*«list», «int»}"],
    "deque": ["deque(«list», maxlen=4)", "«deque».copy()"],
    "tensor": [
        "(«tensor» + «tensor»).clamp(-64, 64)", "(«tensor» * «digit»).clamp(-64, 64)", "«tensor» - «digit»", "«tensor».relu()", "-«tensor»", "«tensor».abs()",
        "(«tensor» * 0.5)", "«tensor».clone()", "torch.where(«tensor» > «digit», «tensor», «tensor»)", "«tensor» + «tensor»[«digit» % 4]", "«tensor».view(2, 2).t().reshape(4)",
        "(«tensor» if «bool» else «tensor»)", "«tensor» + «tensor».clamp(-8, 8).sum().clamp(-64, 64)", "(«tensor» + («int» % 50)).clamp(-64, 64)", "torch.maximum(«tensor», «tensor»)",
    ],
    "object": ["«name object»", "(«name object» if «bool» else «name object»)"],
}
