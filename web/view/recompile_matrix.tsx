// In: the versions of one function. Out: a matrix: for each version, why each earlier one did not fit the call that made it.
// Invariant: every version can be chosen from it; a cell has guard, line, the value asked for and the value met.

import type { Compilation, Miss, Report } from "../report/types.js";
import type { ViewModel } from "./model.js";

interface RecompileMatrixProps {
  model: ViewModel;
  report: Report;
  compilation: Compilation;
  versions: Compilation[];
}

export function RecompileMatrix({ model, report, compilation, versions }: RecompileMatrixProps) {
  const earlier = versions.slice(0, -1);
  return (
    <div class="tb-scroll" role="region" aria-label="Recompilations" tabIndex={0}>
      <table class="tb-table tb-matrix">
        <caption>
          {compilation.function} was compiled {versions.length} times: the guard of each earlier version that
          did not hold
        </caption>
        <thead>
          <tr>
            <th scope="col">Version</th>
            {earlier.map(({ id }) => (
              <th key={id} scope="col">
                {`#${id} did not fit`}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {versions.map((version) => (
            <tr key={version.id} class={version.id === compilation.id ? "is-current" : ""}>
              <th scope="row">
                <button
                  type="button"
                  class="tb-link"
                  aria-current={version.id === compilation.id}
                  aria-label={`Show version ${version.id}`}
                  onClick={() => model.choose(report.compilations.indexOf(version))}
                >
                  {`#${version.id}`}
                </button>
              </th>
              {earlier.map(({ id }) => (
                <td key={id}>
                  <MissCell miss={version.misses.find((miss) => miss.compilation === id)} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function MissCell({ miss }: { miss: Miss | undefined }) {
  if (!miss) return <span class="tb-dim">–</span>;
  return (
    <>
      <code class="tb-wrap">{miss.guard}</code>
      {miss.line !== null && <span class="tb-dim"> line {miss.line}</span>}
      {miss.now !== "" && (
        <span class="tb-miss">
          {miss.was !== "" && (
            <>
              <code class="tb-before">{miss.was}</code>
              {" → "}
            </>
          )}
          <code>{miss.now}</code>
        </span>
      )}
    </>
  );
}
