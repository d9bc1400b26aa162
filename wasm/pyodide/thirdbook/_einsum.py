"""einsum: sums of products, written with letters.

In: "ij,jk->ik" and tensors, or each tensor followed by the numbers of its dimensions. Out: one tensor. The operands are contracted two at a time from the left, each pair as one batched matrix product.
Errors: RuntimeError for an equation that does not fit the operands.
"""

from __future__ import annotations

import math

from ._core import ops


def einsum(equation, *operands):
    """The sum of products that the equation describes; "..." stands for broadcast dimensions.

    einsum(a, [0, 1], b, [1, 2], [0, 2]) is einsum("ab,bc->ac", a, b): numbers 0 to 51 are A to Z and a to z.
    """
    if not isinstance(equation, str):
        equation, operands = _spelled((equation, *operands))
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    inputs, output, ellipsis = _parse(equation, [t.dim() for t in operands])
    sizes = _sizes(inputs, operands)
    current, labels = _diagonals(operands[0], inputs[0])
    for place in range(1, len(operands)):
        later = set(output)
        for rest in inputs[place + 1 :]:
            later.update(rest)
        other, other_labels = _diagonals(operands[place], inputs[place])
        current, labels = _pair(current, labels, other, other_labels, later, sizes)
    over = [i for i, label in enumerate(labels) if label not in output]
    if over:
        current = ops.sum(current, over)
        labels = [label for label in labels if label in output]
    return ops.permute(current, [labels.index(label) for label in output]) if labels != output else current


def _spelled(words):
    """The equation and the operands of operand, numbers, operand, numbers, ... [, numbers of the result]."""
    count = len(words) // 2
    terms = [_term(numbers) for numbers in words[1 : 2 * count : 2]]
    arrow = "->" + _term(words[-1]) if len(words) % 2 else ""
    return ",".join(terms) + arrow, words[0 : 2 * count : 2]


def _term(numbers):
    text = ""
    for number in numbers:
        if number is Ellipsis:
            text += "..."
        elif 0 <= number < 52:
            text += chr(ord("A") + number if number < 26 else ord("a") + number - 26)
        else:
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
    return text


def _parse(equation, ranks):
    """Labels of each operand and of the result; the dimensions of "..." become the labels 0, 1, 2… counted from the right."""
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise RuntimeError(
            f"einsum(): {'more' if len(ranks) > len(terms) else 'fewer'} operands were provided than specified in the equation"
        )
    ellipsis = 0
    inputs = []
    for place, (term, rank) in enumerate(zip(terms, ranks)):
        letters = term.replace("...", "")
        for letter in letters:
            if not letter.isalpha():
                raise RuntimeError(f"einsum(): invalid subscript given at index {term.index(letter)} in the equation string")
        extra = rank - len(letters)
        if "..." not in term and extra != 0 or extra < 0:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(letters)}) does not match the number of dimensions "
                f"({rank}) for operand {place} and no ellipsis was given"
            )
        ellipsis = max(ellipsis, extra)
        inputs.append(_labels(term, extra))
    if arrow:
        output = _labels(right, ellipsis)
    else:
        counts: dict = {}
        for labels in inputs:
            for label in labels:
                counts[label] = counts.get(label, 0) + 1
        output = list(range(ellipsis - 1, -1, -1)) + sorted(n for n in counts if isinstance(n, str) and counts[n] == 1)
    known = set()
    for labels in inputs:
        known.update(labels)
    for label in output:
        if output.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
        if label not in known:
            raise RuntimeError(f"einsum(): output subscript {label} does not appear in the equation for any input operand")
    return inputs, output, ellipsis


def _labels(term, extra):
    before, dots, after = term.partition("...")
    return list(before) + (list(range(extra - 1, -1, -1)) if dots else []) + list(after)


def _sizes(inputs, operands):
    sizes: dict = {}
    for place, (labels, operand) in enumerate(zip(inputs, operands)):
        for dim, label in enumerate(labels):
            size = operand.size(dim)
            if sizes.get(label, 1) == 1:
                sizes[label] = size
            elif size not in (1, sizes[label]):
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {size} for operand {place} which does not broadcast with "
                    f"previously seen size {sizes[label]}"
                )
    return sizes


def _diagonals(operand, labels):
    """An operand in which no label occurs twice: repeated ones are taken along the diagonal."""
    labels = list(labels)
    for label in list(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            operand = ops.diagonal(operand, 0, first, second)
            labels = [n for i, n in enumerate(labels) if i not in (first, second)] + [label]
    return operand, labels


def _pair(a, a_labels, b, b_labels, later, sizes):
    """a times b, summed over the labels that nobody needs later."""
    a, a_labels = _sum_lonely(a, a_labels, b_labels, later)
    b, b_labels = _sum_lonely(b, b_labels, a_labels, later)
    batch = [n for n in a_labels if n in b_labels and n in later]
    inner = [n for n in a_labels if n in b_labels and n not in later]
    left = [n for n in a_labels if n not in b_labels]
    right = [n for n in b_labels if n not in a_labels]
    a = ops.permute(a, [a_labels.index(n) for n in batch + left + inner])
    b = ops.permute(b, [b_labels.index(n) for n in batch + inner + right])
    a = ops.expand(a, [sizes[n] if n in b_labels else a.size(i) for i, n in enumerate(batch + left + inner)])
    b = ops.expand(b, [sizes[n] if n in a_labels else b.size(i) for i, n in enumerate(batch + inner + right)])
    groups = [[sizes[n] for n in batch], list(a.shape)[len(batch) : len(batch) + len(left)], list(b.shape)[len(batch) + len(inner) :]]
    count, rows, columns = (math.prod(group) for group in groups)
    depth = math.prod([sizes[n] for n in inner])
    if not inner:
        a = ops.reshape(a, groups[0] + groups[1] + [1] * len(right))
        b = ops.reshape(b, groups[0] + [1] * len(left) + groups[2])
        return ops.mul(a, b), batch + left + right
    product = ops.bmm(ops.reshape(a, (count, rows, depth)), ops.reshape(b, (count, depth, columns)))
    return ops.reshape(product, groups[0] + groups[1] + groups[2]), batch + left + right


def _sum_lonely(operand, labels, others, later):
    over = [i for i, n in enumerate(labels) if n not in others and n not in later]
    if not over:
        return operand, labels
    return ops.sum(operand, over), [n for i, n in enumerate(labels) if i not in over]
