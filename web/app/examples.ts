// In: the files of examples/. Out: the examples of the menu, day16 first, each with the idea that its docstring names.
// Invariant: whatever lies in the folder is in the menu.

export interface Example {
  file: string;
  idea: string;
  source: string;
}

const kSources = import.meta.glob<string>("../../examples/*.py", {
  query: "?raw",
  import: "default",
  eager: true,
});
const kFirst = "day16.py";

function ideaOf(source: string): string {
  const text = /^"""(.*?)(?:"""|$)/m.exec(source)?.[1] ?? "";
  return text.split(/[:;.] ?/)[0] ?? text;
}

export const examples: Example[] = Object.entries(kSources)
  .map(([path, source]) => ({ file: path.slice(path.lastIndexOf("/") + 1), source, idea: ideaOf(source) }))
  .sort((a, b) => Number(b.file === kFirst) - Number(a.file === kFirst) || a.idea.localeCompare(b.idea));

export const firstExample = examples.find((example) => example.file === kFirst) as Example;
