"""L27, L28 and L31: in-place tensor operations and aliases, tensors stored anywhere, modes left as in eager."""

import unittest

from harness import Program, ProgramCase


class InPlace(ProgramCase):
    row = "L27"

    on_an_input = Program(
        """
        t = torch.ones(4)
        def fn(x, t):
            t.add_(x)
            t *= 2
            t[0] = 100
            t[1:3] += 1
            return t, t.sum()
        """,
        call="fn(x, t)",
        compiles=1,
    )
    items_selected_by_tensors = Program(
        """
        rows = torch.tensor([0, 2])
        def fn(x):
            y = x.clone()
            y[rows] = 5
            y[y > 4] = 0
            return x[rows] + 1, y, x.view(2, 2)[:, rows[:1]], x.view(2, 2)[rows - rows, 1:]
        """,
    )
    the_local_name_only = Program(
        """
        def fn(x, t):
            t = t + 1
            t += x
            return t
        """,
        call="fn(x, x)",
    )
    on_a_view_of_an_input = Program(
        """
        t = torch.zeros(2, 3)
        def fn(x, t):
            row = t[0]
            column = t[:, 1]
            row += 1
            column.mul_(5)
            t.view(6)[5] = 9
            return row, column, t.sum()
        """,
        call="fn(x, t)",
        steps=2,
    )
    views_agree_after_a_write_to_the_base = Program(
        """
        base = torch.zeros(6)
        view = base[2:5]
        def fn(x):
            before = view.clone()
            base[3] = 7
            middle = view + 0
            view[0] = 8
            return before, middle, base + 0, view
        """
    )
    aliased_arguments = Program(
        """
        def fn(a, b):
            a += 1
            c = b * 10
            b -= 3
            return c, a, b
        p, q = torch.zeros(4), torch.ones(4)
        """,
        call="fn(*((p, q), (p, p), (q, q), (p, q))[i])",
        steps=4,
        breaks=None,
    )
    overlapping_views_on_the_second_call = Program(
        """
        base = torch.arange(6.0)
        def fn(a, b):
            a.mul_(2)
            return b + 1
        """,
        call="fn(base[0:3], base[3:6]) if i == 0 else fn(base[0:4], base[2:6])",
        breaks=None,
    )
    out_argument = Program(
        """
        result = torch.zeros(4)
        def fn(x):
            same = torch.add(x, 1, out=result)
            torch.mul(result, 2, out=result)
            return same is result, result
        """
    )
    index_assignment = Program(
        """
        t = torch.zeros(3, 3)
        def fn(x, t):
            t[1] = x[:3]
            t[:, 0] = 5
            t[0, 1] = x.sum()
            t[t > 4] = -1
            t[torch.tensor([0, 2]), torch.tensor([1, 2])] = 3
            t[..., -1] += 2
            return t
        """,
        call="fn(x, t)",
        steps=2,
    )
    fill_copy_zero = Program(
        """
        t, u = torch.ones(4), torch.ones(4)
        def fn(x):
            t.copy_(x)
            u.fill_(3)
            u[:2].zero_()
            return t + u
        """,
        expect="t.tolist() == x.tolist()",
    )
    dtype_is_kept = Program(
        """
        n = torch.tensor([1, 2, 3])
        def fn(x):
            n.add_(1)
            n.mul_(2)
            return n, n + 0.5
        """
    )
    refused_in_place = Program(
        """
        n = torch.tensor([1, 2, 3])
        def fn(x):
            n.add_(1)
            n.add_(0.5)
        """,
        raises=(RuntimeError, TypeError),
        breaks=None,
    )
    chain_on_an_attribute = Program(
        """
        class Box: pass
        b = Box()
        b.t = torch.zeros(4)
        first = b.t
        def fn(x):
            b.t += x
            b.t[0] += 1
            b.t = b.t * 2
            b.t += 1
            return b.t
        """,
        steps=2,
        expect="first.tolist() == [1.0, 1.0, 2.0, 3.0]",
    )
    item_of_a_list_of_tensors = Program(
        """
        parts = [torch.zeros(2), torch.ones(2)]
        def fn(x):
            parts[0] += x[:2]
            parts[1] = parts[1] + 1
            for part in parts:
                part *= 2
            return parts[0] + parts[1]
        """
    )
    new_tensor_written_in_place = Program(
        """
        def fn(x):
            t = torch.zeros(4)
            v = t[1:]
            t += x
            v *= 3
            t[0] = v.sum()
            return t, v
        """
    )
    input_returned_and_written = Program(
        """
        def fn(x):
            y = x
            y += 1
            return y, x, y is x
        """
    )
    expression_reads_the_value_of_its_moment = Program(
        """
        t = torch.zeros(4)
        def fn(x):
            a = t + 1
            t.add_(10)
            b = t + 1
            t.sub_(3)
            return a, b, t + 1
        """
    )


class StoredTensors(ProgramCase):
    row = "L28"

    storing_the_input_stores_that_input = Program(
        """
        class Box: pass
        b, items, table, g = Box(), [], {}, None
        def fn(x):
            global g
            b.t = x
            items.append(x)
            table["x"] = x
            g = x
            return x, b.t is x, items[-1] is x
        """,
        expect="b.t is x and items[0] is x and table['x'] is x and g is x",
    )
    one_result_in_many_places = Program(
        """
        class Box: pass
        b, items, table = Box(), [], {}
        def fn(x):
            y = x * 2
            b.t, table["y"] = y, y
            items.append(y)
            items.append((y, [y]))
            return y
        """
    )
    equal_values_stay_distinct = Program(
        """
        def fn(x):
            a, b = x * 2, x * 2
            a += 1
            return a, b, a is b
        """
    )
    view_stored_beside_its_base = Program(
        """
        kept = {}
        def fn(x):
            base = x * 2
            kept["base"], kept["view"] = base, base[1:]
            kept["view"] += 1
            return base
        """
    )
    view_of_the_input_stored = Program(
        """
        kept = []
        def fn(x):
            v = x[1:3]
            kept.append(v)
            v += 1
            return v
        """,
        expect="kept[0].storage_offset() == 1",
    )
    attributes_on_tensors = Program(
        """
        t = torch.ones(4)
        t.count = 0
        def fn(x):
            t.count += 1
            y = x * t.count
            y.note = [t]
            x.seen = t.count
            return y, hasattr(y, "nothing")
        """
    )
    as_dictionary_keys_and_in_tuples = Program(
        """
        names = {}
        def fn(x):
            names[x] = len(names)
            pair = (x, x + 1)
            return pair, x in names, names[x]
        """
    )
    swapped_between_calls = Program(
        """
        state = {"a": torch.zeros(4), "b": torch.ones(4)}
        def fn(x):
            state["a"], state["b"] = state["b"], state["a"]
            return x + state["a"]
        """,
        steps=4,
    )
    constant_tensor_made_inside = Program(
        """
        kept = []
        def fn(x):
            c = torch.tensor([1.0, 2.0, 3.0, 4.0])
            kept.append(c)
            return x + c
        """,
        expect="kept[0] is not kept[1]",
    )
    attributes_on_tensors_that_are_made = Program(
        """
        kept = []
        def fn(x):
            y = x * 2
            y.note = ["made", y]
            y.count = 1
            y.count += 1
            z = y[1:]
            z.base = y
            kept.append(z)
            w = x + 1
            w.dropped = True
            return y, y.note[1] is y, z.base is y, hasattr(z, "note"), hasattr(w, "dropped"), y.__dict__ == {"note": y.note, "count": 2}
        """,
        steps=(3,),
        breaks=None,
    )


class Modes(ProgramCase):
    row = "L31"

    no_grad_is_left_as_it_was = Program(
        """
        seen = []
        def fn(x):
            seen.append(torch.is_grad_enabled())
            with torch.no_grad():
                seen.append(torch.is_grad_enabled())
                y = x * 2
            seen.append(torch.is_grad_enabled())
            return y
        """,
        steps=(1, "torch.set_grad_enabled(False)", 2, "torch.set_grad_enabled(True)", 1),
    )
    set_grad_enabled_stays = Program(
        """
        def fn(x):
            torch.set_grad_enabled(not torch.is_grad_enabled())
            return x + 1, torch.is_grad_enabled()
        """,
        breaks=None,
    )
    no_grad_and_an_exception = Program(
        """
        def fn(x):
            with torch.no_grad():
                y = x * 2
                raise ValueError("v")
        """,
        raises=ValueError,
        breaks=None,
    )
    default_dtype_guarded = Program(
        "def fn(x): return torch.ones(2), torch.tensor([1.5]), x + 1",
        steps=(2, "torch.set_default_dtype(torch.float64)", 1, "torch.set_default_dtype(torch.float32)", 1),
    )
    default_dtype_set_inside = Program(
        """
        def fn(x):
            torch.set_default_dtype(torch.float64)
            t = torch.ones(2)
            return t, x + 1
        """,
        breaks=None,
    )
    decorated_with_no_grad = Program(
        """
        @torch.no_grad()
        def helper(x): return x * 2, torch.is_grad_enabled()
        def fn(x): return helper(x), torch.is_grad_enabled()
        """,
        breaks=None,
    )


if __name__ == "__main__":
    unittest.main()
