import { existsSync, realpathSync } from "node:fs";
import { relative } from "node:path";
import type { Change } from "../../domain/changes.ts";
import packageJson from "../../package.json" with { type: "json" };

/** A call of an operation of the storage. */
export interface Call {
  id: number;
  name: string;
  args: unknown[];
  /** The version of the program that sends it. */
  version: string;
}

/** The error that an operation of the storage threw. `code` and `details` are those of a ServiceError. */
export interface Failure {
  name: string;
  message: string;
  code?: string;
  details?: object;
}

/** The reply to a call, with what the call has recorded. */
export type Reply = { id: number; changes: Change[] } & ({ result: unknown } | { failure: Failure });

export const VERSION: string = packageJson.version;

/** The names of operations that only read. Any other may have recorded something if its reply is lost. */
export const READS = /^((find|list|read|has|search)[A-Z]|countDeliveries$|countReplayed$|backup$)/;

/** Operations that take a function or end the server's own storage. Commands cannot call them. */
export const LOCAL_OPERATIONS = new Set(["exclusively", "close"]);

/** The most bytes of a socket's path on the systems that this project runs on, without the byte that ends it. */
const LONGEST_PATH = 103;

/**
 * Returns the path of the socket of a database file: beside the file, relative to the working directory if that is
 * shorter. Undefined if this system has no such sockets or the path is too long for a socket.
 */
export function socketOf(database: string): string | undefined {
  const path = `${existsSync(database) ? realpathSync(database) : database}.socket`;
  const fromHere = relative(process.cwd(), path);
  const shorter = fromHere.length < path.length ? fromHere : path;
  const isUsable = process.platform !== "win32" && Buffer.byteLength(shorter) <= LONGEST_PATH;
  return isUsable ? shorter : undefined;
}
