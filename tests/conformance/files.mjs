// Which files of CPython's test suite run, and which tests of theirs are left out.
// Invariant: a test is left out only because it ends or fails *plain* Pyodide, never because of what compile does.

export const kFiles = [
  "test_list", "test_dict", "test_set", "test_deque", "test_ordered_dict", "test_defaultdict", "test_collections",
  "test_generators", "test_iter", "test_itertools", "test_enumerate", "test_range", "test_functools", "test_with",
  "test_contextlib", "test_scope", "test_funcattrs", "test_exceptions", "test_raise", "test_exception_group",
  "test_except_star", "test_patma", "test_sort", "test_unpack_ex", "test_dataclasses", "test_super", "test_class",
  "test_descr", "test_property", "test_augassign", "test_compare", "test_listcomps", "test_builtin", "test_tuple",
  "test_userdict", "test_userlist", "test_heapq", "test_bisect", "test_weakref", "test_context", "test_named_expressions",
  "test_positional_only_arg", "test_keywordonlyarg", "test_extcall", "test_call", "test_decorators", "test_setcomps",
  "test_dictcomps", "test_genexps", "test_opcodes", "test_grammar", "test_fstring", "test_string", "test_operator", "test_copy",
  "test_enum", "test_abc", "test_typechecks", "test_isinstance", "test_slice", "test_int", "test_float", "test_bool",
];

/** Runs in CI. */
export const kShort = [
  "test_list", "test_deque", "test_ordered_dict", "test_generators", "test_with", "test_scope", "test_raise", "test_patma",
  "test_augassign", "test_listcomps", "test_super", "test_property",
];

/** They guard fixes newer than Pyodide's CPython, and end or fail a plain interpreter. */
export const kFragile = [
  "test_reversed_dict_after_clear_and_restore",
  "test_hash_collision_concurrent_add",
  "test_grouper_reentrant_eq_does_not_crash",
  "test_type_with_null_new_metaclass",
  "test_repr_recursive_factory",
];
