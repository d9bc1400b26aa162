// In: a compilation's two listings. Out: original beside rewritten; each rewritten instruction says what it is for.
// Invariant: the role is written out, the colour only repeats it.

import type { CodeListing, Compilation, Instruction } from "../report/types.js";
import { ListBox } from "./list_box.js";
import type { PaneName, ViewModel } from "./model.js";
import { spanOfInstruction } from "./span.js";

interface BytecodePaneProps {
  model: ViewModel;
  compilation: Compilation;
}

export function BytecodePane({ model, compilation }: BytecodePaneProps) {
  const { original, rewritten } = compilation.bytecode;
  return (
    <div class="tb-listings">
      <Listing model={model} compilation={compilation} pane="original" title="Original" listing={original} />
      <Listing
        model={model}
        compilation={compilation}
        pane="rewritten"
        title="Rewritten"
        listing={rewritten ?? { text: "", instructions: [] }}
        empty="Not rewritten: this frame runs as CPython wrote it."
      />
    </div>
  );
}

interface ListingProps extends BytecodePaneProps {
  pane: PaneName;
  title: string;
  listing: CodeListing;
  empty?: string;
}

function Listing({ model, compilation, pane, title, listing, empty }: ListingProps) {
  return (
    <div class="tb-listing">
      <h4>{title}</h4>
      <ListBox
        model={model}
        pane={pane}
        label={`Bytecode, ${title.toLowerCase()}`}
        className="tb-code"
        empty={empty ?? "No instructions."}
        rows={listing.instructions.map((instruction, index) => ({
          key: String(instruction.offset),
          spans: [spanOfInstruction(compilation.file, instruction)],
          className: instruction.role ? `tb-role-${instruction.role}` : "",
          content: (
            <Line
              instruction={instruction}
              newLine={listing.instructions[index - 1]?.line !== instruction.line}
            />
          ),
        }))}
      />
    </div>
  );
}

function Line({ instruction, newLine }: { instruction: Instruction; newLine: boolean }) {
  const argument = instruction.argrepr || (instruction.arg === null ? "" : String(instruction.arg));
  return (
    <>
      <span class="tb-line">{newLine && instruction.line !== null ? instruction.line : ""}</span>
      {instruction.role && <span class="tb-role">{instruction.role}</span>}
      <span class="tb-offset">{instruction.offset}</span>
      <span class="tb-op">{instruction.op}</span>
      <span class="tb-arg">{argument}</span>
    </>
  );
}
