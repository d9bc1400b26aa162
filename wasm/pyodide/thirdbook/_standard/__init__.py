"""Functions of the standard library that the tracer reads in another form.

In: a call of a function that asks for what a trace has not (an object's address, its own frame) or that is C code with calls back into Python.
Out: the same call in Python that can be traced. Which function stands for which is the table in core/interpret/standard_models.cc. Invariant: a model
gives what the function gives, or breaks (`no_model`); it is never called outside of a trace.
"""
