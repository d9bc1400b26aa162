"""Why each kind of graph break is one, and what to do about it: by code, the texts of core/interpret/breaks.def (a test compares them)."""

TEXTS = {
    "asked-for": (
        "The call of graph_break() ends the graph at this place.",
        "Without the call the graph goes on.",
    ),
    "data-decides": (
        "A number read from a tensor is known only after the graph has run.",
        "Compute with torch.where or masks instead of Python branches, or accept the break.",
    ),
    "values-needed": (
        "Python code outside of the graph reads them, and the graph has not run yet.",
        "Keep them in tensors and use the tensor library's functions, or accept the break.",
    ),
    "size-from-data": (
        "The graph needs all sizes before it runs.",
        "Mask with torch.where instead of selecting, or accept the break.",
    ),
    "python-raises": (
        "The real instruction raises it, so that type, text and traceback are CPython's own.",
        "Where the exception is not meant, the message that Python gives says what is wrong.",
    ),
    "no-model": (
        "What this type, method or instruction does is not described to the tracer, so CPython does it.",
        "Use a plain list, dict or tensor operation here, or accept the break.",
    ),
    "unknown-effect": (
        "The tracer cannot see what a function of C reads and changes.",
        "Call it outside of the compiled function, or accept the break.",
    ),
    "kept-by-python": (
        "The position of a generator or of an iterator of itertools, the fields of an exception and such attributes cannot be read or written from outside.",
        "Make the iterator or object inside of the compiled function, or keep the state in an attribute of your own.",
    ),
    "identity": (
        "An object that the trace makes has no address yet, and whether equal values are one object depends on how they were made.",
        "Compare with ==, or key by a value of your own instead of id() or hash().",
    ),
    "shared-memory": (
        "The graph computes values; the order of reads and writes of shared memory is kept by running the operation as it is.",
        "Pass clones, or write into one tensor only.",
    ),
    "gradients": (
        "Gradients are not part of this version; the real operation decides what is allowed.",
        "Work under torch.no_grad(), or on tensors that require no gradients.",
    ),
    "other-device": (
        "Tensors that a graph makes belong to the CPU, or to the device of what they are computed from.",
        "Make it outside of the compiled function, or on the CPU.",
    ),
    "user-hash": (
        "That __hash__ or __eq__ may do anything, as often as the container likes.",
        "Use keys of built-in types (texts, numbers, tuples of them).",
    ),
    "class-changed": (
        "How attributes are found depends on it, so the change must be real before the next look-up.",
        "Change classes and __dict__ outside of the compiled function; set attributes with a dot or setattr().",
    ),
    "finalizer": (
        "A __del__, a weak reference's callback or the finally of an open generator must run at its right moment.",
        "Keep another reference until the function has returned, use a with statement, and let generators run to their end.",
    ),
    "import": (
        "Importing runs the module's code.",
        "Import at the top of the file.",
    ),
    "coroutine": (
        "Coroutines and asynchronous generators run as they are.",
        "Compile the plain function that does the computing, and await outside of it.",
    ),
    "limit": (
        "Loops are unrolled and calls are followed while tracing, and that must end.",
        "Use tensor operations in place of long loops, or compile the body of the loop.",
    ),
    "streams": (
        "Writing to a file is more than a record in the ledger can say.",
        "Write the file outside of the compiled function.",
    ),
    "cannot-rebuild": (
        "What the trace has made must be built from the graph's results; this object is made by the real instruction instead.",
        "Return or store its contents in a list, tuple or dict, or accept the break.",
    ),
    "cannot-resume": (
        "The frame's state at this place cannot be given to a new function, so the rest of the frame, or all of it, runs as it is.",
        "Move the operation that breaks out of the with, try or finally.",
    ),
    "internal": (
        "CPython runs the instruction; the result is right.",
        "Please report it with the program.",
    ),
}
