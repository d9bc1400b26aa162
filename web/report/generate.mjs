// In: schema.json beside this file. Out: types.ts beside it (one interface or alias per definition); with --check, nothing is
// written and the exit status is 1 when types.ts is stale. Invariant: only the parts of JSON Schema that schema.json uses are known;
// anything else is an error, never `any`.

import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

const kHead = "// Generated from schema.json by generate.mjs (npm run build); do not edit.\n";

/** The TypeScript text of one schema node. */
function typeOf(node, indent) {
  if (node.$ref) return node.$ref.replace("#/$defs/", "");
  if (node.anyOf) return node.anyOf.map((part) => typeOf(part, indent)).join(" | ");
  if (node.const !== undefined) return JSON.stringify(node.const);
  if (node.enum) return node.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (Array.isArray(node.type)) return node.type.map((type) => typeOf({ ...node, type }, indent)).join(" | ");
  switch (node.type) {
    case "null":
      return "null";
    case "string":
    case "boolean":
      return node.type;
    case "integer":
    case "number":
      return "number";
    case "array": {
      const item = typeOf(node.items, indent);
      return item.includes(" | ") ? `(${item})[]` : `${item}[]`;
    }
    case "object":
      return objectOf(node, indent);
    default:
      throw new Error(`schema.json uses what generate.mjs does not know: ${JSON.stringify(node)}`);
  }
}

function objectOf(node, indent) {
  if (!node.properties) {
    return node.additionalProperties === true
      ? "Record<string, unknown>"
      : `Record<string, ${typeOf(node.additionalProperties, indent)}>`;
  }
  const inner = `${indent}  `;
  const lines = Object.entries(node.properties).map(([name, property]) => {
    const optional = node.required?.includes(name) ? "" : "?";
    return `${comment(property, inner)}${inner}${name}${optional}: ${typeOf(property, inner)};`;
  });
  return `{\n${lines.join("\n")}\n${indent}}`;
}

function comment(node, indent) {
  return node.description ? `${indent}/** ${node.description} */\n` : "";
}

function declaration(name, node) {
  const body = typeOf(node, "");
  return `${comment(node, "")}${body.startsWith("{") ? `export interface ${name} ${body}` : `export type ${name} = ${body};`}\n`;
}

/** The whole text of types.ts for a parsed schema. */
export function generate(schema) {
  const parts = [
    declaration(schema.title, schema),
    ...Object.entries(schema.$defs).map(([name, node]) => declaration(name, node)),
  ];
  return `${kHead}\n${parts.join("\n")}`;
}

const here = (name) => new URL(name, import.meta.url);

/** types.ts as it should be: generated, then formatted as every other file. */
async function wantedText() {
  const { format, resolveConfig } = await import("prettier");
  const config = await resolveConfig(fileURLToPath(here("types.ts")));
  return format(generate(JSON.parse(readFileSync(here("schema.json"), "utf8"))), {
    ...config,
    parser: "typescript",
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const wanted = await wantedText();
  if (!process.argv.includes("--check")) writeFileSync(here("types.ts"), wanted);
  else if (readFileSync(here("types.ts"), "utf8") !== wanted) {
    process.stderr.write("web/report/types.ts is stale: run node web/report/generate.mjs\n");
    process.exitCode = 1;
  }
}
