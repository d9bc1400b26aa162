// In: a Pyodide on Node. Out: the host's files at their own paths, the host's working directory, its standard streams.
// Invariant: Python's own /lib, /dev and /proc stay Pyodide's; every other folder at the root is the host's.

import { readdirSync, lstatSync, readlinkSync, readSync, writeSync } from "node:fs";
import process from "node:process";
import { isatty } from "node:tty";

interface FileSystem {
  mkdir(path: string): void;
  symlink(target: string, path: string): void;
  chdir(path: string): void;
  analyzePath(path: string): { exists: boolean };
  mount(type: unknown, options: { root: string }, mountPoint: string): void;
  filesystems: { NODEFS: unknown };
}

export interface NodePyodide {
  FS: FileSystem;
  setInterruptBuffer(buffer: Uint8Array): void;
  setStdin(options: {
    stdin?: () => number | null | string;
    read?: (buffer: Uint8Array) => number;
    isatty?: boolean;
  }): void;
  setStdout(options: { write: (buffer: Uint8Array) => number; isatty: boolean }): void;
  setStderr(options: { write: (buffer: Uint8Array) => number; isatty: boolean }): void;
}

const kPyodideOwn = new Set(["dev", "lib", "proc", "sys"]);

export function mountHost(pyodide: NodePyodide): void {
  const { FS } = pyodide;
  for (const name of readdirSync("/")) {
    if (kPyodideOwn.has(name)) continue;
    const path = `/${name}`;
    try {
      const status = lstatSync(path);
      if (status.isSymbolicLink() && !FS.analyzePath(path).exists) FS.symlink(readlinkSync(path), path);
      if (!status.isDirectory()) continue;
      if (!FS.analyzePath(path).exists) FS.mkdir(path);
      FS.mount(FS.filesystems.NODEFS, { root: path }, path);
    } catch {
      // A folder that this user may not read is simply not there.
    }
  }
  FS.chdir(process.cwd());
}

export function connectStreams(pyodide: NodePyodide): void {
  pyodide.setStdin({ read: (buffer) => readWaiting(0, buffer), isatty: isatty(0) });
  pyodide.setStdout({ write: (buffer) => writeAll(1, buffer), isatty: isatty(1) });
  pyodide.setStderr({ write: (buffer) => writeAll(2, buffer), isatty: isatty(2) });
}

const kPause = new Int32Array(new SharedArrayBuffer(4));

function isCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === code;
}

function readWaiting(fd: number, buffer: Uint8Array): number {
  for (;;) {
    try {
      return readSync(fd, buffer);
    } catch (error) {
      if (isCode(error, "EOF")) return 0;
      if (!isCode(error, "EAGAIN")) throw error;
      Atomics.wait(kPause, 0, 0, 5);
    }
  }
}

export function writeAll(fd: number, buffer: Uint8Array): number {
  let at = 0;
  while (at < buffer.length) {
    try {
      at += writeSync(fd, buffer, at);
    } catch (error) {
      if (isCode(error, "EPIPE")) process.exit(141);
      if (!isCode(error, "EAGAIN")) throw error;
      Atomics.wait(kPause, 0, 0, 5);
    }
  }
  return buffer.length;
}
