"""L26: nn.Module: buffers, parameters, submodules, plain attributes, hooks, train and eval."""

import unittest

from harness import Program, ProgramCase


class Modules(ProgramCase):
    row = "L26"

    counter_and_log = Program(
        """
        log = []
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.calls = 0
            def forward(self, x):
                self.calls += 1
                log.append(self.calls)
                return x * 2
        fn = Model()
        """,
        steps=4,
        expect="log == [1, 2, 3, 4]",
        compiles=1,
    )
    numbers_of_modules_as_parameters_of_ops = Program(
        """
        class Block(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = torch.nn.LayerNorm(4, eps=1e-3)
                self.drop, self.slope = torch.nn.Dropout(0.0), 0.25
            def forward(self, x):
                x = (self.norm(x) * 64).round() + torch.nn.functional.leaky_relu(x, self.slope)
                return self.drop(x.clamp(-self.slope, 1 + self.slope).sum(self.axis, keepdim=self.keep))
        fn = Block()
        fn.axis, fn.keep = 0, True
        """,
        steps=(2, "fn.norm.eps = 0.5; fn.slope = 3", 2, "fn.axis, fn.keep = -1, False", 2),
    )
    buffer_written_in_place_and_replaced = Program(
        """
        class Running(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("total", torch.zeros(4))
                self.register_buffer("count", torch.zeros(1))
            def forward(self, x):
                self.count += 1
                self.total = self.total + x
                return self.total / self.count
        m = Running()
        first = m.count
        def fn(x): return m(x)
        """,
        expect="m.count is first and m.state_dict()['count'].item() == 3",
    )
    parameters_read_and_replaced = Program(
        """
        class Scale(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.k = torch.nn.Parameter(torch.ones(4) * 3)
            def forward(self, x): return x * self.k
        m = Scale()
        def fn(x):
            with torch.no_grad():
                return m(x)
        """,
        steps=(2, "m.k = torch.nn.Parameter(torch.ones(4) * 5)", 2),
    )
    submodule_replaced = Program(
        """
        class Times(torch.nn.Module):
            def __init__(self, k):
                super().__init__()
                self.k = k
            def forward(self, x): return x * self.k
        class Outer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Times(2)
                self.used = 0
            def forward(self, x):
                self.used += 1
                if self.used == 2:
                    self.inner = Times(7)
                return self.inner(x)
        m = Outer()
        def fn(x): return m(x)
        """,
        steps=(3, "m.inner = Times(9)", 1),
    )
    plain_attributes_of_all_kinds = Program(
        """
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.history, self.cache, self.last = [], {}, None
            def forward(self, x):
                y = x + len(self.history)
                self.history.append(len(self.cache))
                self.cache[len(self.history)] = y
                self.last = x
                self.fresh = "f"
                return y
        m = Model()
        def fn(x): return m(x)
        """
    )
    train_and_eval = Program(
        """
        class Model(torch.nn.Module):
            def forward(self, x): return x * 2 if self.training else x * 3
        m = torch.nn.Sequential(Model(), Model())
        def fn(x): return m(x)
        """,
        steps=(1, "m.eval()", 2, "m[0].train()", 1, "m.train()", 1),
    )
    train_and_eval_inside = Program(
        """
        class Inner(torch.nn.Module):
            def forward(self, x): return x + (1 if self.training else 10)
        class Outer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()
            def forward(self, x):
                was = self.training
                self.eval()
                y = self.inner(x)
                self.train(was)
                return y + self.inner(x)
        m = Outer()
        def fn(x): return m(x)
        """,
        breaks=None,
    )
    forward_hooks = Program(
        """
        log = []
        class Model(torch.nn.Module):
            def forward(self, x): return x * 2
        m = Model()
        def before(module, args):
            log.append("before")
            return (args[0] + 1,)
        def after(module, args, output):
            log.append(("after", module is m))
            return output * 10
        first = m.register_forward_pre_hook(before)
        second = m.register_forward_hook(after)
        def fn(x): return m(x)
        """,
        steps=(2, "first.remove()", 1, "second.remove()", 1),
    )
    linear_layers_with_state = Program(
        """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.seen = torch.nn.Linear(4, 2), 0
            def forward(self, x):
                self.seen += x.shape[0]
                return self.layer(x).relu()
        m = Net()
        with torch.no_grad():
            m.layer.weight.copy_(torch.ones(2, 4))
            m.layer.bias.fill_(1.0)
        def fn(x):
            with torch.no_grad():
                return m(x)
        """
    )
    container_modules = Program(
        """
        class Add(torch.nn.Module):
            def __init__(self, n):
                super().__init__()
                self.n, self.hits = n, 0
            def forward(self, x):
                self.hits += 1
                return x + self.n
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = torch.nn.Sequential(Add(1), Add(2))
            def forward(self, x):
                for part in self.parts.children():
                    x = part(x)
                return self.parts(x)
        m = Net()
        def fn(x): return m(x)
        """,
        expect="m.parts[0].hits == 6",
    )
    attribute_of_a_parameter = Program(
        """
        p = torch.nn.Parameter(torch.ones(4))
        p.tag = 0
        def fn(x):
            p.tag += 1
            p.last = x
            with torch.no_grad():
                return x * p
        """
    )
    missing_attribute_message = Program(
        """
        m = torch.nn.Sequential()
        def fn(x):
            try:
                m.nothing
            except AttributeError as error:
                return str(error), x + 1
        """
    )
    compiled_method_of_the_class = Program(
        """
        class Model(torch.nn.Module):
            def __init__(self, k):
                super().__init__()
                self.k, self.n = k, 0
            @compiled
            def forward(self, x):
                self.n += 1
                return x * self.k
        a, b = Model(2), Model(3)
        """,
        call="(a(x), b(x))",
        steps=(2, "a.k = 5", 1),
    )


if __name__ == "__main__":
    unittest.main()
