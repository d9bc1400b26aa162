"""Module: parameters, buffers, submodules and hooks under PyTorch's names.

In: attributes set by a subclass. Out: the registries that parameters(), state_dict(), to()… walk. Invariant: a name is in one registry only, and an
attribute that is none of the three kinds is an ordinary one. Calling a module without hooks costs one test and the call of forward.
"""

from __future__ import annotations

from collections import OrderedDict, namedtuple

from .._core import Tensor
from .._tensor import _parse_to
from .parameter import Buffer, Parameter

__all__ = ["Module", "RemovableHandle"]


class _LoadResult(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class RemovableHandle:
    """What registering a hook gives: remove() takes the hook away; works as a context manager too."""

    _next_id = 0

    def __init__(self, hooks, *more):
        self.id = RemovableHandle._next_id
        RemovableHandle._next_id += 1
        self._registries = (hooks, *more)

    def remove(self):
        for registry in self._registries:
            registry.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.remove()


def _indented(text: str, spaces: int) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first] + [" " * spaces + line for line in rest])


class Module:
    """Base class of all modules; a subclass calls super().__init__() and defines forward."""

    training: bool
    dump_patches = False

    def __init__(self, *args, **kwargs):
        if args or kwargs:
            raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + len(kwargs) + 1} were given")
        put = object.__setattr__
        put(self, "training", True)
        put(self, "_parameters", {})
        put(self, "_buffers", {})
        put(self, "_non_persistent_buffers_set", set())
        put(self, "_modules", {})
        put(self, "_forward_pre_hooks", OrderedDict())
        put(self, "_forward_hooks", OrderedDict())
        put(self, "_hooks_with_kwargs", OrderedDict())
        put(self, "_always_called_hooks", OrderedDict())

    def forward(self, *input):
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # ---- calls

    def __call__(self, *args, **kwargs):
        if self._forward_pre_hooks or self._forward_hooks:
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def _call_impl(self, *args, **kwargs):
        if self._forward_pre_hooks or self._forward_hooks:
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def _call_with_hooks(self, args, kwargs):
        called = set()
        try:
            for key, hook in list(self._forward_pre_hooks.items()):
                if key in self._hooks_with_kwargs:
                    changed = hook(self, args, kwargs)
                    if changed is not None:
                        if not (isinstance(changed, tuple) and len(changed) == 2):
                            raise RuntimeError(
                                "forward pre-hook must return None or a tuple of (new_args, new_kwargs), " f"but got {changed}."
                            )
                        args, kwargs = changed
                else:
                    changed = hook(self, args)
                    if changed is not None:
                        args = changed if isinstance(changed, tuple) else (changed,)
            result = self.forward(*args, **kwargs)
            for key, hook in list(self._forward_hooks.items()):
                called.add(key)
                if key in self._hooks_with_kwargs:
                    changed = hook(self, args, kwargs, result)
                else:
                    changed = hook(self, args, result)
                if changed is not None:
                    result = changed
            return result
        except BaseException:
            for key, hook in list(self._forward_hooks.items()):
                if key in self._always_called_hooks and key not in called:
                    if key in self._hooks_with_kwargs:
                        hook(self, args, kwargs, None)
                    else:
                        hook(self, args, None)
            raise

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """hook(module, args, output) runs after forward; what it returns replaces the output."""
        handle = RemovableHandle(self._forward_hooks, self._hooks_with_kwargs, self._always_called_hooks)
        self._forward_hooks[handle.id] = hook
        if with_kwargs:
            self._hooks_with_kwargs[handle.id] = True
        if always_call:
            self._always_called_hooks[handle.id] = True
        if prepend:
            self._forward_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """hook(module, args) runs before forward; what it returns replaces the arguments."""
        handle = RemovableHandle(self._forward_pre_hooks, self._hooks_with_kwargs)
        self._forward_pre_hooks[handle.id] = hook
        if with_kwargs:
            self._hooks_with_kwargs[handle.id] = True
        if prepend:
            self._forward_pre_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_full_backward_hook(self, hook, prepend=False):
        raise NotImplementedError("backward hooks: automatic differentiation is not part of this version of Thirdbook")

    register_backward_hook = register_full_backward_hook

    # ---- attributes

    def __setattr__(self, name, value):
        state = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in state:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif "_parameters" in state and name in state["_parameters"]:
            if value is not None:
                raise TypeError(f"cannot assign '{_type_name(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)")
            state["_parameters"][name] = None
        elif isinstance(value, Module):
            if "_modules" not in state:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_modules")
            state["_modules"][name] = value
        elif "_modules" in state and name in state["_modules"]:
            if value is not None:
                raise TypeError(f"cannot assign '{_type_name(value)}' as child module '{name}' (torch.nn.Module or None expected)")
            state["_modules"][name] = None
        elif isinstance(value, Buffer):
            if "_buffers" not in state:
                raise AttributeError("cannot assign buffers before Module.__init__() call")
            self._forget(name, "_buffers")
            self.register_buffer(name, value, value.persistent)
        elif "_buffers" in state and name in state["_buffers"]:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign '{_type_name(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)")
            state["_buffers"][name] = value
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name, kept):
        """Takes a name out of the other registries before it is registered in one."""
        state = self.__dict__
        state.pop(name, None)
        for registry in ("_parameters", "_buffers", "_modules"):
            if registry != kept:
                state[registry].pop(name, None)
        if kept != "_buffers":
            state["_non_persistent_buffers_set"].discard(name)

    def __getattr__(self, name):
        state = self.__dict__
        if "_parameters" in state and name in state["_parameters"]:
            return state["_parameters"][name]
        if "_buffers" in state and name in state["_buffers"]:
            return state["_buffers"][name]
        if "_modules" in state and name in state["_modules"]:
            return state["_modules"][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __delattr__(self, name):
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            object.__delattr__(self, name)

    def __dir__(self):
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[0].isdigit())

    def __setstate__(self, state):
        self.__dict__.update(state)

    # ---- registration

    def _check_name(self, name, registry, kind):
        if registry not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {_type_name(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[registry]:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name, param):
        """Registers a Parameter or None."""
        self._check_name(name, "_parameters", "parameter")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{_type_name(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)")
        self._parameters[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        """Registers a tensor that is no parameter; a persistent one is in the state_dict."""
        self._check_name(name, "_buffers", "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{_type_name(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name, module):
        """Registers a submodule or None."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_type_name(module)} is not a Module subclass")
        self._check_name(name, "_modules", "module")
        self._modules[name] = module

    register_module = add_module

    # ---- walking

    def children(self):
        for _, module in self.named_children():
            yield module

    def named_children(self):
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self):
        for _, module in self.named_modules():
            yield module

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, prefix + ("." if prefix else "") + name, remove_duplicate)

    def _named_members(self, registry, prefix, recurse, remove_duplicate):
        seen = set()
        owners = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for owner_prefix, module in owners:
            for name, value in module.__dict__[registry].items():
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield owner_prefix + ("." if owner_prefix else "") + name, value

    def parameters(self, recurse=True):
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        yield from self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        yield from self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def get_submodule(self, target):
        """The submodule at a dotted path; AttributeError where there is none."""
        module = self
        for name in target.split(".") if target else []:
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def get_parameter(self, target):
        """The parameter at a dotted path."""
        path, _, name = target.rpartition(".")
        value = getattr(self.get_submodule(path), name)
        if not isinstance(value, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return value

    def get_buffer(self, target):
        """The buffer at a dotted path."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return module._buffers[name]

    # ---- changing all

    def apply(self, fn):
        """Calls fn on every submodule, then on the module itself."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn):
        for module in self.children():
            module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is not None:
                parameter.data = fn(parameter.data)
                if parameter.grad is not None:
                    parameter.grad.data = fn(parameter.grad.data)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args, **kwargs):
        """Floating parameters and buffers to a floating dtype; all of them to a device."""
        dtype, device, _ = _parse_to(args, kwargs)
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
        if dtype is None and device is None:
            return self
        return self._apply(lambda t: t.to(device or t.device, dtype if t.dtype.is_floating_point else None))

    def float(self):
        return self._apply(lambda t: t.float() if t.dtype.is_floating_point else t)

    def double(self):
        return self._apply(lambda t: t.double() if t.dtype.is_floating_point else t)

    def cpu(self):
        return self._apply(lambda t: t.cpu())

    def train(self, mode=True):
        """Sets `training` here and below."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        for parameter in self.parameters():
            if parameter.grad is not None:
                if set_to_none:
                    parameter.grad = None
                else:
                    parameter.grad.zero_()

    def compile(self, *args, **kwargs):
        """Compiles forward in place."""
        from .. import _api

        self.forward = _api.compile(self.forward, *args, **kwargs)

    # ---- state

    def state_dict(self, destination=None, *, prefix="", keep_vars=False):
        """Parameters and persistent buffers by dotted name; the tensors are detached and share memory."""
        if destination is None:
            destination = OrderedDict()
        for name, value in [*self._parameters.items(), *self._buffers.items()]:
            if value is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = value if keep_vars else value.detach()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination, prefix=prefix + name + ".", keep_vars=keep_vars)
        return destination

    def _load(self, state_dict, prefix, assign, missing, errors, known):
        own = {**self._parameters, **self._buffers}
        for name, value in own.items():
            if value is None or name in self._non_persistent_buffers_set:
                continue
            key = prefix + name
            known.add(key)
            if key not in state_dict:
                missing.append(key)
                continue
            source = state_dict[key]
            if not isinstance(source, Tensor):
                errors.append(f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint but received {type(source)}')
            elif source.shape != value.shape:
                errors.append(
                    f"size mismatch for {key}: copying a param with shape {source.shape} from checkpoint, "
                    f"the shape in current model is {value.shape}."
                )
            elif assign:
                setattr(self, name, Parameter(source, value.requires_grad) if isinstance(value, Parameter) else source)
            else:
                value.data.copy_(source)
        for name, module in self._modules.items():
            if module is not None:
                module._load(state_dict, prefix + name + ".", assign, missing, errors, known)

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies tensors by name; RuntimeError lists what is missing, unexpected or of another size."""
        if not hasattr(state_dict, "keys"):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing, errors, known = [], [], set()
        self._load(state_dict, "", assign, missing, errors, known)
        unexpected = [key for key in state_dict if key not in known]
        if strict:
            if unexpected:
                names = ", ".join(f'"{key}"' for key in unexpected)
                errors.insert(0, f"Unexpected key(s) in state_dict: {names}. ")
            if missing:
                names = ", ".join(f'"{key}"' for key in missing)
                errors.insert(0, f"Missing key(s) in state_dict: {names}. ")
        if errors:
            text = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{text}")
        return _LoadResult(missing, unexpected)

    # ---- text

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        own = extra.split("\n") if extra else []
        children = [f"({name}): {_indented(repr(module), 2)}" for name, module in self._modules.items()]
        lines = own + children
        if not lines:
            return self._get_name() + "()"
        if len(own) == 1 and not children:
            return f"{self._get_name()}({own[0]})"
        return self._get_name() + "(\n  " + "\n  ".join(lines) + "\n)"


def _type_name(value) -> str:
    module = type(value).__module__
    return type(value).__name__ if module == "builtins" else f"{module}.{type(value).__name__}"
