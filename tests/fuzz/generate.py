"""Random but valid programs: a module with classes, helpers, state and a function `fn` that does something with all of it.

In: a seed. Out: a harness.Program. Invariant: the same seed gives the same program; every loop is bounded and every
container is kept short, so that a program takes milliseconds.
"""

import random

from features import FEATURES, choose
from grammar import TYPES, WORDS, Expressions, Scope
from harness import Program

PRELUDE = """
import contextvars, functools, itertools, random, warnings
from collections import OrderedDict, defaultdict, deque
log = []
def note(v):
    if len(log) < 60:
        log.append(v)
class Plain:
    k = 1
    def __init__(self, n): self.n, self.items = n, [n]
    def bump(self, by=1):
        self.n = (self.n + by) % 1000
        return self.n + self.k
    @property
    def twice(self): return self.n * 2
    def __repr__(self): return f"{type(self).__name__}({self.n})"
class Sub(Plain):
    count = 0
    def bump(self, by=1):
        Sub.count += 1
        self.items.append(Sub.count)
        del self.items[:-6]
        return super().bump(by) + 1
class Prop(Plain):
    @property
    def n(self): return self._n
    @n.setter
    def n(self, value):
        if len(log) < 40:
            log.append(("set", value))
        self._n = value
class Spy(Plain):
    def __setattr__(self, name, value):
        if len(log) < 40:
            log.append((name, len(log)))
        object.__setattr__(self, name, value)
class Slot(Plain):
    __slots__ = ("n", "items", "extra")
    def __repr__(self): return "Slot"
class Scope:
    def __init__(self, name, swallow=False): self.name, self.swallow = name, swallow
    def __enter__(self):
        log.append("+" + self.name)
        return self
    def __exit__(self, kind, value, trace):
        log.append(("-" + self.name, kind and kind.__name__))
        return self.swallow
class Problem(Exception): pass
def gen(n):
    for v in range(n):
        if len(log) < 60:
            log.append(("gen", v))
        yield v * 2
def chain(n):
    got = yield from gen(n)
    yield (n, got)
async def soon(n): return n + 1
def drive(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
@functools.lru_cache(maxsize=3)
def cached(n):
    log.append(("cached", n))
    return n * n % 50
var = contextvars.ContextVar("var", default=0)
def make(start):
    n = start
    def step(by=1):
        nonlocal n
        n = (n + by) % 1000
        return n
    def peek(): return n
    return step, peek
step, peek = make(3)
"""

GLOBALS = {
    "int": ("gi", "7"), "float": ("gf", "0.5"), "str": ("gs", "'g'"), "list": ("items", "[3, 1, 2]"), "dict": ("table", "{'a': 1, 'key': 2}"),
    "set": ("seen", "{1, 2}"), "deque": ("window", "deque([1], maxlen=3)"), "tensor": ("t", "torch.ones(4)"), "object": ("b1", "«object»"),
}

NAMES = ("gi", "gf", "gs", "items", "table", "seen", "window", "t", "b1", "b2", "alias", "it", "od")

CHANGES = (
    "gi = 40", "gi = True", "gf = 2", "items.append(5)", "items = [9, 8]", "table['new'] = 3", "table.clear()", "Plain.k = 5", "b1 = b2", "b2 = Spy(4)",
    "b1.__class__ = Sub", "t = torch.ones(4) * 3", "t.add_(1)", "seen.clear()", "window.append(0)", "random.seed(5)", "step(10)", "cached.cache_clear()",
    "b1.extra = 1", "items = alias", "alias = items", "def helper0(n): return n + 77", "del items[:]", "Sub.bump = Plain.bump", "var.set(9)", "b1, b2 = b2, b1",
    "del gs", "gs = 'new'", "od.move_to_end('p')", "table = {'a': 1.5}",
)


class Statements:
    """Writes statements into lines; every method appends to `self.lines` at the current depth."""

    def __init__(self, rng, features):
        self.rng, self.expressions, self.lines, self.level, self.fresh = rng, Expressions(rng), [], 0, 0
        self.patterns = list(_SIMPLE)
        names = list(NAMES)
        for feature in features:
            self.patterns += feature.statements * 3
            names += feature.names
            for kind, patterns in feature.expressions.items():
                self.expressions.helpers[kind] += patterns
        self.globals = ", ".join(names)

    def emit(self, text):
        self.lines.append("    " * self.level + text)

    def of(self, kind, scope, depth=2):
        return self.expressions.of(kind, scope, depth)

    def fill(self, pattern, scope):
        return self.expressions.fill(pattern, scope, 1)

    def new_name(self):
        self.fresh += 1
        return f"v{self.fresh}"

    def block(self, scope, budget, in_loop=False):
        inner = Scope(scope, in_loop)
        self.level += 1
        before = len(self.lines)
        for _ in range(self.rng.randint(1, max(1, budget))):
            self.statement(inner, budget - 1)
        if len(self.lines) == before:
            self.emit("pass")
        self.level -= 1

    def statement(self, scope, budget):
        kinds = ["assign"] * 5 + ["simple"] * 9
        if budget > 0:
            kinds += ["if_", "for_", "try_", "with_", "closure", "while_", "match_", "if_", "group", "local_class"]
        if scope.can_return and self.rng.random() < 0.04:
            kinds = ["return_"]
        getattr(self, self.rng.choice(kinds))(scope, budget)

    def assign(self, scope, _budget):
        kind = self.rng.choice(TYPES)
        value = self.of(kind, scope)
        name = self.new_name()
        if self.rng.random() < 0.15:
            other, other_kind = self.new_name(), self.rng.choice(TYPES)
            self.emit(f"{name}, {other} = {value}, {self.of(other_kind, scope)}")
            scope.bind(other_kind, other)
        else:
            self.emit(f"{name} = {value}")
        scope.bind(kind, name)

    def simple(self, scope, _budget):
        pattern = self.rng.choice(self.patterns)
        if pattern in ("break", "continue"):
            if not scope.in_loop:
                return
            self.emit(f"if {self.of('bool', scope, 1)}: {pattern}")
            return
        guarded = self.rng.random() < 0.3
        self.level += guarded
        if guarded:
            self.lines.append("    " * (self.level - 1) + "try:")
        for line in self.fill(pattern, scope).split("\n"):
            self.emit(line)
        self.level -= guarded
        if guarded:
            self.emit("except Exception as error: note(repr(error)[:40])")

    def return_(self, scope, _budget):
        self.emit(f"if {self.of('bool', scope, 1)}: return {self.of(self.rng.choice(TYPES), scope)}")

    def if_(self, scope, budget):
        self.emit(f"if {self.of('bool', scope)}:")
        self.block(scope, budget)
        if self.rng.random() < 0.3:
            self.emit(f"elif {self.of('bool', scope)}:")
            self.block(scope, budget)
        if self.rng.random() < 0.5:
            self.emit("else:")
            self.block(scope, budget)

    def for_(self, scope, budget):
        name, inner = self.new_name(), Scope(scope, True)
        target, source = self.rng.choice((
            (name, "range(«digit»)"), (name, "«list»[:4]"), (name, "gen(«digit»)"), (f"i{name}, {name}", "enumerate(«list»[:3])"),
            (f"k{name}, {name}", "list(«dict».items())[:3]"), (f"i{name}, {name}", "zip(«list»[:3], «list»[:3])"), (name, "sorted(«set»)[:3]"),
            (name, "iter(«deque».copy())"), (name, "map(abs, «list»[:3])"), (name, "reversed(«list»[:3])")))
        inner.bind("int", name)
        self.emit(f"for {target} in {self.fill(source, scope)}:")
        self.block(inner, budget, in_loop=True)
        if self.rng.random() < 0.25:
            self.emit("else:")
            self.block(scope, budget - 1)

    def while_(self, scope, budget):
        name, inner = "w" + self.new_name(), Scope(scope, True)  # closures write to names in v only: the loop ends
        self.emit(f"{name} = 0")
        inner.bind("int", name)
        self.emit(f"while {name} < {self.rng.randint(1, 3)}:")
        self.level += 1
        self.emit(f"{name} += 1")
        self.level -= 1
        self.block(inner, budget, in_loop=True)

    def try_(self, scope, budget):
        self.emit("try:")
        self.block(scope, budget)
        if self.rng.random() < 0.7:
            self.level += 1
            self.emit(self.fill(self.rng.choice(_RISKY), scope))
            self.level -= 1
        kinds = self.rng.choice((("(ValueError, KeyError)", "Exception"), ("Problem", "LookupError", "Exception"), ("Exception",)))
        for kind in kinds:
            self.emit(f"except {kind} as error:")
            self.level += 1
            self.emit(self.rng.choice(("log.append(str(error)[:30])", "log.append(type(error).__name__)", "pass")))
            self.level -= 1
            if self.rng.random() < 0.4:
                self.block(scope, budget - 1)
            if self.rng.random() < 0.1:
                self.level += 1
                self.emit(self.rng.choice(("raise", "raise Problem('again') from error")))
                self.level -= 1
        if self.rng.random() < 0.3:
            self.emit("else:")
            self.block(scope, budget - 1)
        if self.rng.random() < 0.4:
            self.emit("finally:")
            self.block(scope, budget - 1)

    def with_(self, scope, budget):
        swallow = self.rng.choice(("", ", True"))
        self.emit(f"with Scope({self.rng.choice(WORDS)!r}{swallow}):")
        self.block(scope, budget)
        if swallow and self.rng.random() < 0.5:
            self.level += 1
            self.emit(self.fill(self.rng.choice(_RISKY), scope))
            self.level -= 1

    def closure(self, scope, budget):
        name, captured = self.new_name(), self.expressions.name("int", scope)
        inner = Scope(scope)
        inner.in_loop, inner.can_return = False, False
        inner.bind("int", "arg")
        self.emit(f"def {name}(arg, extra=({self.of('int', scope, 1)})):")
        self.level += 1
        self.emit(f"global {self.globals}")
        if captured and captured.startswith("v"):
            self.emit(f"nonlocal {captured}")
            self.emit(f"{captured} = ({captured} + arg) % 1000")
        self.level -= 1
        self.block(inner, min(budget, 2))
        self.level += 1
        self.emit(f"return ({self.of('int', inner, 1)}) + extra")
        self.level -= 1
        self.emit(f"log.append({name}({self.of('int', scope, 1)}))")
        if self.rng.random() < 0.3:
            self.emit(f"log.append({name})")

    def group(self, scope, budget):
        """except*, with a group that may or may not match."""
        self.emit("try:")
        self.block(scope, budget - 1)
        self.level += 1
        self.emit(self.fill("if «bool»: raise ExceptionGroup('g', [ValueError(«int»), KeyError(«str»), Problem()][:«digit»])", scope))
        self.level -= 1
        for kind in self.rng.sample(("ValueError", "(KeyError, Problem)", "Exception"), 2):
            self.emit(f"except* {kind} as found:")
            self.level += 1
            self.emit("log.append((str(found), len(found.exceptions)))")
            self.level -= 1

    def local_class(self, scope, _budget):
        name, made = self.new_name(), self.new_name()
        self.emit(f"class {name}({self.rng.choice(('Plain', 'Sub', 'Prop'))}):")
        self.level += 1
        self.emit(f"extra = {self.of('int', scope, 1)}")
        if self.rng.random() < 0.6:
            self.emit("def bump(self, by=1): return super().bump(by) + self.extra")
        else:
            self.emit("@classmethod")
            self.emit("def make(cls, n): return cls(n)")
        self.level -= 1
        self.emit(f"{made} = {name}({self.of('int', scope, 1)})")
        scope.bind("object", made)

    def match_(self, scope, budget):
        self.emit(f"match {self.of(self.rng.choice(('int', 'list', 'dict', 'object')), scope)}:")
        self.level += 1
        for case in self.rng.sample(("case 0 | 1:", "case [first, *_]:", "case {'a': first}:", "case Plain(n=first) if first > 2:", "case int(first):",
                                     "case [] | {}:"), 2):
            self.emit(case)
            self.block(scope, budget - 1)
        self.emit("case _:")
        self.block(scope, budget - 1)
        self.level -= 1


_RISKY = (
    "int('x')", "items[99]", "table['missing']", "1 // («int» * 0)", "raise Problem(«int»)", "b1.nothing", "[].pop()", "raise ValueError(«str»)", "next(iter(()))",
    "assert «bool», 'asserted'", "t.view(3, 5)", "None + 1", "helper1()", "items.remove(1234)", "{}[«int»]", "a_name_that_is_missing",
)

_SIMPLE = (
    "del gs\ngs = («str»)[-9:]", "log.append(dict(**«dict», z=«int»))", "items[1:3] = «list»\ndel items[12:]", "log.append(~«int»)", "log.append(list(chain(«digit»)))",
    "if «name object» is not None: log.append('object')", "log.append(drive(soon(«int»)))", "log.append(chain(«digit»))", "log.append((*«list», *«str»))", "log.append({**«dict», 'q': 1})",
    "log.append(max(«list», default=«int»))", "log.append([*map(lambda v, w=«int»: v + w, «list»)][:5])", "log.append(list(zip(*[«list», «list»]))[:3])", "log.append(«str».join(['p', 'q'])[:9])",
    "window = deque(«list», maxlen=4)", "seen ^= {«int» % 9}", "seen = {«int» % 9, 1}", "table = dict(sorted(table.items()))", "items = sorted(items, key=lambda v: (v % 3, v))",
    "log.append(getattr(«name object», «word», None))", "log.append(type(«name object»).__name__)", "log.append(isinstance(«any», (int, str)))", "log.append(torch.stack([«tensor», «tensor»]).sum(0))",
    "log.append((«tensor» > «digit»).sum())", "a, b = t[:2], t[2:]\na.copy_(b)", "t = t.clone()", "log.append(t is x)", "log.append(x.tolist())", "log.append([float(v) for v in t])",
    "gi = «int»", "gi += «int»", "gf = «float»", "gs = («str»)[-10:]", "gs += «word»\ngs = gs[-9:]", "items.append(«int»)\ndel items[:-12]", "items.insert(0, «int»)\ndel items[12:]",
    "items.extend(«list»)\ndel items[:-12]", "items.sort()", "items.reverse()", "items[0:1] = [«int»]", "if items: items[«index»] = «int»", "if items: del items[«index»]", "items += [«int»]\ndel items[:-12]",
    "«name list».append(«int»)", "«name list»[:] = «list»", "table[«word»] = «int»", "table.update(«dict»)\nwhile len(table) > 8: table.popitem()", "table.pop(«word», None)",
    "table[«word»] += «int»", "if «word» in table: del table[«word»]", "del table[«word»]", "table |= {«word»: «int»}", "table.setdefault(«word», «int»)", "«name dict»[«word»] = «int»", "seen.add(«int» % 50)", "seen |= {«int» % 50}",
    "seen.discard(«int»)", "seen &= set(«list») | {1, 2}", "window.append(«int»)", "window.appendleft(«int»)", "window.rotate(«int»)", "window.extend(«list»)",
    "«name object».n = «int»", "«name object».n += «int»", "«name object».extra = «any»", "if hasattr(«name object», 'extra'): del b1.extra", "del «name object».extra",
    "setattr(«name object», 'n', «int»)", "«name object».items.append(«int»)\ndel «name object».items[:-8]", "log.append(«any»)", "log.append(«name object».bump(«int»))",
    "print(«str», «int», «list»)", "print(f'{«int»} {«str»}', end=';')", "print(t)", "torch.graph_break()", "t.add_(«digit»).clamp_(-64, 64)", "t[«digit» % 4] = «digit»", "t = «tensor»",
    "t += «digit»\nt.clamp_(-64, 64)", "t.copy_(«tensor»)", "x.mul_(«digit»).clamp_(-64, 64)", "«name tensor».add_(1).clamp_(-64, 64)", "t.view(2, 2)[0].add_(1)", "log.append(«tensor»)",
    "log.append(float((«tensor»).sum()))", "log.append((«tensor»).sum().item())", "log.append(f'{(«tensor»).sum()}')", "log.append(step(«int»))", "log.append(peek())", "log.append(cached(«digit»))",
    "log.append(gen(«digit»))", "log.append(list(gen(«digit»)))", "log.append(map(abs, «list»))", "log.append(zip(«list», «list»))", "log.append(next(it, 'end'))", "it = iter(«list»)",
    "od[«word»] = «int»", "if 'p' in od: od.move_to_end('p')", "groups[«word»].append(«int»)\ndel groups['zz'][:-5]", "var.set(var.get() + 1)", "log.append(var.get())", "Sub.count += 1", "Plain.k = «digit»",
    "helper0.calls = getattr(helper0, 'calls', 0) + 1", "warnings.warn(f'w{«digit»}')", "log.append(random.random())", "random.seed(«digit»)", "alias.append(«int»)\ndel alias[:-12]", "alias = items",
    "items = list(items)", "b2 = b1", "b1 = «object»", "box = {'l': items, 'b': b1}\nbox['l'].append(1)\nlog.append(box)", "first, *rest = [«int», *«list»]\nlog.append(rest)", "log.append(locals().keys() and 1)",
    "if («tensor»).sum() > «digit»: log.append('data')", "break", "continue", "log.append((lambda a, *b, **c: (a, b, c))(«int», *«list», k=«int»))", "log.append(helper1(«tensor»))", "if items: items[0], gi = «int», «int»",
    "log.append(sorted(table.items()))", "log.append(hasattr(b1, 'extra'))", "log.append(b1 is b2)", "assert «bool» or «bool» or True, «str»", "log.append([(a, b) for a in «list»[:2] for b in «list»[:2] if a != b])", "del log[:-30]",
)


def program(seed):
    """The program of a seed."""
    rng = random.Random(seed)
    features = [FEATURES[name] for name in choose(rng)]
    writer = Statements(rng, features)
    for source in (PRELUDE, *(feature.source for feature in features)):
        writer.lines.extend(source.strip("\n").split("\n"))
    module = Scope()
    for kind, (name, value) in GLOBALS.items():
        writer.emit(f"{name} = {writer.fill(value, module) if kind == 'object' else value}")
        module.bind(kind, name)
    writer.emit(f"b2 = {rng.choice(('b1', 'Plain(2)', 'Spy(1)', 'Prop(3)', 'Slot(4)', 'Sub(5)'))}")
    writer.emit(f"alias = {rng.choice(('items', '[4]', 'b1.items'))}")
    writer.emit("it, od, groups = iter(range(6)), OrderedDict(p=1, q=2), defaultdict(list)")
    for kind, name in (("object", "b2"), ("list", "alias"), ("dict", "od")):
        module.bind(kind, name)
    everywhere, writer.patterns = writer.patterns, [one for one in writer.patterns if "helper1(" not in one]  # no recursion without end
    _function(writer, module, "helper0(n=1)", {"int": ["n"]}, "int", rng.randint(1, 3))
    writer.expressions.helpers["int"].append("helper0(«int»)")
    _function(writer, module, "helper1(y, k=2)", {"tensor": ["y"], "int": ["k"]}, "tensor", rng.randint(1, 3))
    writer.expressions.helpers["tensor"].append("helper1(«tensor»)")
    writer.patterns = everywhere
    _function(writer, module, "fn(x, n=0, flag=False, o=None, l=None)",
              {"tensor": ["x"], "int": ["n"], "bool": ["flag"], "object": ["o"], "list": ["l"]}, None, rng.randint(4, 9))
    call = rng.choice((
        "fn(x + i, i, i % 2 == 0, b1, items)", "fn(x, 3, True, (b1, b2)[i % 2], (items, alias, [1])[i % 3])", "fn(x * 2, i // 2, o=b2, l=alias)",
        "fn(t, -i, flag=i > 1, o=b1, l=b1.items)", "fn(x.clone(), (1, True, 1.0)[i % 3], False, Plain(i), [i])"))
    changes = CHANGES + sum((feature.changes for feature in features), ()) * 3
    steps = [2, _change(rng, changes), 1, _change(rng, changes), 2]
    return Program("\n".join(writer.lines), call=call, steps=steps, may_raise=True, breaks=None)


def _change(rng, changes):
    text = rng.choice(changes).replace("\n", "\n    ")
    return f"try:\n    {text}\nexcept Exception: pass"


def _function(writer, module, header, parameters, result, size):
    scope = Scope(module)
    for kind, found in parameters.items():
        for name in found:
            scope.bind(kind, name)
    scope.can_return = result is None
    writer.emit(f"def {header}:")
    writer.level += 1
    writer.emit(f"global {writer.globals}")
    for _ in range(size):
        writer.statement(scope, 3 if result is None else 2)
    if result is None:
        values = ", ".join(writer.of(kind, scope, 1) for kind in writer.rng.sample(TYPES, 4))
        writer.emit(f"return x, {values}")
    else:
        writer.emit(f"return {writer.of(result, scope, 1)}")
    writer.level -= 1
