// Every snippet and every link of README.md and docs/ is tried; tables agree with the source.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeProject, runVitest, type FreshProject } from "../packed.js";

const pages = ["README.md", "core/README.md", ...readdirSync("docs").map((name) => `docs/${name}`)].filter(
  (name) => name.endsWith(".md"),
);
const textOf = (page: string) => readFileSync(page, "utf8");

function snippets(page: string, language: string): string[] {
  return [...textOf(page).matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"))].map(
    (match) => match[1] as string,
  );
}

let project: FreshProject;
beforeAll(() => {
  project = makeProject();
});
afterAll(() => project.remove());

function node(...words: string[]) {
  return spawnSync(process.execPath, words, { cwd: project.folder, encoding: "utf8" });
}

describe.each(pages)("%s", (page) => {
  test("links to files that exist", () => {
    const links = [...textOf(page).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(
      (match) => match[1] as string,
    );
    for (const link of links) expect(existsSync(join(dirname(page), link)), link).toBe(true);
  });
});

describe("snippets", () => {
  test("README: install in a page's Pyodide", () => {
    const [snippet] = snippets("README.md", "js");
    writeFileSync(
      join(project.folder, "readme.mjs"),
      `import { loadPyodide } from "pyodide";\nconst pyodide = await loadPyodide();\n${snippet}`,
    );
    expect(node("readme.mjs")).toMatchObject({ status: 0, stdout: "[1.0, 3.0, 5.0] [3]\n" });
  });

  test("docs/page.md: install and report", () => {
    writeFileSync(join(project.folder, "page.mjs"), snippets("docs/page.md", "js")[0] as string);
    const { status, stdout } = node("page.mjs");
    expect(stdout).toMatch(/^tensor\(\[2\., 2\.\]\)\n\{/);
    expect(status).toBe(0);
  });

  test("docs/runtime.md: an exported graph", () => {
    copyFileSync("tests/web/fixtures/scale.tbexport", join(project.folder, "model.tbexport"));
    writeFileSync(
      join(project.folder, "exported.mjs"),
      `import { readFileSync } from "node:fs";
globalThis.fetch = async (name) => new Response(readFileSync(name));
${snippets("docs/runtime.md", "ts")[0]}console.log(outputs[0].data[0].toFixed(3), effects[0].operation);
`,
    );
    expect(node("exported.mjs")).toMatchObject({ status: 0, stdout: "2.964 setattr calls\n" });
  });

  test("docs/tests.md: configuration and test", () => {
    const [config, program] = snippets("docs/tests.md", "ts") as [string, string];
    writeFileSync(join(project.folder, "vitest.config.ts"), config);
    writeFileSync(join(project.folder, "counter.test.ts"), program);
    expect(runVitest(project)).toMatchObject({ status: 0, passed: 1, failed: 0 });
  });

  test("docs/notebook.md: cells and lock file", () => {
    const cells = snippets("docs/notebook.md", "python").join("\n");
    const [lock] = snippets("docs/notebook.md", "js");
    writeFileSync(
      join(project.folder, "notebook.mjs"),
      `import { loadPyodide } from "pyodide";\nimport { install } from "thirdbook";\n${lock}
const pyodide = await loadPyodide();\nawait install(pyodide);\npyodide.runPython(${JSON.stringify(cells)});
console.log(lock.packages.thirdbook.file_name);`,
    );
    const { status, stdout } = node("notebook.mjs");
    expect(stdout).toMatch(/^\[1\.0, 3\.0, 5\.0\] \[3\]\n\.\/thirdbook-.*\.whl\n$/);
    expect(status).toBe(0);
  });

  test("every printed run is what the programs print now", () => {
    const { status, stderr } = spawnSync(process.execPath, ["docs/printed-run.mjs", "--check"], {
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    expect(status).toBe(0);
  });
});

describe("tables", () => {
  test("docs/page.md lists every error code, and no other", () => {
    const source = readFileSync("web/lib/errors.ts", "utf8");
    const codes = [...source.matchAll(/^ {2}\| "([\w-]+)"/gm)].map((match) => match[1]);
    const errors = textOf("docs/page.md").split("`ThirdbookError`")[1] ?? "";
    const listed = [...errors.matchAll(/^\| `([a-z]+-[a-z]+|timeout)` \|/gm)].map((match) => match[1]);
    expect(listed.sort()).toEqual(codes.sort());
  });

  test("docs/command-line.md lists every option, and no other", () => {
    const { stdout } = spawnSync(process.execPath, ["web/cli/main.mjs", "--help"], { encoding: "utf8" });
    const options = [...stdout.matchAll(/^ {2}(--\w+)/gm)].map((match) => match[1]);
    const listed = [...textOf("docs/command-line.md").matchAll(/^\| `(--\w+)/gm)].map((match) => match[1]);
    expect(listed).toEqual(options);
  });

  test("docs/report.md lists the schema's kinds, roles and counters", () => {
    const schema = JSON.parse(readFileSync("web/report/schema.json", "utf8")) as {
      $defs: Record<string, { enum?: string[]; required?: string[] }>;
    };
    const names = [
      ...(schema.$defs["MutationKind"]?.enum ?? []),
      ...(schema.$defs["Role"]?.enum ?? []),
      ...(schema.$defs["Counters"]?.required ?? []),
    ];
    expect(names.length).toBeGreaterThan(15);
    for (const name of names) expect(textOf("docs/report.md")).toContain(name);
  });
});
