// The package's main entry: install Thirdbook into a Pyodide that the host already has.
export { doctor, linesOf, type DoctorReport } from "./doctor.js";
export { ThirdbookError, type ErrorCode } from "./errors.js";
export type { HostFacts, Pyodide } from "./host.js";
export { install, type InstallEvent, type InstallOptions, type Thirdbook } from "./install.js";
export { lockEntry, type LockEntry } from "./lock_entry.js";
export type * from "./report.js";
export { Session, type ProgramResult, type RunOptions, type SessionOptions } from "./session.js";
export { version } from "./wheel_file.js";
