"""L19 and L20: closure cells and globals, existing, new, deleted, shared, of other modules."""

import unittest

from harness import Program, ProgramCase


class Cells(ProgramCase):
    row = "L19"

    counter = Program(
        """
        def make():
            n = 0
            def step(x):
                nonlocal n
                n += 1
                return x * n
            return step
        fn = make()
        """,
        compiles=1,
    )
    shared_by_two_closures = Program(
        """
        def make():
            n, log = 0, []
            def write(v):
                nonlocal n
                n = v
                log.append(v)
            def read(): return n, list(log)
            return write, read
        write, read = make()
        def fn(x):
            before = read()
            write(before[0] + 5)
            return before, read(), x + read()[0]
        """
    )
    new_cell_that_escapes = Program(
        """
        def fn(x):
            n = 1
            def get(): return n
            def put(v):
                nonlocal n
                n = v
            put(7)
            n += 1
            return get, put, x * get()
        """
    )
    new_cell_written_across_inlined_frames = Program(
        """
        def apply(f, times):
            for _ in range(times):
                f()
        def fn(x):
            total = 0
            def bump():
                nonlocal total
                total += 2
                def inner():
                    nonlocal total
                    total += 1
                inner()
            apply(bump, 3)
            return x * total
        """
    )
    names_shadow_each_other = Program(
        """
        def outer():
            n = 1
            def middle():
                n = 10
                def inner():
                    nonlocal n
                    n += 1
                    return n
                return inner
            f = middle()
            def first(): return n
            return f, first
        inner, first = outer()
        def fn(x):
            n = 100
            def local(): return n
            return inner(), first(), local(), x + n
        """
    )
    empty_cell_raises = Program(
        """
        def make():
            def use(): return later
            def fill():
                nonlocal later
                later = 5
            if False:
                later = 0
            return use, fill
        use, fill = make()
        def fn(x):
            try:
                return use(), x + 1
            except NameError as error:
                message = str(error)
                fill()
                return message, use(), x + 2
        """
    )
    deleted_cell = Program(
        """
        def make():
            v = 1
            def drop():
                nonlocal v
                del v
            def keep():
                nonlocal v
                v = 3
            def read(): return v
            return drop, keep, read
        drop, keep, read = make()
        def fn(x):
            drop()
            try:
                read()
            except NameError as error:
                text = str(error)
            try:
                drop()
            except NameError:
                text += "!"
            keep()
            return text, x * read()
        """
    )
    cell_changed_from_outside = Program(
        """
        def make():
            k = 2
            def use(x): return x * k
            def put(v):
                nonlocal k
                k = v
            return use, put
        fn, put = make()
        """,
        steps=(2, "put(3)", 1, "put(torch.ones(4))", 1, "put(2)", 1),
    )
    loop_closures_share_one_cell = Program(
        """
        def fn(x):
            fs = []
            for n in range(3):
                fs.append(lambda: n)
            late = [f() for f in fs]
            early = [(lambda m=m: m)() for m in range(3)]
            return late, early, fs, x + sum(late)
        """
    )
    two_instances_of_one_closure = Program(
        """
        def make(start):
            n = start
            def step():
                nonlocal n
                n += 1
                return n
            return step
        a, b = make(0), make(100)
        def fn(x):
            return a(), b(), a(), x * b()
        """
    )
    argument_that_is_a_cell = Program(
        """
        def fn(x, k):
            def add():
                nonlocal k
                k = k + x
                return k
            add()
            return add(), add
        """,
        call="fn(x, 1)",
    )
    class_body_and_super_cells = Program(
        """
        class Base:
            def f(self): return 1
        class Leaf(Base):
            def f(self):
                self.n = __class__.__name__
                return super().f() + 1
        l = Leaf()
        def fn(x): return x * l.f()
        """
    )


class Globals(ProgramCase):
    row = "L20"

    written_and_read_by_others = Program(
        """
        total, history = 0, None
        def peek(): return total
        def fn(x):
            global total, history
            total += 2
            history = [peek()]
            return x * peek()
        """,
        expect="total == 6 and history == [6]",
    )
    new_global = Program(
        """
        def fn(x):
            global made
            try:
                made += 1
            except NameError as error:
                made = str(error).count("made")
            return x + made
        """,
        expect="made == 3",
    )
    deleted_and_stored_again = Program(
        """
        g, first = 1, "f"
        def fn(x):
            global g
            del g
            g = 5
            return x + g
        """
    )
    deleted = Program(
        """
        g = 1
        def fn(x):
            global g
            try:
                del g
            except NameError as error:
                return str(error), x
            return x + 1
        """,
        steps=(2, "g = 3", 1),
    )
    shadowing_a_builtin = Program(
        """
        def fn(x):
            global len
            before = len([1, 2])
            len = lambda items: 100
            return before, x + len([])
        """,
        steps=(2, "del len", 1),
    )
    of_another_module = Program(
        """
        import shelf
        from shelf import read
        def fn(x):
            shelf.value += 1
            shelf.items.append(shelf.value)
            shelf.fresh = read()
            return x * read()
        """,
        modules={
            "shelf": """
            value, items = 0, []
            def read(): return value
            """
        },
        steps=(2, "shelf.value = 50", 1),
    )
    function_of_another_module_writes_its_own = Program(
        """
        import shelf
        n = "mine"
        def fn(x):
            return x * shelf.bump(), n
        """,
        modules={
            "shelf": """
            n = 0
            def bump():
                global n
                n += 1
                return n
            """
        },
        expect="shelf.n == 3 and n == 'mine'",
    )
    through_globals_dictionary = Program(
        """
        n = 1
        def fn(x):
            globals()["n"] = n + 1
            globals()["new"] = "g"
            return x * n, "new" in globals()
        """,
        breaks=None,
    )
    changed_between_calls = Program(
        """
        k, table = 2, {"k": 1}
        def helper(x): return x * k + table["k"]
        def fn(x): return helper(x)
        """,
        steps=(2, "k = 3", 1, "k = True", 1, "table = {'k': 9}", 1, "table['k'] = 4", 1, "k = 2.0", 1),
    )
    function_replaced_between_calls = Program(
        """
        def helper(x): return x + 1
        def fn(x): return helper(x)
        """,
        steps=(2, "def helper(x): return x + 2", 1, "helper = torch.relu", 1, "helper = lambda x: [x]", 1),
    )
    import_inside = Program(
        """
        def fn(x):
            import shelf
            from shelf import value as v
            global math
            import math
            shelf.value = v + 1
            return x * v + math.floor(2.5)
        """,
        modules={"shelf": "value = 1"},
        breaks=None,
    )
    tensor_in_a_global = Program(
        """
        total = torch.zeros(4)
        last = None
        def fn(x):
            global total, last
            total = total + x
            last = x
            return total * 2
        """,
        steps=(2, "total = torch.ones(4)", 2),
        compiles=1,
    )


if __name__ == "__main__":
    unittest.main()
