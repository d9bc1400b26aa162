// The head of the arrows in the drawings. Where it is defined in an SVG, `url(#id)` names it.

export function ArrowMarker({ id }: { id: string }) {
  return (
    <marker id={id} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
      <path d="M0 0.8 L7 4 L0 7.2 z" class="tb-arrow" />
    </marker>
  );
}
