// In: web/report/schema.json. Out: a check that a value is a report, with every violation named.
// Invariant: strict: a keyword or a field that the schema does not know is a failure.

import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";

const kSchema = JSON.parse(readFileSync("web/report/schema.json", "utf8")) as object;
const validate = new Ajv2020({ allErrors: true, strict: true, strictTypes: false }).compile(kSchema);

/** The violations, one a line; empty for a valid report. */
export function violationsOf(report: unknown): string[] {
  return validate(report)
    ? []
    : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
}
