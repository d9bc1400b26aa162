"""Corners of the language that CPython's own suite walks into: results are those of plain Python, breaks are allowed."""

import gc
import signal
import sys
import unittest
import weakref

import thirdbook
from harness import Program, ProgramCase


def same(source, **options):
    return Program(source, breaks=None, **options)


class Names(ProgramCase):
    attribute_names_without_utf8_or_that_are_no_text = same(
        r"""
        class C:
            pass
        def fn(x):
            c, log = C(), []
            setattr(c, "\udc80", 1)
            log.append(getattr(c, "\udc80"))
            log.append(hasattr(c, "\ud800"))
            for name in (1, None):
                try:
                    getattr(c, name)
                except TypeError as error:
                    log.append(str(error))
            try:
                object.__getattribute__(c, 5)
            except TypeError as error:
                log.append(str(error))
            vars(c)["\udc81"] = 2
            delattr(c, "\udc80")
            return log, sorted(map(ascii, vars(c))), x + 1
        """
    )
    keyword_names_without_utf8 = same(
        r"""
        def g(**kwargs):
            return [ascii(k) for k in kwargs]
        def fn(x):
            return g(**{"\udcff": 1}), x
        """
    )
    a_text_that_is_equal_to_a_name_stays_another_object = same(
        """
        import sys
        def fn(x):
            made = "".join(["cor", "ner"])
            return made is "corner", made == "corner", x
        """
    )


class Patterns(ProgramCase):
    errors_of_class_patterns = same(
        """
        class A: __match_args__ = ("a", "a"); a = 1
        class B: __match_args__ = ["b"]; b = 1
        class C: __match_args__ = (None,)
        class D: __match_args__ = ("d",); d = 4
        class E: pass
        def one(subject):
            try:
                match subject:
                    case A(p, q): return "A"
                    case B(p): return "B"
                    case C(p): return "C"
                    case D(p, d=q): return "D"
                    case E(p): return "E"
                    case int(p, q): return "int"
            except TypeError as error:
                return str(error)
        def fn(x):
            return [one(s) for s in (A(), B(), C(), D(), E(), 3, "none")], x
        """
    )
    a_key_twice = same(
        """
        class K: a = "k"; b = "k"
        def fn(x):
            try:
                match {"k": 1}:
                    case {K.a: p, K.b: q}: return p, q
            except ValueError as error:
                return str(error), x
        """
    )
    get_of_a_mapping_decides = same(
        """
        from collections import defaultdict
        class M(dict):
            def get(self, key, default=None): return ("got", key)
            def __missing__(self, key): return "missing"
        def fn(x):
            log = []
            for subject in (M(a=1), defaultdict(int), {"z": 1}):
                match subject:
                    case {"z": v}: log.append(v)
                    case _: log.append("none")
            return log, x
        """
    )


class MovedIterators(ProgramCase):
    iterators_that_c_code_has_read = same(
        """
        from itertools import takewhile, islice, chain
        def fn(x):
            d = {"a": 1, "b": 2}
            r = reversed(d)
            e = enumerate([1, 2, 3])
            t = takewhile(bool, [1, 0, 1])
            log = [list(r), sorted(islice(e, 2)), list(t)]
            return log, r, e, t, x
        """,
        call="[(a, [next(it, 'end') for it in rest], x) for a, *rest, x in [fn(x)]]",
    )
    iterators_inside_of_lazy_ones = same(
        """
        def fn(x):
            it = iter([1, 2, 3, 4])
            pairs = zip(it, it)
            first = next(pairs)
            inside = [iter("ab")]
            sums = list(map(list, inside))
            return first, it, sums, inside[0], x
        """,
        call="[(a, list(b), c, list(d), e) for a, b, c, d, e in [fn(x)]]",
    )
    a_container_changed_under_its_iterator = same(
        """
        from collections import deque
        def fn(x):
            d, k = deque([1]), {1: 1}
            it, pairs = iter(d), zip(k)
            d.append(2)
            k[2] = 2
            return it, pairs, x
        def outcome(it):
            try:
                return next(it)
            except RuntimeError as error:
                return str(error)
        """,
        call="[(outcome(a), outcome(b), c) for a, b, c in [fn(x)]]",
    )
    a_key_that_goes_and_comes_back = same(
        """
        def change(d, q):
            del d[1]
            d[1] = 0
            q[0] = 5
        def fn(x, d, q):
            keys, items = iter(d), iter(q)
            next(keys), next(items)
            change(d, q)
            log = [next(items)]
            try:
                log.append(next(keys))
            except RuntimeError as error:
                log.append(str(error))
            return log, d, q, x
        """,
        call="fn(x, {1: 1}, __import__('collections').deque([1, 2]))",
    )


    a_list_that_is_touched_while_it_is_sorted = same(
        """
        def touch(item, items):
            items.append(item)
            items.pop()
            return item
        def fn(x, items):
            try:
                items.sort(key=lambda item: touch(item, items))
            except ValueError as error:
                return str(error), items, x
            return "unnoticed", items, x
        """,
        call="fn(x, [2, 1])",
    )


class Classes(ProgramCase):
    bound_methods_of_built_in_bases = same(
        """
        class A(list):
            def __init__(self, *args):
                super().__init__(*args)
            def append(self, item):
                method = super().append
                self.last = method
                method(item)
        class B:
            def __init__(self, *args):
                super().__init__(*args)
        def fn(x):
            a = A([1])
            a.append(2)
            try:
                B(1)
            except TypeError as error:
                return list(a), str(error), x
        """
    )
    super_names_its_own_class_and_refuses_others = same(
        """
        class A: pass
        class B(A):
            def own(self): return super().__class__, super().__thisclass__, super().__self__ is self
        def fn(x):
            log = [B().own() == (super, B, True)]
            for args in ((1, int), (B, A()), (B, 3)):
                try:
                    super(*args).x
                except (TypeError, AttributeError) as error:
                    log.append(str(error))
            return log, x
        """
    )
    bound_methods_bind_once = same(
        """
        class A:
            def m(self): return self
        class B: pass
        def fn(x):
            a, b = A(), B()
            b.m = a.m.__get__(b, B)
            return b.m() is a, a.m.__class__.__name__, (lambda: 3).__call__.__call__(), x
        """
    )
    a_descriptor_that_only_sets = same(
        """
        class D:
            def __set__(self, obj, value): vars(obj)["d"] = value + 1
        class C:
            d = D()
        def fn(x):
            c = C()
            first = c.d.__class__.__name__
            c.d = 1
            return first, c.d, x
        """
    )
    the_class_of_what_new_made_is_asked_for_init = same(
        """
        class C:
            def __new__(cls, n): return object.__new__(D)
            def __init__(self, n): self.n = n
        class D(C):
            def __init__(self, n): self.d = n
        def fn(x):
            c = C(4)
            return type(c).__name__, vars(c), x
        """
    )
    copies_of_container_subclasses = same(
        """
        from collections import OrderedDict, defaultdict, deque
        class O(OrderedDict): pass
        class F(defaultdict): pass
        class Q(deque): pass
        class L(list): pass
        def fn(x):
            o, f, q, l = O(a=1), F(list, b=[]), Q([1], 3), L([1])
            made = [o.copy(), o | {"b": 1}, f.copy(), f | {}, q.copy(), q + q, q * 2, l.copy(), l + l]
            return [(type(m).__name__, m) for m in made], x
        """
    )
    operators_of_number_subclasses = same(
        """
        class C(complex):
            def __eq__(self, other): return abs(self - other) < 0.1
            __hash__ = None
        class I(int):
            def __add__(self, other): return NotImplemented
        def fn(x):
            log = [C(1) == 1.01, 1 == 1 + 0j, 2.0 != 2 + 1j, C(2) * 2, -I(3), I(3) - 1]
            try:
                log.append(I(3) + "a")
            except TypeError as error:
                log.append(str(error))
            return log, x
        """
    )
    hashes_as_user_code_gives_them = same(
        """
        class H:
            def __init__(self, h): self.h = h
            def __hash__(self): return self.h
        def fn(x):
            log = [hash(H(n)) for n in (-1, 0, 2**61, -2**62, 2**70, hash((1, 2)))]
            try:
                hash(H("no"))
            except TypeError as error:
                log.append(str(error))
            a, b = object(), object()
            return log, hash(frozenset((a, b))) == hash(frozenset((b, a))), hash(a) == hash(a), x
        """
    )
    a_default_factory_that_is_set_later = same(
        """
        from collections import defaultdict
        def fn(x):
            d = defaultdict()
            d.default_factory = list
            d["a"].append(1)
            return d, d.copy().default_factory, x
        """
    )


class Raising(ProgramCase):
    interrupts_and_exits_that_traced_code_raises = same(
        """
        class F:
            def __init__(self, error): self.error = error
            def __iter__(self): raise self.error
        def fn(x):
            log = []
            for error in (KeyboardInterrupt("k"), SystemExit(3)):
                try:
                    list(F(error))
                except BaseException as caught:
                    log.append((caught is error, caught.args))
            return log, x
        """
    )
    too_little_memory_is_found_by_the_real_call = same(
        """
        def fn(x):
            for make in (lambda: [0] * 2**60, lambda: b"a" * 2**61):
                try:
                    make()
                except (MemoryError, OverflowError):
                    pass
                else:
                    return "made"
            return "refused", x
        """
    )
    a_failing_change_of_a_set_is_not_replayed = same(
        """
        def fn(x, s):
            log = []
            for change in (lambda: s.remove(9), lambda: s.update([7], 5)):
                try:
                    change()
                except (KeyError, TypeError) as error:
                    log.append(repr(error))
            return log, sorted(s), x
        """,
        call="fn(x, {1, 2})",
    )
    context_of_an_exception_that_was_there = same(
        """
        def fn(x, outer, inner):
            try:
                try:
                    raise outer
                finally:
                    raise inner
            except ValueError as error:
                return error is inner, error.__context__ is outer, error.__traceback__ is not None, x
        """,
        call="fn(x, ValueError(1), ValueError(2))",
    )
    every_class_of_an_except_clause_is_checked = same(
        """
        def fn(x):
            try:
                try:
                    raise ValueError
                except (ValueError, 42):
                    return "caught"
            except TypeError as error:
                return str(error), x
        """
    )
    init_of_an_exception_that_was_there = same(
        """
        def fn(x, error):
            error.__init__()
            return error.args, x
        """,
        call="fn(x, ValueError(1, 2))",
    )
    a_stream_that_raises_inside_of_a_try = same(
        """
        import sys
        class Guard:
            def write(self, text): raise RuntimeError("no " + text)
        def fn(x):
            before, sys.stdout = sys.stdout, Guard()
            return inner(before), x
        def inner(before):
            try:
                print("text")
            except RuntimeError as error:
                return str(error)
            finally:
                sys.stdout = before
        """
    )
    print_refuses_options = same(
        """
        def fn(x):
            log = []
            for options in ({"sep": 1}, {"foo": 1}, {"end": b""}):
                try:
                    print("p", **options)
                except TypeError as error:
                    log.append(str(error))
            return log, x
        """
    )


class Scopes(ProgramCase):
    locals_show_the_contents_of_cells = same(
        """
        def fn(x):
            a, b = 1, 2
            def g(): return a, b
            seen = sorted((k, v) for k, v in locals().items() if k in "ab")
            b = 3
            return seen, sorted(k for k in locals()), eval("a + 1"), g(), x
        """
    )
    comprehension_variables_that_die_loudly = same(
        """
        class Loud:
            def __init__(self, n): self.n = n
            def __del__(self): log.append(self.n)
        log = []
        def made(): return (Loud(n) for n in range(3))
        def fn(x):
            first = [e.n for e in made()]
            log.append("between")
            second = {a.n: b.n for a, b in zip(made(), made())}
            return first, second, list(log), x
        """
    )
    tuples_keep_their_identity = same(
        """
        TUPLES = [tuple(range(2, 4)), tuple(range(2, 4)), (1, [])]
        def fn(x, t):
            same = [t * 1 is t, t + () is t, tuple(t) is t, t[:] is t, () + t is t]
            return same, t, x
        """,
        call="[(a, b is TUPLES[i], c) for a, b, c in [fn(x, TUPLES[i])]]",
    )
    deeply_nested_data = same(
        """
        def fn(x):
            t, f = (), []
            for _ in range(300):
                t = (t, int)
                f = filter(bool, f)
            try:
                found = isinstance(1, t)
            except RecursionError:
                found = "too deep"
            return found, list(f), x
        """
    )
    factory_that_fills_its_own_key = same(
        """
        from collections import defaultdict
        def fn(x):
            count, d = 0, None
            def make():
                nonlocal count
                count += 1
                own = count
                if own == 1:
                    d["k"]
                return own
            d = defaultdict(make)
            return d["k"], d, count, x
        """
    )
    in_place_union_with_any_mapping = same(
        """
        from collections import UserDict
        def fn(x, old):
            made = {"a": 1}
            made |= UserDict(b=2)
            old |= UserDict(c=3)
            return type(made).__name__, made, old, x
        """,
        call="fn(x, {'o': 1})",
    )
    length_hint_of_user_classes = same(
        """
        class H:
            def __init__(self): self.log = []
            def __iter__(self): return iter("ab")
            def __length_hint__(self):
                self.log.append("asked")
                return 2
        def fn(x):
            h = H()
            return list(h), h.log, x
        """
    )
    reduce_of_a_container_with_attributes = same(
        """
        from collections import OrderedDict
        class O(OrderedDict): pass
        def fn(x):
            o = O(a=1)
            o.x = 10
            return o.__reduce__()[2], o.__reduce_ex__(2)[2], x
        """
    )
    sets_come_out_in_their_order = same(
        """
        WORDS = [f"w{n}" for n in range(40)]
        def fn(x, old):
            s = set(WORDS[:20])
            for w in WORDS[5:15]:
                s.discard(w)
            s |= {"x", "y"}
            return list(s), s, frozenset(s), list(old), str(old), x
        """,
        call="[list(p) if isinstance(p, (set, frozenset)) else p for p in fn(x, set('gallahad'))]",
    )
    modules_that_are_half_made = same(
        """
        from types import ModuleType as M
        def fn(x):
            m = M.__new__(M)
            log = [hasattr(m, "__name__"), bool(m.__dict__)]
            m.foo = 1
            return log, m.__dict__, x
        """
    )
    instances_with_keys_that_are_no_text = same(
        """
        class Key:
            def __hash__(self): return hash("attr")
            def __eq__(self, other):
                log.append("compared")
                return False
        log = []
        class C: attr = 5
        def fn(x):
            c = C()
            c.__dict__[Key()] = 0
            return c.attr, log, x
        """
    )
    object_setattr_is_refused_where_a_type_has_its_own = same(
        """
        class M(type):
            def __setattr__(cls, name, value): object.__setattr__(cls, name, value)
        class C(metaclass=M): pass
        def fn(x):
            try:
                C.a = 1
            except TypeError as error:
                return str(error), hasattr(C, "a"), x
        """
    )
    generators_keep_the_name_of_their_function = same(
        """
        def fn(x):
            def g(): yield 1
            first = g()
            name = first.__name__
            g.__name__ = "renamed"
            return name, g().__name__, first.__name__, x
        """
    )
    names_from_a_package_are_submodules = same(
        """
        def fn(x):
            from tb_package import inner
            return inner.value, x
        """,
        modules={"tb_package": "__path__ = []", "tb_package.inner": "value = 3"},
    )
    keyword_texts_of_a_subclass = same(
        """
        class S(str): pass
        def fn(x):
            try:
                return dict(**{S("a"): 1}), print(end="", **{S("foo"): 2}), x
            except TypeError as error:
                return str(error), x
        """
    )


class Lifetimes(unittest.TestCase):
    """Compiled code keeps nothing alive that the traced call made."""

    def test_functions_and_classes_die(self):
        def functions():
            def inner():
                return 3
            reference = weakref.ref(inner)
            inner()
            return reference

        def classes():
            class A:
                pass
            a = A()
            a.x = 1
            reference = weakref.ref(A)
            return reference, a.x

        for function in (functions, classes):
            with self.subTest(function.__name__):
                made = thirdbook.compile(function)()
                gc.collect()
                self.assertIsNone((made if function is functions else made[0])())


class Limits(unittest.TestCase):
    @unittest.skipUnless(hasattr(signal, "setitimer"), "no timers here")
    def test_an_interrupt_stops_tracing(self):
        done = []

        def long():
            total = 0
            for n in range(30000):
                total += n
            done.append(total)
            return total

        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            compiled = thirdbook.compile(long)
            signal.setitimer(signal.ITIMER_REAL, 0.002)
            with self.assertRaises(KeyboardInterrupt):
                while True:
                    compiled()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        self.assertEqual(compiled(), sum(range(30000)))

    def test_recursion_goes_as_deep_as_in_plain_python(self):
        class Base:
            def down(self, n):
                return n

        class Down(Base):
            def down(self, n):
                return super().down(n) if n == 0 else self.down(n - 1) + 1

        before = sys.getrecursionlimit()
        try:
            sys.setrecursionlimit(3000)
            self.assertEqual(thirdbook.compile(lambda n: Down().down(n))(2500), 2500)
            with self.assertRaises(RecursionError):
                thirdbook.compile(lambda n: Down().down(n))(4000)
        finally:
            sys.setrecursionlimit(before)
