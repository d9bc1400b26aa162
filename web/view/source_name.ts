// In: a source as guards and graphs name it. Out: the short name that a person would write.
// Invariant: only for eyes; the full name is shown beside it.

/** "self.hidden.bias" for "L['self']._modules['hidden']._parameters['bias']". */
export function shortSource(source: string): string {
  return source
    .replace(/^[LG]\['([^']+)'\]/, "$1")
    .replace(/\._(?:modules|parameters|buffers)\['([^']+)'\]/g, (_, name: string) => `.${name}`);
}
