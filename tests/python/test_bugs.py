"""The kinds of faults that users of TorchDynamo reported publicly, and those found by running programs under it.

Each program is ours and shows one kind in one shape; the name says the behaviour that must hold.
"""

import unittest

from harness import Program, ProgramCase


class Containers(ProgramCase):
    list_on_the_class_grows_through_a_method = Program(
        """
        class Layer:
            created = []
            def remember(self, v):
                self.created.append(v)
                return len(Layer.created)
        a, b = Layer(), Layer()
        def fn(x): return x * a.remember(1) + b.remember(2)
        """,
        expect="Layer.created == [1, 2] * 3 and 'created' not in vars(a)",
    )
    list_on_a_base_class_grows_through_classmethod_and_super = Program(
        """
        class Base:
            log = []
            @classmethod
            def note(cls, v): cls.log.append((cls.__name__, v))
            def run(self): self.log.append("base")
        class Leaf(Base):
            def run(self):
                super().run()
                Leaf.note(len(self.log))
        l = Leaf()
        def fn(x):
            l.run()
            return x + len(Base.log)
        """
    )
    instance_list_shadows_the_class_list = Program(
        """
        class Box:
            items = [0]
        a, b = Box(), Box()
        def fn(x):
            a.items.append(1)
            b.items = b.items + [2]
            b.items.append(3)
            return x * len(a.items) + len(b.items)
        """
    )
    move_to_end_alone_survives = Program(
        """
        from collections import OrderedDict
        d = OrderedDict.fromkeys("abc")
        def fn(x):
            d.move_to_end("a")
            return x + 1
        """,
        steps=1,
        expect="list(d) == ['b', 'c', 'a']",
    )
    move_to_front_by_variable_key = Program(
        """
        from collections import OrderedDict
        class LRU(OrderedDict):
            def touch(self, key): self.move_to_end(key, last=False)
        d = LRU(a=1, b=2, c=3)
        def fn(x, key):
            d.touch(key)
            return x * d[key], next(iter(d))
        """,
        call="fn(x, 'cba'[i])",
    )
    list_that_grows_while_it_is_iterated = Program(
        """
        items = [1]
        def fn(x):
            for n in items:
                if len(items) < 6:
                    items.append(n * 2)
            return x * len(items)
        """
    )
    work_list_popped_while_it_is_walked = Program(
        """
        def fn(x):
            todo, done = [3], []
            for n in todo:
                done.append(n)
                if n:
                    todo.append(n - 1)
                    if n == 2 and len(todo) < 5:
                        todo.insert(0, 1)
            back = [n for n in reversed(todo)]
            for n in todo:
                todo.remove(n)
            return done, todo, back, x + 1
        """
    )
    in_place_or_keeps_a_subclass_of_set = Program(
        """
        class Tags(set):
            def label(self): return "+".join(sorted(self))
        t = Tags({"a"})
        def fn(x):
            local = t
            local |= {"b"}
            local -= {"zz"}
            local &= {"a", "b", "c"}
            local ^= {"c"}
            return type(local) is Tags, local.label(), local is t, x + len(t)
        """,
        expect="type(t) is Tags",
    )
    hand_written_eviction_reads_maxlen = Program(
        """
        from collections import deque
        buffer, dropped = deque(maxlen=2), []
        def fn(x, v):
            if buffer.maxlen is not None and len(buffer) == buffer.maxlen:
                dropped.append(buffer.popleft())
            buffer.append(v)
            local = deque([1, 2, 3], 2)
            return x * len(buffer), local.maxlen, local, deque().maxlen
        """,
        call="fn(x, i)",
        steps=4,
        expect="dropped == [0, 1]",
    )
    new_key_in_a_dict_that_is_only_added_to_compiles_once = Program(
        """
        seen = {}
        def fn(x, k):
            seen[k] = True
            return x + 1
        """,
        call="fn(x, f'k{i}')",
        steps=60,
        compiles=1,
    )
    new_key_on_an_object_dict_compiles_once = Program(
        """
        class Registry:
            def __init__(self): self.table, self.names = {}, []
            def add(self, k, v):
                self.table[k] = v
                self.names.append(k)
        r = Registry()
        def fn(x, k):
            r.add(k, x)
            return x * 2
        """,
        call="fn(x, i)",
        steps=60,
        compiles=1,
    )


class Attributes(ProgramCase):
    class_attribute_as_factor_changes_between_calls = Program(
        """
        class Config:
            scale = 2
        def fn(x): return x * Config.scale
        """,
        steps=(2, "Config.scale = 3", 2, "Config.scale = 2.5", 1, "Config.scale = 3", 1),
    )
    class_attribute_changes_through_a_subclass_and_setattr = Program(
        """
        class Base: k = 1
        class Leaf(Base): pass
        o = Leaf()
        def fn(x): return x * o.k
        """,
        steps=(1, "setattr(Base, 'k', 5)", 1, "Leaf.k = 6", 1, "type(o).k = 7", 1, "del Leaf.k", 1),
    )
    class_attribute_changes_inside_another_call = Program(
        """
        class Config: k = 1
        def tune(): Config.k += 1
        def fn(x):
            y = x * Config.k
            tune()
            return y + Config.k
        """
    )
    property_setter_and_getter_with_logic = Program(
        """
        class Account:
            def __init__(self): self._cents, self.log = 0, []
            @property
            def euros(self):
                self.log.append("get")
                return self._cents / 100
            @euros.setter
            def euros(self, value):
                if value < 0:
                    raise ValueError("negative")
                self.log.append("set")
                self._cents = int(value * 100)
        a = Account()
        def fn(x, v):
            try:
                a.euros = v
                a.euros += 1
            except ValueError as error:
                a.log.append(str(error))
            return x * a.euros
        """,
        call="fn(x, (2, -1, 3)[i])",
    )
    property_inherited_and_overridden = Program(
        """
        class Base:
            @property
            def v(self): return self._v
            @v.setter
            def v(self, value): self._v = value + 1
        class Leaf(Base):
            @property
            def v(self): return super().v * 10
            @v.setter
            def v(self, value): Base.v.fset(self, value * 2)
        l = Leaf()
        def fn(x):
            l.v = 3
            return x + l.v
        """
    )
    refused_assignment_is_caught_in_its_try = Program(
        """
        class Box: pass
        class Slotted: __slots__ = ("a",)
        class Fixed:
            @property
            def p(self): return 1
        b, s, f, log = Box(), Slotted(), Fixed(), []
        def fn(x):
            try:
                log.append("weakref")
                b.__weakref__ = 1
                log.append("never")
            except AttributeError:
                log.append("caught")
            try:
                s.b = 1
            except AttributeError as error:
                log.append(str(error))
            try:
                f.p = 2
            except AttributeError as error:
                log.append(str(error))
            try:
                (1).real = 2
            except AttributeError as error:
                log.append(str(error))
            try:
                Box.__name__ = 5
            except TypeError as error:
                log.append(str(error))
            return x + len(log)
        """
    )
    tensor_attribute_replaced_between_calls = Program(
        """
        class Box: pass
        b = Box()
        b.w = torch.ones(4)
        table = {"w": torch.ones(4)}
        def fn(x): return x * b.w + table["w"]
        """,
        steps=(2, "b.w = torch.ones(4) * 2", 1, "table['w'] = torch.zeros(4)", 1, "b.w.add_(1)", 1, "b.w = 7", 1),
    )
    parameter_of_a_module_replaced_between_calls = Program(
        """
        m = torch.nn.Linear(4, 4)
        def fn(x):
            with torch.no_grad():
                return x * m.bias
        with torch.no_grad():
            m.bias.fill_(1)
        """,
        steps=(1, "m.bias = torch.nn.Parameter(torch.ones(4) * 9)", 1, "m.bias = None", "m.bias = torch.nn.Parameter(torch.ones(4))", 1),
    )
    counter_does_not_compile_again = Program(
        """
        class Model:
            def __init__(self): self.counter, self.ratio, self.name = 0, 1.0, "a"
            def run(self, x):
                self.counter += 1
                self.ratio *= 0.5
                return x + self.counter
        m = Model()
        def fn(x): return m.run(x)
        """,
        steps=60,
        compiles=1,
    )
    tensors_on_a_thread_local = Program(
        """
        import threading
        local = threading.local()
        local.t = torch.zeros(4)
        def fn(x):
            local.t = local.t + x
            local.t += 1
            local.t.add_(1)
            return local.t * 2, hasattr(local, "none")
        """,
        steps=(2, "local.t = torch.ones(4)", 1),
    )
    object_that_dies_inside_runs_its_finalizer_there = Program(
        """
        log = []
        class Guarded:
            def __init__(self, name): self.name = name
            def __del__(self): log.append("del " + self.name)
        def helper():
            g = Guarded("helper")
            log.append("in helper")
            return 1
        def fn(x):
            a = Guarded("a")
            log.append("made")
            n = helper()
            log.append("back")
            a = Guarded("second")
            log.append("replaced")
            del a
            log.append("end")
            return x * n
        """,
        breaks=None,
    )
    object_that_dies_with_its_container = Program(
        """
        class Noisy:
            def __init__(self, name): self.name = name
            def __del__(self): print("del", self.name)
        keep = [Noisy("kept")]
        def fn(x):
            items = [Noisy("one"), Noisy("two")]
            print("made")
            items.pop()
            print("popped")
            keep[0] = Noisy("new")
            print("stored")
            return x + len(items)
        """,
        breaks=None,
    )
    guards_fire_no_user_code = Program(
        """
        log = []
        class Talkative:
            def __init__(self): self.real = 1
            def __getattr__(self, name):
                log.append(name)
                return name
            def __eq__(self, other):
                log.append("eq")
                return self is other
            def __hash__(self):
                log.append("hash")
                return 1
            def __bool__(self):
                log.append("bool")
                return True
            def __len__(self):
                log.append("len")
                return 3
        t = Talkative()
        def fn(x, o):
            return x * o.real, o.virtual
        """,
        call="fn(x, t)",
    )
    counting_decorator_counts_calls_only = Program(
        """
        class Counted:
            def __init__(self, f): self.f, self.calls = f, 0
            def __call__(self, *args):
                self.calls += 1
                return self.f(*args)
            def __getattribute__(self, name):
                if name != "reads":
                    reads[0] += 1
                return object.__getattribute__(self, name)
        reads = [0]
        @Counted
        def helper(x): return x + 1
        def fn(x): return helper(x) * 2
        """,
        expect="helper.calls == 3",
    )


class Closures(ProgramCase):
    nonlocal_written_by_one_inner_function_and_read_by_another = Program(
        """
        def fn(x):
            total = 0
            def add(n):
                nonlocal total
                total += n
            def get(): return total
            add(2)
            first = get()
            add(first)
            return x * get(), first
        """
    )
    nonlocal_written_in_a_loop_and_in_a_nested_scope = Program(
        """
        def fn(x):
            state = "a"
            def outer():
                def inner():
                    nonlocal state
                    state += "b"
                for _ in range(2):
                    inner()
                return state
            return outer() + state, state, x + len(state)
        """
    )
    closure_variable_bound_only_after_a_break = Program(
        """
        def fn(x):
            def use(): return later + 1
            torch.graph_break()
            later = x * 2
            return use()
        """,
        breaks=1,
    )
    closure_variable_bound_in_a_branch_after_a_break = Program(
        """
        def fn(x, flag):
            def use():
                try:
                    return later
                except NameError as error:
                    return str(error)
            first = use()
            torch.graph_break()
            if flag:
                later = 5
            torch.graph_break()
            return first, use(), x + 1
        """,
        call="fn(x, i % 2)",
        breaks=None,
    )
    global_deleted_and_stored_again = Program(
        """
        g, h = 1, 2
        def read(): return g
        def fn(x):
            global g
            del g
            try:
                read()
            except NameError as error:
                text = str(error)
            g = 10
            return x * read(), text
        """
    )
    global_deleted_and_stored_by_different_functions = Program(
        """
        def drop():
            global g
            del g
        def put(v):
            global g
            g = v
        def fn(x):
            put(1)
            drop()
            put(3)
            drop()
            return x + ("g" in globals())
        """,
        breaks=None,
    )


if __name__ == "__main__":
    unittest.main()
