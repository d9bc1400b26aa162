"""Exceptions that users of the compiler meet."""


class Unsupported(RuntimeError):
    """A graph break where none is allowed (fullgraph=True): reason, the user's stack, explanation and hint."""


class SideEffectError(RuntimeError):
    """A change to the world where the policy forbids it (config.side_effect_replay_policy = "error")."""


class VerifyError(AssertionError):
    """verify=True found a difference between the compiled call and plain Python."""
