// The report's types, for users of the package; generated from web/report/schema.json.
export type * from "../report/types.js";
