"""Makes a failing program small: removes statements, flattens compounds, simplifies expressions, shortens the steps.

In: a failure and a test that gives the failure of a candidate or None. Out: the smallest failure found.
Invariant: whatever is returned has failed the test itself.
"""

import ast
import copy

from harness import Program


def shrink(failure, still_fails, budget=1500):
    """`failure` has `.program`; `still_fails(program)` returns a failure of the same kind or None."""
    state = _State(failure, still_fails, budget)
    changed = True
    while changed and state.budget > 0:
        changed = state.shorten_steps()
        changed |= state.remove_statements()
        changed |= state.flatten_compounds()
        changed |= state.simplify_expressions()
    return state.failure


class _State:
    def __init__(self, failure, still_fails, budget):
        self.failure, self.still_fails, self.budget = failure, still_fails, budget

    def attempt(self, source, call=None, steps=None):
        if self.budget <= 0:
            return False
        self.budget -= 1
        old = self.failure.program
        candidate = Program(source, call=call or old.call, steps=steps if steps is not None else old.steps, may_raise=True, breaks=None,
                            modules=old.modules, options=old.options)
        found = self.still_fails(candidate)
        if found is None:
            return False
        self.failure = found
        return True

    def tree(self):
        return ast.parse(self.failure.program.source)

    def attempt_tree(self, tree):
        try:
            source = ast.unparse(ast.fix_missing_locations(tree))
        except (ValueError, AttributeError, TypeError):
            return False
        return source != self.failure.program.source and self.attempt(source)

    # ---- steps -------------------------------------------------------------------------------------------------

    def shorten_steps(self):
        changed = False
        index = 0
        while index < len(self.failure.program.steps):
            steps = self.failure.program.steps
            smaller = [steps[:index] + steps[index + 1:]]
            if isinstance(steps[index], int) and steps[index] > 1:
                smaller.append(steps[:index] + (steps[index] - 1,) + steps[index + 1:])
            for candidate in smaller:
                if any(isinstance(step, int) for step in candidate) and self.attempt(self.failure.program.source, steps=candidate):
                    changed = True
                    break
            else:
                index += 1
        return changed

    # ---- statements --------------------------------------------------------------------------------------------

    def remove_statements(self):
        """Delta debugging over every list of statements, innermost lists last."""
        changed = False
        place = 0
        while True:
            lists = _statement_lists(self.tree())
            if place >= len(lists):
                return changed
            size = len(lists[place])
            chunk = max(size // 2, 1)
            while chunk >= 1:
                start = 0
                while start < size:
                    tree = self.tree()
                    body = _statement_lists(tree)[place]
                    del body[start:start + chunk]
                    if not body:
                        body.append(ast.Pass())
                    if self.attempt_tree(tree):
                        changed = True
                        lists = _statement_lists(self.tree())
                        size = len(lists[place]) if place < len(lists) else 0
                    else:
                        start += chunk
                chunk //= 2
            place += 1

    def flatten_compounds(self):
        """Replaces `if`, `for`, `while`, `with`, `try` and `match` by one of their bodies, and drops optional parts."""
        changed = False
        index = 0
        while self.budget > 0:
            spots = _compounds(self.tree())
            if index >= len(spots):
                return changed
            for variant in range(8):
                tree = self.tree()
                body, position = _compounds(tree)[index]
                parts = _parts(body[position])
                if variant >= len(parts):
                    index += 1
                    break
                body[position:position + 1] = parts[variant]
                if self.attempt_tree(tree):
                    changed = True
                    break
            else:
                index += 1
        return changed

    # ---- expressions -------------------------------------------------------------------------------------------

    def simplify_expressions(self):
        """Replaces expressions by their parts or by a constant."""
        changed = False
        index = 0
        while self.budget > 0:
            spots = _expressions(self.tree())
            if index >= len(spots):
                return changed
            for variant in range(6):
                tree = self.tree()
                node, field, position = _expressions(tree)[index]
                old = getattr(node, field) if position is None else getattr(node, field)[position]
                smaller = _smaller(old)
                if variant >= len(smaller):
                    index += 1
                    break
                if position is None:
                    setattr(node, field, smaller[variant])
                else:
                    getattr(node, field)[position] = smaller[variant]
                if self.attempt_tree(tree):
                    changed = True
                    break
            else:
                index += 1
        return changed


def _statement_lists(tree):
    found = []
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            value = getattr(node, field, None)
            if isinstance(value, list) and value and not (field in ("handlers", "cases") and len(value) == 1):
                found.append(value)
    return found


def _compounds(tree):
    kinds = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)
    return [(body, position) for body in _statement_lists(tree) for position, node in enumerate(body) if isinstance(node, kinds)]


def _parts(node):
    parts = [copy.deepcopy(getattr(node, field)) for field in ("body", "orelse", "finalbody") if getattr(node, field, None)]
    if isinstance(node, ast.Try):
        parts += [copy.deepcopy(handler.body) for handler in node.handlers]
        for field in ("orelse", "finalbody"):
            if getattr(node, field) and (field == "orelse" or node.handlers):
                smaller = copy.deepcopy(node)
                setattr(smaller, field, [])
                parts.append([smaller])
    if isinstance(node, ast.Match):
        parts += [copy.deepcopy(case.body) for case in node.cases]
    if isinstance(node, (ast.If, ast.For, ast.While)) and node.orelse:
        smaller = copy.deepcopy(node)
        smaller.orelse = []
        parts.append([smaller])
    return parts


def _expressions(tree):
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.JoinedStr, ast.FormattedValue, ast.pattern)):
            continue
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and not isinstance(value, (ast.Constant, ast.Name)) and field not in ("target", "func"):
                found.append((node, field, None))
            elif isinstance(value, list) and field not in ("targets", "decorator_list"):
                found += [(node, field, position) for position, one in enumerate(value)
                          if isinstance(one, ast.expr) and not isinstance(one, (ast.Constant, ast.Name))]
    return found


def _smaller(node):
    inside = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr) and not isinstance(child, ast.Starred)]
    return inside[:4] + [ast.Constant(1), ast.Constant(None)]
