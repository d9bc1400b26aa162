"""Shapes: splitting, joining, moving dimensions, repeating. Views where PyTorch gives views.

In: tensors and ints. Out: tensors, or tuples of them. Errors: IndexError for a dimension out of range, RuntimeError for sizes that do not fit.
"""

from __future__ import annotations

from . import _core
from ._core import Tensor, ops
from ._forms import need_tensor_list, need_tensors

METHODS = (
    "adjoint", "argwhere", "broadcast_to", "chunk", "diag", "diag_embed", "diagflat", "dsplit", "expand_as", "fliplr", "flipud", "hsplit", "moveaxis",
    "movedim", "ravel", "repeat_interleave", "reshape_as", "rot90", "split", "split_with_sizes", "sum_to_size", "swapaxes", "swapdims",
    "take", "take_along_dim", "tensor_split", "tile", "trace", "unbind", "unflatten", "unsafe_chunk", "view_as", "vsplit",
)  # fmt: skip
FUNCTIONS = (
    *[name for name in METHODS if name not in ("expand_as", "reshape_as", "sum_to_size", "view_as")],
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "column_stack", "dstack", "hstack",
    "row_stack", "vstack",
)  # fmt: skip


def as_size(size, name="") -> tuple:
    """The sizes of a call f(2, 3) or f((2, 3)); TypeError where a function of that name has none."""
    if name and not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    if len(size) == 1 and not isinstance(size[0], int):
        return tuple(size[0])
    return tuple(size)


def check_dim(dim: int, rank: int) -> int:
    """dim counted from the start; IndexError where the rank has none of that number."""
    bound = rank if rank > 0 else 1
    if not -bound <= dim < bound:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {dim})")
    return dim % bound


def split(input, split_size, dim=0, *, split_size_or_sections=None):
    """Views of split_size elements along dim (the last may be smaller), or of the listed sizes."""
    if split_size_or_sections is not None:
        split_size = split_size_or_sections
    if not isinstance(split_size, int):
        return split_with_sizes(input, split_size, dim)
    if input.dim() == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    length = input.size(dim)
    if split_size < 0 or (split_size == 0 and length != 0):
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    if length == 0:
        return (ops.narrow(input, dim, 0, 0),)
    return tuple(
        ops.narrow(input, dim, start, split_size if start + split_size <= length else length - start)
        for start in range(0, length, split_size)
    )


def split_with_sizes(input, split_sizes, dim=0):
    """Views of the listed sizes along dim."""
    total = sum(split_sizes)
    if total != input.size(dim):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {input.size(dim)} "
            f"(input tensor's size at dimension {dim}), but got split_sizes={list(split_sizes)}"
        )
    parts = []
    start = 0
    for size in split_sizes:
        parts.append(ops.narrow(input, dim, start, size))
        start += size
    return tuple(parts)


def chunk(input, chunks, dim=0):
    """At most `chunks` views of equal size along dim."""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    length = input.size(dim)
    size = (length + chunks - 1) // chunks
    if size == 0:
        return tuple(ops.narrow(input, dim, 0, 0) for _ in range(chunks))
    return split(input, size, dim)


unsafe_chunk = chunk


def tensor_split(input, indices_or_sections, dim=0):
    """Views that end at the listed indices, or nearly equal ones."""
    length = input.size(dim)
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        sections = indices_or_sections
        if sections <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
        small, extra = length // sections, length % sections
        return split_with_sizes(input, [small + 1 if i < extra else small for i in range(sections)], dim)
    ends = [*indices_or_sections, length]
    parts = []
    start = 0
    for end in ends:
        parts.append(ops.slice(input, dim, start, end))
        start = end
    return tuple(parts)


def hsplit(input, indices_or_sections):
    """tensor_split along dimension 1 (0 for 1-d)."""
    if input.dim() == 0:
        raise RuntimeError("torch.hsplit requires a tensor with at least 1 dimension, but got a tensor with 0 dimensions!")
    return tensor_split(input, indices_or_sections, 0 if input.dim() == 1 else 1)


def vsplit(input, indices_or_sections):
    """tensor_split along dimension 0."""
    if input.dim() < 2:
        raise RuntimeError(
            f"torch.vsplit requires a tensor with at least 2 dimension, but got a tensor with {input.dim()} dimensions!"
        )
    return tensor_split(input, indices_or_sections, 0)


def dsplit(input, indices_or_sections):
    """tensor_split along dimension 2."""
    if input.dim() < 3:
        raise RuntimeError(
            f"torch.dsplit requires a tensor with at least 3 dimension, but got a tensor with {input.dim()} dimensions!"
        )
    return tensor_split(input, indices_or_sections, 2)


def unbind(input, dim=0):
    """The slices along dim, as views."""
    return tuple(ops.select(input, dim, i) for i in range(input.size(dim)))


def movedim(input, source, destination):
    """Dimensions moved to other places."""
    sources = (source,) if isinstance(source, int) else tuple(source)
    targets = (destination,) if isinstance(destination, int) else tuple(destination)
    if len(sources) != len(targets):
        raise RuntimeError(
            "movedim: Invalid source or destination dims: source "
            f"({list(sources)} dims) should contain the same number of dims as destination ({list(targets)} dims)"
        )
    rank = input.dim()
    sources = [check_dim(d, rank) for d in sources]
    targets = [check_dim(d, rank) for d in targets]
    if len(set(sources)) != len(sources) or len(set(targets)) != len(targets):
        raise RuntimeError("movedim: repeated dim in `source` or `destination`")
    if rank == 0:
        return input
    order = [-1] * rank
    for source_dim, target in zip(sources, targets):
        order[target] = source_dim
    rest = [d for d in range(rank) if d not in sources]
    at = 0
    for place in range(rank):
        if order[place] < 0:
            order[place] = rest[at]
            at += 1
    return ops.permute(input, order)


moveaxis = movedim


def swapaxes(input, axis0, axis1):
    """transpose."""
    return ops.transpose(input, axis0, axis1)


swapdims = swapaxes


def adjoint(input):
    """The last two dimensions exchanged."""
    return ops.transpose(input, -2, -1)


def ravel(input):
    """All elements in one dimension; a view where possible."""
    return ops.reshape(input, (-1,))


def unflatten(input, dim, sizes):
    """Dimension dim taken apart into sizes (one may be -1)."""
    place = check_dim(dim, input.dim())
    shape = list(input.shape)
    sizes = list(sizes)
    known = 1
    for size in sizes:
        known *= size if size != -1 else 1
    if -1 in sizes:
        sizes[sizes.index(-1)] = shape[place] // known if known else 0
        known = 1
        for size in sizes:
            known *= size
    if known != shape[place]:
        raise RuntimeError(f"unflatten: Provided sizes {sizes} don't multiply up to the size of dim {dim} ({shape[place]}) in the input tensor")
    return ops.view(input, shape[:place] + sizes + shape[place + 1 :])


def broadcast_to(input, *size):
    """A view expanded to size."""
    return ops.expand(input, as_size(size, "broadcast_to"))


def expand_as(input, other):
    """A view expanded to other's sizes."""
    need_tensors("expand_as", other, names=("other",))
    return ops.expand(input, other.shape)


def view_as(input, other):
    """A view with other's sizes."""
    need_tensors("view_as", other, names=("other",))
    return ops.view(input, other.shape)


def reshape_as(input, other):
    """The elements in other's sizes."""
    need_tensors("reshape_as", other, names=("other",))
    return ops.reshape(input, other.shape)


def sum_to_size(input, *size):
    """Broadcast dimensions summed until the sizes are those given."""
    size = as_size(size)
    if not size:
        return ops.sum(input)
    lead = input.dim() - len(size)
    over = [*range(lead), *[d for d in range(lead, input.dim()) if size[d - lead] == 1 and input.size(d) != 1]]
    return ops.view(ops.sum(input, over, True), size) if over else input


def broadcast_shapes(*shapes):
    """The sizes that the given ones broadcast to."""
    shapes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    rank = max((len(s) for s in shapes), default=0)
    made = [1] * rank
    for shape in shapes:
        for i in range(-1, -1 - len(shape), -1):
            if shape[i] == 1 or shape[i] == made[i]:
                continue
            if made[i] != 1:
                raise RuntimeError("Shape mismatch: objects cannot be broadcast to a single shape")
            made[i] = shape[i]
    return _core.Size(made)


def broadcast_tensors(*tensors):
    """Views of the tensors, expanded to common sizes."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    need_tensor_list(tensors)
    shape = broadcast_shapes(*[t.shape for t in tensors])
    return tuple(ops.expand(t, shape) for t in tensors)


def _each(function, tensors):
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        need_tensor_list(tensors[0])
        return tuple(function(t) for t in tensors[0])
    need_tensor_list(tensors)
    made = tuple(function(t) for t in tensors)
    return made[0] if len(made) == 1 else made


def _at_least_1(t):
    return ops.reshape(t, (1,)) if t.dim() == 0 else t


def _at_least_2(t):
    if t.dim() == 0:
        return ops.reshape(t, (1, 1))
    return ops.unsqueeze(t, 0) if t.dim() == 1 else t


def _at_least_3(t):
    if t.dim() == 0:
        return ops.reshape(t, (1, 1, 1))
    if t.dim() == 1:
        return ops.unsqueeze(ops.unsqueeze(t, 0), -1)
    return ops.unsqueeze(t, -1) if t.dim() == 2 else t


def atleast_1d(*tensors):
    """Tensors with at least one dimension."""
    return _each(_at_least_1, tensors)


def atleast_2d(*tensors):
    """Tensors with at least two dimensions."""
    return _each(_at_least_2, tensors)


def atleast_3d(*tensors):
    """Tensors with at least three dimensions."""
    return _each(_at_least_3, tensors)


def _not_empty(tensors, name):
    need_tensor_list(tensors)
    if len(tensors) == 0:
        raise RuntimeError(f"{name} expects a non-empty TensorList")


def hstack(tensors, *, out=None):
    """Joined along dimension 1 (0 for 1-d)."""
    _not_empty(tensors, "hstack")
    parts = [_at_least_1(t) for t in tensors]
    return ops.cat(parts, 0 if parts[0].dim() == 1 else 1, out=out)


def vstack(tensors, *, out=None):
    """Joined along dimension 0; 1-d tensors are rows."""
    _not_empty(tensors, "vstack")
    return ops.cat([_at_least_2(t) for t in tensors], 0, out=out)


row_stack = vstack


def dstack(tensors, *, out=None):
    """Joined along dimension 2."""
    _not_empty(tensors, "dstack")
    return ops.cat([_at_least_3(t) for t in tensors], 2, out=out)


def column_stack(tensors, *, out=None):
    """Joined along dimension 1; 1-d tensors are columns."""
    _not_empty(tensors, "column_stack")
    parts = [ops.reshape(t, (t.numel(), 1)) if t.dim() <= 1 else t for t in tensors]
    return ops.cat(parts, 1, out=out)


def block_diag(*tensors):
    """A matrix with the given ones along its diagonal."""
    need_tensor_list(tensors)
    parts = [_at_least_2(t) for t in tensors]
    width = sum(p.size(1) for p in parts)
    rows, before = [], 0
    for p in parts:
        rows.append(ops.constant_pad_nd(p, (before, width - before - p.size(1))))
        before += p.size(1)
    return ops.cat(rows, 0)


def tile(input, *dims):
    """Repeated along each dimension; missing ones count 1."""
    dims = as_size(dims, "tile")
    return ops.repeat(input, (1,) * (input.dim() - len(dims)) + dims)


def repeat_interleave(input, repeats, dim=None, *, output_size=None):
    """Each element repeated in place; repeats is an int or a tensor of one count per element."""
    if dim is None:
        input, dim = ops.reshape(input, (-1,)), 0
    length = input.size(dim)
    if isinstance(repeats, Tensor) and repeats.numel() == 1:
        repeats = repeats.item()
    if isinstance(repeats, int):
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        place = check_dim(dim, input.dim())
        shape = list(input.shape)
        wide = ops.expand(ops.unsqueeze(input, place + 1), shape[: place + 1] + [repeats] + shape[place + 1 :])
        return ops.clone(ops.reshape(wide, shape[:place] + [length * repeats] + shape[place + 1 :]))
    if repeats.numel() != length:
        raise RuntimeError("repeats must have the same size as input along dim")
    places = []
    for i, count in enumerate(repeats.tolist()):
        places.extend([i] * count)
    return ops.index_select(input, dim, _core.tensor(places, dtype=_core.int64))


def fliplr(input):
    """Reversed along dimension 1."""
    if input.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return ops.flip(input, (1,))


def flipud(input):
    """Reversed along dimension 0."""
    if input.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return ops.flip(input, (0,))


def rot90(input, k=1, dims=(0, 1)):
    """Turned by 90 degrees k times in the plane of dims."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.dim() < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.dim()}")
    a, b = (check_dim(d, input.dim()) for d in dims)
    if a == b:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    turns = k % 4
    if turns == 1:
        return ops.transpose(ops.flip(input, (b,)), a, b)
    if turns == 2:
        return ops.flip(input, (a, b))
    if turns == 3:
        return ops.flip(ops.transpose(input, a, b), (b,))
    return ops.clone(input)


def diag(input, diagonal=0):
    """The diagonal of a matrix, or a matrix with the given diagonal."""
    if input.dim() == 1:
        return diag_embed(input, diagonal)
    if input.dim() != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.dim()}D")
    return ops.clone(ops.diagonal(input, diagonal))


def diagflat(input, offset=0):
    """A matrix with all elements on its diagonal."""
    return diag_embed(ops.reshape(input, (-1,)), offset)


def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Matrices whose diagonals are the rows of input."""
    size = input.size(-1) + abs(offset)
    rows = ops.arange(0, size)
    at = ops.eq(ops.sub(ops.unsqueeze(rows, 0), ops.unsqueeze(rows, 1)), offset)
    first = abs(offset)
    line = ops.constant_pad_nd(input, (0, first))
    if offset > 0:
        made = ops.where(at, ops.unsqueeze(line, -1), 0)
    else:
        made = ops.where(at, ops.unsqueeze(line, -2), 0)
    made = ops.to(made, input.dtype)
    return movedim(made, (-2, -1), (dim1, dim2)) if (dim1, dim2) != (-2, -1) else made


def trace(input):
    """The sum of a matrix's diagonal."""
    if input.dim() != 2:
        raise RuntimeError(f"trace: expected a matrix, but got a tensor with {input.dim()} dimensions")
    return ops.sum(ops.diagonal(input))


def argwhere(input):
    """Indices of the elements that are not zero, shape (n, dims)."""
    return ops.nonzero(input)


def take(input, index):
    """Elements by their place in row-major order."""
    flat = ops.reshape(input, (-1,))
    return ops.view(ops.index_select(flat, 0, ops.reshape(ops.where(ops.lt(index, 0), ops.add(index, flat.numel()), index), (-1,))), index.shape)


def take_along_dim(input, indices, dim=None):
    """gather, with broadcasting of the other dimensions."""
    if dim is None:
        return ops.gather(ops.reshape(input, (-1,)), 0, ops.reshape(indices, (-1,)))
    place = check_dim(dim, input.dim())
    if indices.dim() != input.dim():
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {input.dim()} dimensions for input, and {indices.dim()} dimensions for indices"
        )
    if indices.dtype is not _core.int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.type()[6:-6]}")
    indices = ops.where(ops.lt(indices, 0), ops.add(indices, input.size(place)), indices)
    rest_input, rest_index = list(input.shape), list(indices.shape)
    rest_input[place] = rest_index[place] = 1
    common = list(broadcast_shapes(rest_input, rest_index))
    wide_input, wide_index = list(common), list(common)
    wide_input[place], wide_index[place] = input.size(place), indices.size(place)
    return ops.gather(ops.expand(input, wide_input), place, ops.expand(indices, wide_index))
