"""Parts of Python that a random program may or may not use: definitions, and statements and expressions that use them.

In: a random.Random. Out: some of FEATURES. Invariant: as in grammar.py values stay small and loops are bounded; `note`
(in generate.py's prelude) writes to `log` as long as that is short. No function keeps an exception that it has raised: that is a
cycle through its own frame, and when the collector finds it is nobody's promise.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Feature:
    """`source` stands in the module; `statements` and `expressions` (by type) are patterns of grammar.py; `changes` are
    statements that change the premises between two calls; `names` are globals that the statements assign."""

    source: str
    statements: tuple
    expressions: dict
    changes: tuple
    names: tuple = ()


_DESCRIPTORS = Feature(
    """
class Field:
    def __init__(self, start): self.start = start
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, obj, owner=None):
        if obj is None: return self
        return obj.__dict__.get(self.name, self.start)
    def __set__(self, obj, value):
        if value == 13: raise ValueError("thirteen")
        note(("field", self.name, value))
        obj.__dict__[self.name] = value
    def __delete__(self, obj):
        note("delete " + self.name)
        del obj.__dict__[self.name]
class Lookup:
    def __get__(self, obj, owner=None): return ("class" if obj is None else obj.a, owner.__name__)
class Host:
    a = Field(1)
    b = Field(2)
    c = Lookup()
    @functools.cached_property
    def heavy(self):
        note("heavy")
        return self.a * 2
    @property
    def p(self): return self.a + self.b
    @p.setter
    def p(self, value): self.a, self.b = value, value % 7
    @p.deleter
    def p(self): del self.a
    @staticmethod
    def double(v): return v * 2
    @classmethod
    def build(cls, v):
        made = cls()
        made.a = v
        return made
    def __repr__(self): return f"Host{sorted(self.__dict__)}"
class SubHost(Host):
    b = 5
    @property
    def p(self): return super().p + 100
host, subhost = Host(), SubHost()
""",
    (
        "host.a = «int»", "host.b += «int»\nhost.b %= 50", "del host.a", "host.p = «int»", "del host.p", "log.append(host.c)", "log.append((Host.c, Host.a is Field, Host.p is None))",
        "log.append(host.heavy)", "host.__dict__.pop('heavy', None)", "host.heavy = «int»", "del host.heavy", "subhost.b = «int»", "subhost.p = «int»", "log.append(subhost.p)",
        "h = Host.build(«int»)\nlog.append((h.p, h.heavy, h))", "log.append(vars(host))", "host.__dict__['a'] = «int»\nlog.append(host.a)", "host.__dict__['c'] = «int»\nlog.append(host.c)",
        "h = SubHost.build(«digit»)\nh.b = «int»\nlog.append((h.p, h.double(h.b)))", "setattr(host, 'b', «int»)", "log.append([getattr(h, 'p', None) for h in (host, subhost, b1)])",
        "log.append(type(host).__dict__['a'].start)", "type(host).a.__get__",
    ),
    {"int": ["host.a", "host.b", "host.p", "host.heavy", "subhost.p", "Host.double(«int»)", "subhost.double(«int»)", "subhost.b"]},
    ("Host.c = 5", "Host.a.start = 9", "host.__class__ = SubHost", "Host.double = staticmethod(lambda v: v * 3)", "Field.__get__ = lambda self, obj, owner=None: 4", "del SubHost.b"),
)

_DYNAMIC_ATTRIBUTES = Feature(
    """
class Proxy:
    def __init__(self, inner): object.__setattr__(self, "inner", inner)
    def __getattr__(self, name):
        note("get " + name)
        if name == "none": raise AttributeError("no none")
        return getattr(self.inner, name)
    def __setattr__(self, name, value):
        note("set " + name)
        setattr(self.inner, name, value)
    def __delattr__(self, name):
        note("del " + name)
        delattr(self.inner, name)
class Watcher:
    def __init__(self): self.n, self.reads = 1, 0
    def __getattribute__(self, name):
        if name == "n":
            object.__setattr__(self, "reads", (object.__getattribute__(self, "reads") + 1) % 50)
        return object.__getattribute__(self, name)
class Lazy:
    def __getattr__(self, name):
        if name.startswith("_"): raise AttributeError(name)
        value = len(self.__dict__)
        self.__dict__[name] = value
        return value
    def __dir__(self): return ["x", "y"]
class Closed:
    __slots__ = ("left", "right", "__dict__")
    def __init__(self, left): self.left = left
class Strict:
    __slots__ = ("one", "two")
    def __init__(self, one): self.one = one
    def __eq__(self, other): return type(other) is Strict and self.one == other.one
    def __hash__(self): return hash(self.one)
proxy, watcher, lazy, closed, strict = Proxy(Plain(2)), Watcher(), Lazy(), Closed(1), Strict(1)
""",
    (
        "log.append(proxy.n)", "proxy.n = «int»", "proxy.extra = «any»", "del proxy.extra", "log.append(hasattr(proxy, 'none'))", "log.append(getattr(proxy, 'none', «int»))", "log.append(proxy.bump(«int»))",
        "proxy.missing", "watcher.n = «int»", "log.append((watcher.n, watcher.reads))", "log.append(watcher.nothing)", "lazy.x += «int»\nlazy.x %= 30", "log.append((lazy.y, lazy.x))", "lazy.__dict__.clear()", "log.append(hasattr(lazy, '_z'))",
        "log.append(dir(lazy))", "closed.left = «int»", "closed.right = «any»", "del closed.right", "log.append(closed.right)", "closed.other = «int»\nlog.append(closed.__dict__)", "strict.two = «int»", "del strict.two",
        "strict.three = 1", "log.append(hasattr(strict, 'two'))", "s = Strict(«int»)\ns.two = s\nlog.append((s.two.one, s == strict))", "p = Proxy(proxy)\np.n = «int»\nlog.append(p.n)", "log.append(getattr(strict, 'two', 0))",
        "for name in ('one', 'two'):\n    setattr(strict, name, «int»)", "strict.one += 1\nstrict.one %= 40", "log.append(strict in (Strict(1), Strict(2)))", "log.append({strict: 1}.get(Strict(1)))",
    ),
    {"int": ["proxy.n", "watcher.n", "lazy.x", "closed.left", "strict.one"], "bool": ["hasattr(proxy, 'none')", "hasattr(closed, 'right')", "strict == Strict(1)"]},
    ("Proxy.__getattr__ = lambda self, name: 7", "proxy.inner.n = 5", "del Watcher.__getattribute__", "strict.two = 3", "lazy.x = 2", "Strict.one.__set__(strict, 8)", "Watcher.extra = 1", "proxy = Proxy(strict)"),
)

_METACLASSES = Feature(
    """
class Meta(type):
    made = []
    def __new__(mcls, name, bases, space, **options):
        cls = super().__new__(mcls, name, bases, space)
        cls.options = options
        return cls
    def __init__(cls, name, bases, space, **options):
        Meta.made.append(name)
        del Meta.made[:-5]
        super().__init__(name, bases, space)
    def __call__(cls, *args):
        note("make " + cls.__name__)
        return super().__call__(*args)
    def __len__(cls): return 3
    def __getitem__(cls, key): return (cls.__name__, key)
    def __contains__(cls, item): return item == 2
    @property
    def label(cls): return "<" + cls.__name__ + ">"
    def __instancecheck__(cls, obj): return type.__instancecheck__(cls, obj) or obj == 4
class Base(metaclass=Meta, size=2):
    registry = {}
    def __init_subclass__(cls, tag=None, **rest):
        super().__init_subclass__(**rest)
        Base.registry[cls.__name__] = tag
    def __init__(self, v=0): self.v = v
    def __class_getitem__(cls, item): return item
class Derived(Base, tag="d"):
    def who(self): return __class__.__name__ + str(self.v)
class Single:
    instance = None
    def __new__(cls, *args):
        if cls.instance is None: cls.instance = super().__new__(cls)
        return cls.instance
    def __init__(self, v=0): self.v = v
class Number(int):
    def __new__(cls, v, unit="m"):
        self = super().__new__(cls, v)
        self.unit = unit
        return self
    def __add__(self, other): return Number(int(self) + int(other), self.unit)
    def __repr__(self): return f"{int(self)}{self.unit}"
base = Base(1)
""",
    (
        "log.append((Base.label, len(Base), Base['k'], 2 in Base))", "log.append(isinstance(«int», Base))", "log.append(Derived(«int»).who())", "base.v = «int»", "log.append(type(base).options)", "log.append(base.label)",
        "class Local(Base, tag=«int», more=1): pass\nlog.append((Local.options, Base.registry))", "class Local(Derived, tag=«str»):\n    def who(self): return super().who() + '!'\nlog.append(Local(«digit»).who())",
        "log.append(Single(«int») is Single(«int»))", "log.append(Single(«int»).v)", "Single.instance = None", "log.append(Number(«int») + «int»)", "log.append(str(Number(«int», 'kg')))", "n2 = Number(«int») * 2\nlog.append((n2, type(n2).__name__))",
        "made = type('Dyn', (Plain,), {'k': «int»})\nlog.append(made(1).bump())", "made = Meta('Dyn2', (Base,), {'q': «int»})\nlog.append((made.q, made().v, made.label))", "log.append(Meta.made)", "log.append(Base.registry)", "del Base.registry['Derived']",
        "log.append([c.__name__ for c in Derived.__mro__])", "log.append(issubclass(Derived, Base))", "log.append(Number(3).unit)", "log.append({Number(2): 1}[2])", "Base.registry['x'] = «int»",
    ),
    {"int": ["len(Base)", "base.v", "Single(«int»).v", "int(Number(«int»))", "len(Base.registry)"], "bool": ["isinstance(«int», Base)", "«int» in Base", "Single() is Single()"], "str": ["Base.label", "repr(Number(«int»))"]},
    ("Meta.__len__ = lambda cls: 4", "base.__class__ = Derived", "Base.registry = {}", "del Derived.who", "Number.__add__ = int.__add__", "Meta.__contains__ = lambda cls, item: True"),
)

_DATA = Feature(
    """
import collections, dataclasses, enum, typing
@dataclasses.dataclass
class Point:
    x: int = 0
    y: int = 0
    tags: list = dataclasses.field(default_factory=list)
    total: int = dataclasses.field(init=False, default=0, compare=False)
    def __post_init__(self): self.total = self.x + self.y
    def moved(self, dx=1): return dataclasses.replace(self, x=self.x + dx)
@dataclasses.dataclass(frozen=True, order=True)
class Version:
    major: int
    minor: int = 0
    def next(self): return Version(self.major, self.minor + 1)
@dataclasses.dataclass(slots=True, kw_only=True)
class Row:
    key: str
    value: int = 1
class Color(enum.Enum):
    RED = 1
    GREEN = 2
    CRIMSON = 1
    @property
    def pretty(self): return self.name.title()
    @classmethod
    def _missing_(cls, value): return cls.RED if value == 77 else None
class Flag(enum.IntFlag):
    A = 1
    B = 2
    C = 4
class Word(str, enum.Enum):
    HI = "hi"
    LO = "lo"
Pair = collections.namedtuple("Pair", "first second", defaults=[9])
class Item(typing.NamedTuple):
    name: str
    size: int = 2
    def bigger(self): return self._replace(size=self.size + 1)
point, version, row, color, flag = Point(1, 2), Version(1), Row(key="k"), Color.RED, Flag.A
""",
    (
        "point.x = «int»", "point.tags.append(«int»)\ndel point.tags[:-4]", "log.append(point)", "log.append(point.moved(«int»))", "log.append(Point(«int», «int»).total)", "log.append(Point(«int») == Point(«int»))", "version.major = 2",
        "log.append(sorted([Version(«digit»), version, Version(1, «digit»)]))", "log.append(version.next() > version)", "log.append({version: «int», Version(1): 2})", "log.append(dataclasses.asdict(point))", "log.append(dataclasses.astuple(Point(«int»)))",
        "log.append([f.name for f in dataclasses.fields(point)])", "row.value += «int»\nrow.value %= 90", "row.other = 1", "log.append(Row(key=«str», value=«int»))", "log.append(Row(«int»))", "log.append(Color(«digit»))", "log.append(Color['GREEN'].pretty)",
        "log.append([c.name for c in Color])", "log.append(color is Color.CRIMSON)", "log.append(Color(77))", "log.append({Color.RED: «int»}.get(Color(1)))", "log.append(Flag.A | Flag(«digit» % 4))", "log.append(Flag.B in (flag | Flag.B))", "log.append(flag == 1)",
        "log.append(f'{Word.HI} {Word.LO.value}')", "log.append(Word('hi') == 'hi')", "log.append(Pair(«int»))", "log.append(Pair(*«list»[:2]))", "log.append(Pair(1)._replace(first=«int»)._asdict())", "a, b = Pair(«int», «int»)\nlog.append(a)",
        "log.append(Item(«str», «int»).bigger())", "match point:\n    case Point(x=0, y=yy): log.append(yy)\n    case Point(x=xx) if xx > 2: log.append(('x', xx))\n    case Point(xx, yy): log.append((xx, yy))",
        "match Color(«digit» % 2 + 1):\n    case Color.RED: log.append('red')\n    case Color.GREEN: log.append('green')", "match Pair(«digit», «int»):\n    case (0, other): log.append(other)\n    case Pair(first=f, second=s): log.append((f, s))",
        "match {'kind': «word», 'n': «int», **«dict»}:\n    case {'kind': 'a' | 'b' as kind, **rest}: log.append((kind, rest))\n    case {'n': int(n) | float(n)} if n > 0: log.append(n)\n    case {}: log.append('other')",
        "match «list»:\n    case []: log.append('empty')\n    case [one]: log.append(one)\n    case [one, *_, last] if one == last: log.append(one)\n    case [_, *middle, _]: log.append(middle)",
        "p = Point(«int»)\np.z = p\nlog.append(p.z.z.x)", "log.append(hash(Version(«int»)) == hash(Version(«int»)))", "for c in Color: log.append(c.value)", "point.__init__(«int», «int»)", "log.append(dataclasses.replace(version, minor=«int»))",
    ),
    {"int": ["point.x", "point.total", "version.major", "row.value", "Point(«int», «int»).total", "Pair(«int»).second", "Item('q', «int»).size", "Flag.C.value", "Color(1).value", "point.moved(«int»).x"],
     "bool": ["point == Point(«int»)", "version < Version(«int»)", "color is Color.RED", "Flag.A in flag"], "str": ["repr(point)[:20]", "Color.GREEN.pretty", "row.key", "str(color)"],
     "list": ["point.tags", "list(Pair(«int», «int»))", "[c.value for c in Color]"]},
    ("point = Point(5, 6, [1])", "color = Color.GREEN", "flag = Flag.A | Flag.B", "row.key = 5", "Point.moved = lambda self, dx=1: self", "version = Version(3)", "Point.total = 3", "row = point"),
)

_FUNCTIONS = Feature(
    """
import operator
def default(v, seen=[], *, table={}):
    seen.append(v)
    table[len(table) % 4] = v
    del seen[:-5]
    return seen
def counted(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        wrapper.calls += 1
        wrapper.calls %= 100
        return function(*args, **kwargs)
    wrapper.calls = 0
    return wrapper
def repeat(times):
    def decorate(function):
        def inner(*args):
            result = None
            for _ in range(times): result = function(*args)
            return result
        return inner
    return decorate
@counted
@repeat(2)
def work(n, *rest):
    note(("work", n, rest))
    return n + len(rest)
@functools.singledispatch
def kind(v): return "object"
@kind.register
def _(v: int): return "int"
@kind.register(list)
def _(v): return "list%d" % len(v)
@kind.register(Sub)
def _(v): return "sub"
@functools.cache
def fib(n): return n if n < 2 else (fib(n - 1) + fib(n - 2)) % 1000
def signature(a, b=2, /, c=3, *args, d, e=5, **rest): return (a, b, c, args, d, e, rest)
add5 = functools.partial(operator.add, 5)
keyed = functools.partial(signature, 1, d=4)
def accumulate():
    total, history = 0, []
    def add(v):
        nonlocal total
        def inner():
            nonlocal total
            total = (total + v) % 500
            return total
        history.append(inner())
        del history[:-4]
        return history
    def reset():
        nonlocal total, history
        total, history = 0, []
    return add, reset
add, reset = accumulate()
def vary(n):
    if n > 2: q = 1
    def inner(): return q
    if n == 1: return inner
    return inner()
class Adder:
    def __init__(self, k): self.k = k
    def __call__(self, v, *, twice=False): return v + self.k * (2 if twice else 1)
    __add__ = lambda self, other: Adder(self.k + other.k)
    def __mul__(self, other): return NotImplemented if isinstance(other, str) else Adder(self.k * other)
    def __rmul__(self, other): return Adder(-self.k)
    def __matmul__(self, other): return ("mat", other)
    def __iadd__(self, other):
        self.k += other if isinstance(other, int) else 1
        self.k %= 60
        return self
    def __neg__(self): return Adder(-self.k)
    def __getitem__(self, key): return key
    def __bool__(self): return self.k > 2
    def __repr__(self): return f"Adder({self.k})"
adder = Adder(2)
""",
    (
        "log.append(default(«int»))", "log.append(default(«int», table={}))", "log.append(default.__defaults__)", "default.__defaults__ = ([«int»],)", "log.append(work(«int», *«list»))", "log.append(work.calls)", "log.append(kind(«any»))", "log.append(kind(«name object»))",
        "log.append(fib(«digit» + 3))", "log.append(fib.cache_info().currsize)", "fib.cache_clear()", "log.append(signature(«int», d=«int»))", "log.append(signature(«int», «int», *«list», d=1, **«dict»))", "log.append(signature(1, d=2, a=«int»))", "log.append(signature(*«list»))",
        "log.append(signature(**{'d': 1, «word»: «int»}))", "log.append(keyed(c=«int»))", "log.append(keyed(«int», d=9, z=1))", "log.append(functools.reduce(operator.add, «list», «int»))", "log.append(add(«int»))", "reset()", "log.append(vary(«digit»))", "f1 = vary(1)\nlog.append(f1)\nf1()",
        "adder += «int»", "log.append((adder + Adder(«int»), adder * 2, 3 * adder, -adder))", "log.append(adder * 'x')", "log.append(adder @ «int»)", "log.append(adder[1:«int», ..., None])", "log.append('yes' if adder else 'no')", "log.append(adder(«int», twice=«bool»))",
        "log.append(list(map(adder, «list»)))", "log.append(list(map(operator.itemgetter(0), [[«int»], (2,)])))", "log.append(operator.attrgetter('n')(«name object»))", "log.append(operator.methodcaller('bump', «int»)(«name object»))", "fs = [lambda v=k: v + k for k in range(3)]\nlog.append([f() for f in fs])",
        "fs = []\nfor k in range(3): fs.append(lambda: k)\nlog.append([f() for f in fs])", "(lambda a, /, *, b: note((a, b)))(«int», b=«int»)", "log.append((lambda *a, k=«list», **w: (a, k, w))(1, q=2))", "def loc(n, acc=None):\n    acc = [] if acc is None else acc\n    acc.append(n)\n    return acc if n <= 0 else loc(n - 1, acc)\nlog.append(loc(«digit»))",
        "def loc(a, b=«int», *c, d=«int»): return a + b + d + len(c)\nlog.append(loc(*«list»))", "log.append(sorted(«list», key=functools.cmp_to_key(lambda a, b: b - a)))", "log.append(work.__wrapped__ is work)", "log.append(signature.__name__ + signature.__code__.co_name)",
        "def loc():\n    global gi\n    gi = «int»\nloc()\nlog.append(gi)", "x1 = «int»\ndef loc():\n    nonlocal x1\n    x1 += 1\n    def deep():\n        nonlocal x1\n        x1 *= 2\n        return x1\n    return deep\nlog.append((loc()(), x1))", "log.append(add5(«int»))",
        "x2 = «int»\ndef loc(): return x2\ndel x2\nlog.append(loc())", "x3 = 1\ndef loc():\n    nonlocal x3\n    del x3\nloc()\nx3 = «int»\nlog.append(x3)",
    ),
    {"int": ["work(«int»)", "fib(«digit»)", "add5(«int»)", "adder(«int»)", "adder.k", "work.calls", "len(default(«int»))", "functools.reduce(lambda a, b: (a + b) % 50, «list», 0)"], "str": ["kind(«any»)"], "list": ["default(«int»)", "add(«int»)", "list(map(add5, «list»))"], "bool": ["bool(adder)"]},
    ("default.__defaults__ = ([7],)", "signature.__kwdefaults__ = {'e': 1, 'd': 2}", "add5 = functools.partial(operator.mul, 2)", "kind.register(str, lambda v: 'text')", "def work(n, *rest): return n", "fib.cache_clear()", "Adder.__call__ = lambda self, v, **k: v", "adder.k = 1", "work.__code__ = work.__code__", "signature.__code__ = (lambda *a, **k: (a, k)).__code__"),
    ("adder",),
)

_GENERATORS = Feature(
    """
def echo(n):
    got = []
    try:
        for i in range(n):
            try:
                v = yield i
            except KeyError as error:
                note(("key", str(error)))
                v = "caught"
            got.append(v)
    except GeneratorExit:
        note("closed")
        raise
    finally:
        note(("finally", len(got)))
    return got
def delegate(n):
    try:
        result = yield from echo(n)
    except ValueError as error:
        note(str(error))
        result = yield "recovered"
    yield ("result", result)
    return n
def nested(depth):
    if depth > 0:
        yield depth
        yield from nested(depth - 1)
        yield from (v for v in [depth] if v % 2)
def forever():
    n = 0
    while True:
        n += 1
        step = yield n
        if step: n += step
def failing(n):
    yield n
    raise Problem("in generator")
def stopping(n):
    yield n
    raise StopIteration(n)
class Tree:
    def __init__(self, v, *kids): self.v, self.kids = v, kids
    def __iter__(self):
        yield self.v
        for kid in self.kids: yield from kid
class Count:
    def __init__(self, n): self.n = n
    def __iter__(self): return self
    def __next__(self):
        if self.n <= 0: raise StopIteration(self.n)
        self.n -= 1
        return self.n
    def __length_hint__(self): return self.n
class Old:
    def __init__(self, *items): self.items = items
    def __getitem__(self, i):
        note(("item", i))
        return self.items[i]
    def __len__(self): return len(self.items)
tree, old, running, count = Tree(1, Tree(2), Tree(3, Tree(4))), Old(4, 5), forever(), Count(30)
next(running)
""",
    (
        "g = echo(3)\nlog.append((next(g), g.send(«int»), next(g, 0)))", "g = echo(2)\nnext(g)\ng.close()\nlog.append(next(g, 'over'))", "g = echo(3)\nnext(g)\nlog.append(g.throw(KeyError(«str»)))", "g = echo(2)\nnext(g)\ng.throw(ValueError(«str»))", "g = delegate(2)\nnext(g)\nlog.append(g.throw(ValueError('in')))\nlog.append(list(g))",
        "log.append(list(delegate(«digit»)))", "log.append(list(nested(«digit»)))", "log.append(list(itertools.islice(forever(), «digit»)))", "g = forever()\nnext(g)\nlog.append([g.send(«digit»), g.send(None)])", "for v in failing(«int»): log.append(v)", "log.append(list(stopping(1)))", "log.append(list(tree))", "log.append([v for v in Tree(«int», Tree(«int»))])",
        "log.append([v for v in old])", "log.append(«int» in old)", "log.append(list(zip(old, «list»)))", "a, *b = old\nlog.append(b)", "log.append(list(reversed(old)))", "log.append(next(running))", "log.append(running.send(«digit»))", "log.append(next(count, 'end'))", "log.append(list(Count(«digit»)))", "log.append(sum(Count(«digit»)))", "for v in count:\n    if v % 3 == 0: break", "log.append(list(itertools.islice(count, 2)))",
        "log.append(max(Count(3), tree, key=lambda v: 1))", "g = (v * «int» for v in «list»)\nlog.append((next(g, 0), list(g)))", "g = (log.append(v) for v in «list»[:2])\nlog.append(g)", "log.append([*nested(2), *echo(2)])", "log.append({k: v for k, v in zip('ab', nested(2))})", "log.append(dict(enumerate(tree)))", "log.append(list(itertools.chain(tree, old, Count(2))))",
        "it1 = iter(«list»)\nlog.append(list(zip(it1, it1)))", "it1 = iter([1, 2, 3, 4])\nlog.append((next(it1), list(it1), next(it1, 'none')))", "g = echo(5)\nfor v in g:\n    if v == 2: break\nlog.append(list(g))", "log.append(list(map(lambda a, b: (a, b), tree, Count(3))))", "log.append(list(itertools.takewhile(lambda v: v < 3, nested(4))))", "log.append([list(g) for k, g in itertools.groupby(«list», key=lambda v: v % 2)])",
        "log.append(list(itertools.product(«list»[:2], 'ab')))", "log.append(list(itertools.zip_longest(«list», tree, fillvalue=«int»))[:6])", "t1, t2 = itertools.tee(nested(3))\nlog.append((next(t1), list(t2), list(t1)))", "log.append(list(filter(lambda v: v % 2, Count(5))))", "g = nested(3)\nlog.append((next(g), g))", "g = echo(1)\nlog.append(g)\nnext(g)", "x4, y4, *z4 = nested(3)\nlog.append(z4)",
        "def gg():\n    try:\n        yield 1\n    finally:\n        log.append('gg')\nfor v in gg(): break\nlog.append('after')", "def gg():\n    with Scope('gen'):\n        r = yield 1\n        log.append(r)\ng = gg()\nnext(g)\ntry: g.send(«int»)\nexcept StopIteration as stop: log.append(stop.value)", "log.append(any(v > 2 for v in nested(«digit»)))", "log.append(','.join(str(v) for v in tree))", "log.append(min(tree, default=0))", "for i, v in enumerate(Old(1, 2, 3)):\n    if i == 1: continue\n    log.append(v)", "g = delegate(1)\nlog.append(next(g))\ntry:\n    g.send(1)\n    g.send(2)\n    g.send(3)\nexcept StopIteration as stop: log.append(('stop', stop.value))",
    ),
    {"int": ["sum(nested(«digit»))", "next(running)", "running.send(«digit»)", "sum(tree)", "next(Count(«digit»), 0)", "len(old)", "old[«digit» % 2]"], "list": ["list(nested(«digit»))", "list(tree)", "list(old)", "list(itertools.islice(forever(), «digit»))", "[v for v in Count(«digit»)]", "list(itertools.chain(«list», tree))[:6]"], "bool": ["«int» in tree", "all(nested(«digit»))"]},
    ("running = forever()\nnext(running)", "count.n = 9", "old.items = (1,)", "tree.kids = ()", "Count.__next__ = lambda self: (_ for _ in ()).throw(StopIteration)", "def nested(depth): return iter([depth])"),
)

_FLOW = Feature(
    """
import contextlib
def leave(n):
    for i in range(4):
        try:
            if i == n: return "returned"
            if i == 1: continue
            if i == 3: break
        finally:
            note(("leave", i))
            if n == 9: return "overridden"
    else:
        return "else"
    return "end"
def swallow(n):
    try:
        try:
            return [1, 2][n]
        finally:
            note("inner")
    except IndexError as error:
        return type(error).__name__
    finally:
        note("outer")
def chained(n):
    try:
        try:
            {}[n]
        except KeyError as error:
            raise Problem(n) from (error if n % 2 else None)
    except Problem as error:
        error.add_note(f"note {n}")
        raise
def rethrow(n):
    try:
        raise ValueError(n)
    except ValueError:
        try:
            raise TypeError(n)
        except TypeError as error:
            return (type(error.__context__).__name__, error.__suppress_context__)
def groups(n):
    try:
        raise ExceptionGroup("g", [ValueError(n), ExceptionGroup("h", [KeyError(n), TypeError(n)])])
    except* KeyError as found:
        note(found.exceptions[0].exceptions[0].args)
    except* ValueError as found:
        note(len(found.exceptions))
        if n > 2: raise Problem("from star")
@contextlib.contextmanager
def managed(name, fail=False):
    note("enter " + name)
    try:
        yield name.upper()
    except LookupError as error:
        note(("managed", type(error).__name__))
        if fail: raise Problem(name) from error
    finally:
        note("exit " + name)
class Rollback:
    def __init__(self, target): self.target = target
    def __enter__(self):
        self.saved = list(self.target)
        return self.target
    def __exit__(self, kind, value, trace):
        if kind is not None: self.target[:] = self.saved
        return kind is not None and issubclass(kind, ArithmeticError)
def deep(n):
    if n <= 0: raise Problem("deep")
    try:
        return deep(n - 1)
    finally:
        note(n)
""",
    (
        "log.append(leave(«digit»))", "log.append(leave(9))", "log.append(swallow(«digit»))", "chained(«digit»)", "try: chained(«int»)\nexcept Problem as error: log.append((error.__notes__, error.__cause__, error.__suppress_context__))", "log.append(rethrow(«int»))", "groups(«digit»)", "with managed('m') as m:\n    log.append(m)\n    «dict»[«word»]",
        "with managed('f', True): [][«int»]", "with contextlib.suppress(KeyError, ZeroDivisionError):\n    log.append(1 // «digit»)\n    log.append('not suppressed')", "with contextlib.ExitStack() as stack:\n    stack.enter_context(managed('s'))\n    stack.callback(log.append, 'callback')\n    log.append('in stack')", "with Rollback(items) as target:\n    target.append(«int»)\n    1 // «digit»\ndel items[12:]",
        "with Scope('o', True), Scope('i'):\n    log.append(1 // «digit»)", "with (Scope('p') as sp, managed('q') as sq):\n    log.append((sp.name, sq))", "deep(«digit»)", "try: deep(«digit»)\nexcept Problem as error: log.append(error.args)", "for v in «list»:\n    try:\n        if v % 2: continue\n        log.append(10 // v)\n    except ZeroDivisionError: break\n    finally: log.append(('f', v))\nelse: log.append('no break')",
        "w = 0\nwhile w < 5:\n    w += 1\n    try:\n        if w == 2: continue\n        if w == 4: break\n    finally:\n        log.append(w)\nelse: log.append('never')", "try:\n    raise Problem(«int», «str»)\nexcept Problem as e1:\n    kept = e1\nlog.append(kept.args)\nkept.extra = «int»\nlog.append(kept)\nkept = None", "try:\n    1 // «digit»\nexcept ZeroDivisionError as error:\n    log.append(error.__traceback__.tb_lineno)\nelse:\n    log.append('fine')",
        "try:\n    try: {}[«word»]\n    except KeyError: raise\n    finally: log.append('fin')\nexcept LookupError as error: log.append(error.__context__)", "try:\n    try: raise KeyError(1)\n    finally: raise Problem(2)\nexcept Problem as error: log.append((error, error.__context__))", "try: raise Problem from ValueError(«int»)\nexcept Problem as error: log.append(error.__cause__)", "try: raise «int»\nexcept TypeError as error: log.append(str(error))",
        "error1 = Problem(«int»)\ntry: raise error1\nexcept Exception as caught: log.append(caught is error1)\ndel error1", "try:\n    raise ExceptionGroup('e', [KeyError(1), Problem(2)])\nexcept* Problem as found: log.append(found)\nexcept* LookupError: pass", "try:\n    try: raise Problem(1)\n    except Problem as error: log.append('x')\n    log.append(error)\nexcept UnboundLocalError as unbound: log.append(str(unbound))", "assert «int» > 2, («int», «str»)",
        "for i in range(3):\n    with Scope(str(i), True):\n        if i == 1: continue\n        if i == 2: raise Problem(i)\n    log.append(i)", "def inner():\n    for i in range(3):\n        with Scope('r'):\n            if i == «digit»: return i\n    return None\nlog.append(inner())", "import sys\ntry: 1 // 0\nexcept ZeroDivisionError: log.append(sys.exception().args)\nlog.append(sys.exception())", "with contextlib.redirect_stdout(sys.stderr if «bool» else sys.stdout): print('redirected')", "with contextlib.nullcontext(«int») as nc: log.append(nc)",
        "try: raise Problem(«int»)\nexcept Problem as error:\n    error.add_note('n')\n    error.add_note(«str»)\n    log.append(error.__notes__)", "def inner():\n    try: return log.append('try')\n    except Problem: pass\n    else: log.append('else')\n    finally: log.append('finally')\ninner()", "while True:\n    try: break\n    finally: log.append('broke')",
    ),
    {"str": ["leave(«digit»)", "str(swallow(«digit»))"], "int": ["len(leave(«digit»))"]},
    ("Scope.__exit__ = lambda self, *a: True", "def swallow(n): raise Problem(n)", "Rollback.__exit__ = lambda self, *a: False", "class Problem(ValueError): pass", "import sys"),
)

_CONTAINERS = Feature(
    """
from collections import Counter, ChainMap, UserDict
class Table(dict):
    def __missing__(self, key):
        note(("missing", key))
        self[key] = len(self)
        while len(self) > 6: self.popitem()
        return self[key]
    def __setitem__(self, key, value):
        note(("store", key))
        super().__setitem__(key, value)
class Stack(list):
    def push(self, v):
        self.append(v)
        del self[:-6]
        return self
    def append(self, v):
        note(("push", v))
        super().append(v)
    @property
    def top(self): return self[-1] if self else None
class Bag(set):
    def add(self, v):
        super().add(v % 20)
class Text(str):
    def shout(self): return Text(self.upper() + "!")
class Key:
    def __init__(self, v): self.v = v
    def __eq__(self, other):
        note(("eq", self.v))
        return isinstance(other, Key) and self.v == other.v
    def __hash__(self): return self.v % 3
    def __lt__(self, other): return self.v < other.v
    def __repr__(self): return f"Key({self.v})"
class Ring:
    def __init__(self, n): self.data, self.at = [0] * n, 0
    def __len__(self): return len(self.data)
    def __getitem__(self, i):
        if isinstance(i, slice): return [self[k] for k in range(*i.indices(len(self)))]
        return self.data[(self.at + i) % len(self.data)]
    def __setitem__(self, i, v): self.data[(self.at + i) % len(self.data)] = v
    def __delitem__(self, i): self[i] = 0
    def __contains__(self, v): return v in self.data
    def __iter__(self): return (self[i] for i in range(len(self)))
    def __reversed__(self): return iter("rev")
    def turn(self):
        self.at = (self.at + 1) % len(self.data)
        return self
inside = {"a": [1, {"b": (2, [3])}], "c": {4, 5}}
tbl, stk, bag, ring, counter, chainmap, keys = Table(a=1), Stack([1]), Bag({1}), Ring(3), Counter("abca"), ChainMap({}, {"a": 1}), {Key(1): "one"}
matrix = [[0] * 3 for _ in range(3)]
""",
    (
        "log.append(tbl[«word»])", "tbl[«word»] = «int»", "tbl.update(«dict»)\nwhile len(tbl) > 6: tbl.popitem()", "tbl.setdefault(«word», «int»)", "log.append(tbl.get('nothing'))", "log.append(stk.push(«int»).top)", "stk.extend(«list»)\ndel stk[:-6]", "stk += «list»\ndel stk[:-6]", "log.append(stk[1:])", "log.append(type(stk + [1]).__name__)", "bag.add(«int»)", "log.append(sorted(bag))", "bag |= {«int» % 20}", "log.append(Text(«str»).shout())", "log.append(Text('a') + 'b')",
        "keys[Key(«digit»)] = «int»\nif len(keys) > 5: keys.clear()", "log.append(Key(«digit») in keys)", "log.append(keys.get(Key(1)))", "keys.pop(Key(«digit»), None)", "log.append([Key(1), Key(2)].index(Key(2)))", "log.append(Key(1) in [Key(«digit»), 3])", "log.append(sorted([Key(3), Key(«digit»), Key(2)]))", "log.append({Key(1), Key(4), Key(«digit»)} == set())", "log.append(len({Key(1): 1, Key(1): 2, Key(4): 3}))", "log.append([Key(«digit»)] == [Key(1)])",
        "ring[«digit»] = «int»", "log.append(ring.turn()[0])", "log.append(ring[0:2])", "log.append(list(ring))", "log.append(list(reversed(ring)))", "del ring[1]", "log.append(«int» in ring)", "log.append([*ring, *ring.turn()])", "counter[«word»] += 1", "counter.update(«str»)\nwhile len(counter) > 8: counter.popitem()", "log.append(counter.most_common(2))", "log.append(counter['nothing'])", "log.append(Counter(«str») + Counter('ab'))", "counter.subtract({'a': 1})", "log.append(Counter(«list») & Counter([1, 2]))", "chainmap[«word»] = «int»", "log.append(chainmap.get(«word»))", "log.append(dict(chainmap.new_child({'z': 1})))", "chainmap.maps[1]['q'] = «int»", "del chainmap[«word»]",
        "inside['a'][1]['b'][1].append(«int»)\ndel inside['a'][1]['b'][1][:-3]", "inside['a'][0] = «int»", "inside['c'].add(«digit»)", "log.append(inside['a'][1]['b'])", "matrix[«digit» % 3][«digit» % 3] += «int»\nmatrix[0][0] %= 50", "log.append([list(r) for r in zip(*matrix)])", "log.append([[c for c in r if c] for r in matrix])", "for k in table:\n    table[k] = 1\n    table['more'] = 1", "for k in list(table):\n    if k > 'b': del table[k]", "for v in items:\n    if len(items) < 10: items.append(v + 1)", "for v in items[:]: items.remove(v)", "for v in seen:\n    seen.add(v + 1)\n    if len(seen) > 9: break", "for k, v in table.items(): log.append((k, v))", "for v in window: window.append(v)",
        "dv = table.keys()\ntable[«word»] = «int»\nlog.append((list(dv), len(dv), «word» in dv))", "log.append(table.keys() & {'a', 'b'})", "log.append(table.items() >= {'a': 1}.items())", "items.sort(key=lambda v: items.append(v) or v)", "items.sort(key=lambda v: len(items))", "log.append(sorted(«list», key=lambda v: 1 // v))", "items.sort(reverse=True)\nlog.append(items.index(items[0]))", "log.append(sorted(['b', 'A', 'c'], key=str.lower, reverse=«bool»))", "items[::2] = [0] * len(items[::2])", "items[::-1] = list(items)", "del items[1::2]", "items *= 2\ndel items[9:]", "items[5:2] = [«int»]\ndel items[10:]", "items[::2] = [1]",
        "a1, (b1_, *c1), d1 = «int», «list», 3\nlog.append((b1_, c1))", "*a1, last = «list»\nlog.append(last)", "a1, b1_ = «list»", "[a1, b1_], c1 = (1, 2), «int»\nlog.append(a1)", "items[0], items[1] = items[1], items[0]", "i1 = items\ni1 += [«int»]\nlog.append(i1 is items)\ndel items[10:]", "t2 = («int»,)\nt2 += (2,)\nlog.append(t2)", "t3 = ([],)\ntry: t3[0] += [1]\nexcept TypeError: log.append(t3)", "fs1 = frozenset(«list»)\nfs1 |= {1}\nlog.append(len(fs1))", "log.append(f'{«int»:>{«digit»}}|{«float»:+.1f}|{«str»!r:>8}|{«list»!s}|{«int»=}')", "log.append(f\"{«str»:*^9}{«int»:03d}{{}}\")", "log.append('%(a)s %(b)r' % {'a': «int», 'b': «str»})", "log.append(' '.join(reversed('a b c'.split())))", "log.append(«str».partition('a'))", "log.append('a,b,,c'.split(',', «digit»))", "log.append(«str».encode()[:3])", "log.append(bytes(«list»))", "log.append(bytearray(b'ab') + b'c')", "log.append(int('1' + str(«digit»), 3))", "log.append(divmod(«int», «int»))", "log.append(round(«float»))", "log.append(«int» ** «digit» % 1000)", "log.append(pow(«int», 2, 7))", "log.append(1 << «digit»)", "log.append(slice(1, «int»).indices(5))", "log.append(hash(«str») == hash(«str»))", "log.append(complex(«int», 1) * 2j)", "del table['a'], items[0]", "ud = UserDict(a=«int»)\nud['b'] = 1\nlog.append(dict(ud))", "seen -= {1}\nseen ^= {«digit»}", "log.append(seen.isdisjoint(«set»))", "seen.update([«digit»], {7})", "log.append(dict([(«word», 1), («word», 2)]))", "log.append({**tbl, **table})", "log.append(window.index(window[0]))", "window.remove(«int»)", "del window[0]", "window.extendleft(«list»)", "window += [«int»]", "log.append([*window] == list(window))", "od.move_to_end('q', last=False)", "log.append(od.popitem(last=«bool»))", "log.append(list(reversed(od.items())))", "log.append(od == OrderedDict(q=2, p=1))", "groups[«int»]", "log.append(groups)\ngroups.clear()",
    ),
    {"int": ["tbl[«word»]", "len(stk)", "ring[«digit»]", "counter['a']", "len(bag)", "inside['a'][0]", "matrix[0][«digit» % 3]", "chainmap['a']"], "list": ["list(ring)", "stk", "[*tbl.values()]", "matrix[«digit» % 3]"], "dict": ["tbl", "dict(counter)", "inside['a'][1]", "dict(chainmap)"], "set": ["bag", "inside['c']", "frozenset(«list»)"], "str": ["Text(«str»).shout()", "str(tbl)[:9]"], "bool": ["Key(1) in keys", "«int» in ring", "Key(«digit») == Key(1)"]},
    ("tbl.clear()", "stk.pop()", "keys[Key(7)] = 0", "ring.data = [1]", "counter.clear()", "inside['a'] = [7, {'b': (1, [])}]", "del Table.__missing__", "Stack.append = list.append", "matrix[0] = matrix[1]", "Key.__hash__ = lambda self: 1", "bag = Bag()", "chainmap.maps.insert(0, {'a': 5})"),
    ("bag", "stk"),
)

_LIFETIMES = Feature(
    """
import weakref, copy
class Node:
    def __init__(self, v, parent=None):
        self.v, self.kids, self.parent = v, [], parent and weakref.ref(parent)
        if parent: parent.kids.append(self)
    def root(self):
        up = self.parent and self.parent()
        return self if up is None else up.root()
class Resource:
    live = 0
    def __init__(self): Resource.live += 1
    def close(self):
        note("close")
        Resource.live -= 1
    def __enter__(self): return self
    def __exit__(self, *_): self.close()
class Observer:
    def __init__(self): self.handlers = []
    def on(self, handler):
        self.handlers.append(handler)
        del self.handlers[:-3]
        return handler
    def fire(self, *args):
        for handler in list(self.handlers): handler(*args)
class Machine:
    def __init__(self): self.state, self.steps = "idle", 0
    def idle(self, event): return "busy" if event else "idle"
    def busy(self, event): return {0: "idle", 1: "busy"}.get(event, "broken")
    def broken(self, event): raise Problem(event)
    def feed(self, event):
        self.steps = (self.steps + 1) % 100
        self.state = getattr(self, self.state)(event)
        return self.state
class Copied:
    def __init__(self, v): self.v, self.me = v, self
    def __copy__(self):
        note("copy")
        return Copied(self.v + 1)
parent = Node(1)
child = Node(2, parent)
cache, observer, machine = weakref.WeakValueDictionary(), Observer(), Machine()
""",
    (
        "log.append(child.root().v)", "child.v = «int»", "k1 = Node(«int», child)\nlog.append(k1.root() is parent)\ndel child.kids[:]", "r = weakref.ref(parent)\nlog.append(r() is parent)", "with Resource() as res: log.append(res.live)", "log.append(Resource.live)", "observer.on(log.append)\nobserver.fire(«int»)", "observer.on(lambda *a: note(a))", "observer.fire(«int»)", "observer.handlers.clear()", "log.append(machine.feed(«digit»))", "machine.state = 'idle'", "log.append(copy.copy([«int», parent])[0])", "log.append(copy.deepcopy({'a': [«int», {1}]}))", "c2 = copy.copy(Copied(«int»))\nlog.append(c2.v)", "c3 = copy.deepcopy(Copied(«int»))\nlog.append(c3.me is c3)", "lst = [1]\nlst.append(lst)\nlog.append(lst[1] is lst)", "log.append(repr(lst) if 'lst' in locals() else 0)", "d1 = {}\nd1['self'] = d1\nlog.append(str(d1))", "parent.kids = [child]", "p1 = Node(0)\np2 = Node(1, p1)\ndel p1\nlog.append(p2.parent() is None)", "log.append(id(parent) == id(child))", "globals()['gi'] = «int»\nlog.append(gi)", "log.append('gi' in globals())", "log.append(vars(b1).get('n'))", "machine.feed(1)\nmachine.feed(«digit»)", "obs = Observer()\nobs.on(obs.handlers.append)\nobs.fire(«int»)\nlog.append(obs.handlers)",
    ),
    {"int": ["child.root().v", "machine.steps", "Resource.live", "len(observer.handlers)"], "str": ["machine.feed(«digit»)", "machine.state"], "bool": ["child.root() is parent"]},
    ("child = Node(5)", "machine.state = 'busy'", "Machine.broken = lambda self, event: 'idle'", "observer.handlers.append(print)", "parent.v = 3", "Resource.live = 5"),
)

_VIEWS = Feature(
    """
grid = torch.zeros(2, 4)
row0, flat = grid[0], grid.view(8)
class Net:
    def __init__(self): self.w, self.steps, self.history = torch.ones(4), 0, []
    def forward(self, v):
        self.steps += 1
        out = (self.w * v).clamp(-64, 64)
        self.history.append(out.sum())
        del self.history[:-3]
        return out
    def update(self, by):
        self.w.add_(by).clamp_(-32, 32)
        return self
net = Net()
""",
    (
        "row0.add_(«digit»).clamp_(-64, 64)", "flat[«digit»] = «digit»", "grid[1] = «tensor»", "grid[:, 1] += 1\ngrid.clamp_(-64, 64)", "grid[0, 1:3] = t[:2]", "grid.t()[0] = «digit»", "log.append(grid.clone())", "log.append(row0.sum().item())", "log.append(net.forward(«tensor»))", "net.update(«digit»)", "net.w = «tensor»", "log.append(net.history)", "a, b, c, d = grid.t()\na.add_(1).clamp_(-9, 9)\nlog.append(b)", "u = t.view(2, 2)\nu[0] = u[1]\nlog.append(u)", "u = x[1:]\nu.zero_()\nlog.append(u)", "u = t[::2]\nu += 1\nt.clamp_(-64, 64)\nlog.append(u)", "x[0] = x[1] + «digit»\nx.clamp_(-64, 64)", "t[t > «digit»] = 0", "u = t.clone()\nu[1:3].mul_(2)\nlog.append((u, t))", "u, v = t.chunk(2)\nu.copy_(v)", "u = t.unsqueeze(0).expand(2, 4)\nlog.append(u + 1)", "u = t.detach()\nu[0] = «digit»", "t.data = t.data", "log.append(torch.cat([t, x]).view(2, -1).sum(1))", "log.append(t.shape[0] + x.size(0) + x.numel())", "log.append(x.shape)", "for q in t: log.append(q.item())", "for q in grid: q.add_(1).clamp_(-64, 64)", "u = torch.empty(4)\nu.fill_(«digit»)\ntorch.add(u, t, out=u)\nlog.append(u)", "t.add_(t).clamp_(-64, 64)", "t[1:].copy_(t[:-1].clone())", "log.append((t == x).all().item())", "log.append(bool((t > 0).any()))", "log.append({'t': t, 'u': [t, x]})", "t.note = «int»", "log.append(max(«tensor», «tensor», key=lambda v: v.sum().item()))", "if t[0] > x[0]: log.append('gt')", "q = t.sum()\nq += 1\nlog.append(q)", "log.append(t.tolist() == x.tolist())", "swap = net.w\nnet.w = t.clone()\nlog.append(swap)", "log.append(f'{t[0]:.1f} {x.mean().item():.2f}')", "log.append([v.clone() for v in (t, x, row0)])", "log.append(sum(t))", "log.append(torch.tensor(«list», dtype=torch.float32).sum() if len(«list») < 9 else 0)", "log.append(t.to(torch.int64) // 2)", "log.append(len(t))",
    ),
    {"tensor": ["row0", "grid[«digit» % 2]", "net.forward(«tensor»)", "flat[:4]", "grid.sum(0).clamp(-64, 64)", "net.w"], "int": ["net.steps", "int(row0[0])", "len(net.history)", "x.shape[0]"], "float": ["row0.sum().item()"]},
    ("grid = torch.ones(2, 4)", "row0 = flat[2:6]", "net.w = torch.arange(4.0)", "Net.forward = lambda self, v: v", "net.w.requires_grad", "flat = flat.clone()", "t = row0", "t = flat[4:]", "t = torch.ones(4, dtype=torch.float64)", "net.history = []"),
)

_DEATHS = Feature(
    """
import weakref
class Loud:
    def __init__(self, name, inner=None): self.name, self.inner = name, inner
    def __del__(self): note("del " + self.name)
class Held:
    def __init__(self, v): self.v = v
def hold(v):
    kept = Loud("kept")
    note("holding")
    return v
def pass_on(loud): return loud.name
def steps(n):
    try:
        for i in range(n): yield i
    finally:
        note(("end of", n))
shelf, held = [Loud("shelf")], Held(1)
weakref.finalize(held, note, "finalized").atexit = False
""",
    (
        "Loud(«word»)", "u = Loud(«word»)", "u = Loud('u')\nu = «int»", "u = Loud('u')\ndel u\nlog.append('deleted')", "shelf[:] = [Loud(«word»)]", "shelf.clear()", "shelf.append(Loud(«word»))\ndel shelf[:-2]", "log.append(hold(«int»))", "log.append(pass_on(Loud(«word»)))", "held.v = Loud(«word»)", "held.v = «int»",
        "u = Loud('outer', Loud('inner'))\nu.inner = None\nlog.append(u.name)", "g = steps(3)\nlog.append(next(g))", "g = steps(«digit»)\nfor v in g: break\ng = None\nlog.append('dropped')", "for v in steps(3):\n    if v: break", "w = weakref.ref(held)\nlog.append(w() is held)", "u = Held(«int»)\nw = weakref.ref(u, lambda r: note('gone'))\ndel u\nlog.append(w() is None)", "held = Held(«int»)",
        "try: raise Problem(Loud('argument'))\nexcept Problem: log.append('caught')\nlog.append('after')", "with Scope('w', True) as sc:\n    u = Loud('in with')\n    raise Problem(1)", "u = [Loud('a'), Loud('b')]\nu.pop(0)\nlog.append('popped')", "u = {1: Loud('value')}\nu[1] = 2\nlog.append(u)", "u = Loud('first')\nu = Loud('second')\nlog.append(u.name)", "def inner():\n    q = Loud('local')\n    return lambda: q.name\nlog.append(inner()())",
    ),
    {"int": ["hold(«int»)", "len(shelf)"], "str": ["pass_on(Loud(«word»))", "Loud(«word»).name"]},
    ("shelf.clear()", "held = Held(3)", "shelf.append(Loud('changed'))", "del Loud.__del__", "held.v = Loud('in held')"),
    ("held",),
)

FEATURES = {
    "descriptors": _DESCRIPTORS, "dynamic attributes": _DYNAMIC_ATTRIBUTES, "metaclasses": _METACLASSES, "data": _DATA, "functions": _FUNCTIONS,
    "generators": _GENERATORS, "flow": _FLOW, "containers": _CONTAINERS, "lifetimes": _LIFETIMES, "views": _VIEWS, "deaths": _DEATHS,
}


def choose(rng):
    """Names of the features of one program: none for a third of them."""
    return rng.sample(sorted(FEATURES), rng.choice((0, 1, 2)))
