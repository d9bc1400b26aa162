"""B02, B05 and B08: output as ledger entries, lazy objects, breaks that resume where they were."""

import unittest

from harness import Program, ProgramCase


class OutputAsEntries(ProgramCase):
    row = "B02"

    print_in_order = Program(
        """
        import sys
        n = 0
        def fn(x):
            global n
            n += 1
            print("call", n, [n], sep="-", end="!\\n")
            print("to stderr", n, file=sys.stderr)
            print()
            sys.stdout.write(f"written {n}\\n")
            return x * n
        """,
        compiles=1,
    )
    print_tensor_of_that_moment = Program(
        """
        t = torch.zeros(3)
        def fn(x):
            print("before", t)
            t.add_(1)
            print("between", t, t.sum())
            t.mul_(2)
            print(f"after {t} {t.sum()} {t.sum().item():.2f}")
            return t + 0
        """
    )
    print_list_of_that_moment = Program(
        """
        items = []
        def fn(x):
            print(items)
            items.append(len(items))
            print(items)
            items.append("x")
            print(items, len(items))
            return x + 1
        """
    )
    user_repr_runs_in_its_place = Program(
        """
        log = []
        class Box:
            def __init__(self): self.n = 0
            def __repr__(self):
                log.append("repr")
                return f"Box({self.n})"
            def __str__(self): return f"box {self.n}"
        b = Box()
        def fn(x):
            b.n += 1
            print(b, [b])
            log.append("printed")
            b.n += 1
            print(f"{b} {b!r}")
            return x + b.n
        """
    )
    warnings_warn = Program(
        """
        import warnings
        n = 0
        def helper():
            warnings.warn("from helper", RuntimeWarning, stacklevel=2)
        def fn(x):
            global n
            n += 1
            warnings.warn(f"call {n}")
            helper()
            return x + n
        """
    )
    logging_records = Program(
        """
        import logging
        logger = logging.getLogger("program.part")
        n = 0
        def fn(x):
            global n
            n += 1
            logger.warning("call %d of %s", n, "fn")
            logger.debug("not shown")
            logging.error("root")
            y = x * n
            logger.error("sum %s", y.sum())
            return y
        """
    )
    progress_bar = Program(
        """
        import sys
        class Progress:
            def __init__(self, total): self.total, self.n = total, 0
            def update(self, by=1):
                self.n += by
                sys.stderr.write(f"\\r{self.n}/{self.total}")
                sys.stderr.flush()
        p = Progress(10)
        def fn(x):
            p.update()
            y = x * 2
            p.update(2)
            return y
        """,
        compiles=1,
    )
    progress_bar_with_values_of_tensors = Program(
        """
        import sys
        class Progress:
            def __init__(self, items, title):
                self.items, self.title, self.n = items, title, 0
            def __iter__(self):
                for item in self.items:
                    yield item
                    self.n += 1
                    sys.stderr.write(f"\\r{self.title}: {self.n * 100 // len(self.items):3d}%|{'#' * self.n:<3}|")
                    sys.stderr.flush()
                sys.stderr.write("\\n")
            def set_postfix(self, **values):
                sys.stderr.write(" " + ", ".join(f"{k}={v}" for k, v in values.items()))
        written = []
        def fn(x):
            bar = Progress(range(3), "train")
            for step in bar:
                x = x * 0.5
                bar.set_postfix(step=step, loss=f"{float(x.sum()):.3f}")
            written.append(sys.stderr.write(f"{x}"))
            return x
        """,
    )
    output_before_an_exception = Program(
        """
        def fn(x):
            print("one")
            y = x + 1
            print("two", y)
            raise ValueError("v")
        """,
        raises=ValueError,
        breaks=None,
    )
    print_between_effects_of_user_setters = Program(
        """
        class Box:
            def __setattr__(self, name, value):
                print("set", name)
                object.__setattr__(self, name, value)
        b = Box()
        def fn(x):
            print("start")
            b.a = 1
            print("middle")
            b.b = x
            print("end")
            return x + 1
        """
    )
    print_to_a_user_file = Program(
        """
        import io
        class File:
            def __init__(self): self.parts = []
            def write(self, text): self.parts.append(text)
        f, buffer = File(), io.StringIO()
        def fn(x):
            print("a", 1, file=f)
            print("b", file=buffer)
            return x + len(f.parts)
        """,
        breaks=None,
    )
    logging_to_handlers_of_the_program = Program(
        """
        import logging
        seen, n = [], 0
        class Keep(logging.Handler):
            def emit(self, record):
                seen.append((record.levelname, record.getMessage(), record.lineno, record.funcName, record.name, record.args))
        class Even(logging.Filter):
            def filter(self, record):
                seen.append("filter")
                return record.levelno != logging.INFO
        logger = logging.Logger("own", logging.DEBUG)
        handler = Keep()
        handler.addFilter(Even())
        logger.addHandler(handler)
        logger.propagate = False
        def fn(x):
            global n
            n += 1
            seen.append(n)
            logger.warning("call %d of %s: %.2f", n, "fn", x.sum())
            logger.info("dropped %s", n)
            x = x + n
            logger.error(f"sum {x.sum()}")
            logger.debug("no arguments")
            return x, len(seen)
        """,
        steps=(4,),
    )
    logging_records_that_are_kept_have_all_their_fields = Program(
        """
        import logging, time, os, threading
        kept = []
        class Keep(logging.Handler):
            def emit(self, record):
                kept.append(record)
        logger = logging.Logger("own")
        logger.addHandler(Keep())
        def fn(x):
            logger.warning("%s and %r", 1, "two")
            return x + 1
        def run(x):
            before = time.time()
            fn(x)
            record = kept.pop()
            times = record.created - before, record.created * 1000 % 1000 - record.msecs
            right = -0.1 < times[0] < 60 and abs(times[1]) < 1.5 and record.relativeCreated > 0
            who = record.process == os.getpid(), record.thread == threading.get_ident(), record.threadName
            rest = {k: v for k, v in vars(record).items() if k not in ("created", "msecs", "relativeCreated", "process", "thread")}
            return list(vars(record)), rest, right, who, type(record) is logging.LogRecord
        fn = compiled(fn)
        """,
        call="run(x)",
        breaks=None,
    )
    logging_formatters_of_the_program = Program(
        """
        import io, logging
        stream = io.StringIO()
        class Loud(logging.Formatter):
            def format(self, record):
                return "<" + super().format(record).upper() + ">"
        handler = logging.StreamHandler(stream)
        handler.setFormatter(Loud("%(name)s %(levelname)s %(message)s"))
        logger = logging.Logger("own")
        logger.addHandler(handler)
        def run(x):
            y = fn(x, len(stream.getvalue()))
            return y, stream.getvalue()
        def fn(x, n):
            logger.warning("call %d", n)
            logger.error("sum %s", x.sum())
            return x + 1
        fn = compiled(fn)
        """,
        call="run(x)",
        breaks=None,
    )
    percent_formats_of_later_values_compile_once = Program(
        """
        texts, n = [], 0
        def fn(x):
            global n
            n += 1
            texts.append("%d|%5d|%s|%s|%r|%.1f|%%|%+07.2f" % (n, n, "ab", n, str(n), n / 2, n))
            texts.append("loss %s" % n)
            print("%s %.3f" % (x.sum(), x.mean()), "%08.3f" % x.max())
            return x + n
        """,
        steps=(120,),
        compiles=1,
    )
    percent_formats_that_python_refuses = Program(
        """
        log, n = [], 0
        def fn(x, values):
            global n
            n += 1
            for form in ("%d %d", "%d %s %s %s", "%d %z %s", "%d %s %", "%(a)s", "%s %s", "%*d %s"):
                try:
                    log.append(form % (n, values))
                except (TypeError, ValueError) as error:
                    log.append((type(error), str(error)))
            return x
        """,
        call="fn(x, (1, 'a', [2], (3,))[i % 4])",
        steps=(8,),
        breaks=None,
    )


class LazyObjects(ProgramCase):
    row = "B05"

    no_break_for_any_of_them = Program(
        """
        from collections import deque
        import contextvars, functools, weakref
        class Thing: n = 0
        window, t, v = deque(maxlen=2), Thing(), contextvars.ContextVar("v", default=0)
        ref = weakref.ref(t)
        @functools.lru_cache(maxsize=8)
        def square(n): return n * n
        def fn(x):
            window.append(square(3))
            ref().n += 1
            v.set(v.get() + 1)
            lazy = map(lambda n: n + 1, [1, 2])
            pairs = zip([1, 2], "ab")
            odd = filter(lambda n: n % 2, [1, 2, 3])
            return x * window[-1], next(lazy), list(odd), lazy, pairs
        """
    )


class BreaksResume(ProgramCase):
    row = "B08"

    inside_loops = Program(
        """
        log = []
        def fn(x):
            total = x
            for a in range(3):
                for b in "pq":
                    log.append((a, b))
                    torch.graph_break()
                    total = total + a
                while a > 0:
                    a -= 1
                    torch.graph_break()
                    if a == 0:
                        break
                else:
                    log.append("else")
            return total * len(log)
        """,
        breaks=None,
    )
    inside_with = Program(
        """
        log = []
        class Scope:
            def __init__(self, name): self.name = name
            def __enter__(self):
                log.append("+" + self.name)
                return self.name
            def __exit__(self, *exc):
                log.append("-" + self.name)
                return exc[0] is KeyError
        def fn(x):
            with Scope("a") as a, Scope("b"):
                y = x * 2
                torch.graph_break()
                log.append(a)
                with Scope("c"):
                    torch.graph_break()
                    raise KeyError
                log.append("suppressed")
                torch.graph_break()
                y = y + 1
            return y
        """,
        breaks=None,
    )
    inside_try = Program(
        """
        log = []
        def fn(x):
            try:
                torch.graph_break()
                log.append("try")
                raise ValueError("v")
            except ValueError as error:
                torch.graph_break()
                log.append(str(error))
                try:
                    torch.graph_break()
                    raise KeyError("k")
                except KeyError as inner:
                    torch.graph_break()
                    log.append(inner.__context__ is error)
            else:
                log.append("no")
            finally:
                torch.graph_break()
                log.append("finally")
            return x * len(log)
        """,
        breaks=None,
    )
    inside_inlined_calls_with_state = Program(
        """
        log = []
        def third(x, k):
            for n in range(2):
                log.append((k, n))
                torch.graph_break()
                x = x + n
            return x
        def second(x):
            out = [third(x, k) for k in "ab"]
            log.append("second")
            return out[0] + out[1]
        def fn(x):
            y = x * 2
            try:
                z = second(y) + y
            finally:
                log.append("finally")
            return z, y
        """,
        breaks=None,
    )
    inside_comprehensions = Program(
        """
        def side(n):
            torch.graph_break()
            return n * 2
        def fn(x):
            a = [side(n) for n in range(3) if side(n) >= 0]
            b = {n: side(n) for n in a}
            c = {side(n) for n in b}
            d = sum(side(n) for n in range(2))
            return a, b, c, x * d
        """,
        breaks=None,
    )
    inside_match_and_conditions = Program(
        """
        def side(v):
            torch.graph_break()
            return v
        def fn(x, v):
            y = side(1) if side(v) else side(2)
            z = side(0) or side(3) and side(4)
            match side([v, 5]):
                case [1, n] if side(n) == 5:
                    w = n
                case _:
                    w = -1
            return x * y + z, w, 0 < side(1) < side(2) < side(1)
        """,
        call="fn(x, i % 2)",
        steps=4,
        breaks=None,
    )
    data_dependent_loop = Program(
        """
        steps = []
        def fn(x):
            n = 0
            while x.sum() < 50:
                steps.append(n)
                x = x * 2 + 1
                n += 1
            return x, n
        """,
        breaks=None,
    )
    break_then_the_rest_is_compiled = Program(
        """
        def fn(x):
            y = x * 2
            torch.graph_break()
            return y + 1
        """,
        breaks=1,
        compiles=2,
    )
    methods_generators_and_super = Program(
        """
        log = []
        class Base:
            def run(self, x):
                torch.graph_break()
                log.append("base")
                return x + 1
        class Leaf(Base):
            def run(self, x):
                log.append("leaf")
                y = super().run(x)
                torch.graph_break()
                return y * 2
        def numbers():
            for n in range(3):
                torch.graph_break()
                yield n
        l = Leaf()
        def fn(x):
            total = 0
            for n in numbers():
                total += n
            return l.run(x) + total
        """,
        breaks=None,
    )


if __name__ == "__main__":
    unittest.main()
