import { existsSync, realpathSync } from "node:fs";
import { relative } from "node:path";
import type { Change } from "../../domain/changes.ts";
import packageJson from "../../package.json" with { type: "json" };
import type { Socket } from "node:net";
import { deserialize, serialize } from "node:v8";

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

/** The longest message of a command, in bytes: the arguments of one operation. */
export const LONGEST_CALL = 1024 * 1024;
/** The longest message of the server, in bytes. A page of a list is far smaller. */
export const LONGEST_REPLY = 64 * 1024 * 1024;
const LENGTH_BYTES = 4;

/**
 * Sends a value: its length in bytes, then the value as `v8` writes it, which keeps dates, bytes and absent fields.
 * @returns false if the other side has not yet read what was sent before
 */
export function sendMessage(socket: Socket, value: unknown): boolean {
  const body = serialize(value);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(body.length);
  return socket.write(Buffer.concat([length, body]));
}

/**
 * Calls `receive` with each value that arrives. A malformed message, or a message of more than `longest` bytes, ends
 * the connection.
 */
export function onMessages(socket: Socket, longest: number, receive: (value: unknown) => void): void {
  let waiting = Buffer.alloc(0);
  /** The parts of a message whose end is still missing. */
  let parts: Buffer[] = [];
  let missing = 0;
  socket.on("data", (chunk: Buffer) => {
    parts.push(chunk);
    missing -= chunk.length;
    if (missing > 0) return;
    waiting = Buffer.concat([waiting, ...parts]);
    parts = [];
    try {
      for (let body = next(); body; body = next()) receive(deserialize(body));
    } catch (error) {
      socket.destroy(error as Error);
    }
  });

  function next(): Buffer | undefined {
    missing = LENGTH_BYTES - waiting.length;
    if (missing > 0) return undefined;
    const end = LENGTH_BYTES + waiting.readUInt32BE();
    if (end > longest) throw new Error("the message is too long");
    missing = end - waiting.length;
    if (missing > 0) return undefined;
    const body = waiting.subarray(LENGTH_BYTES, end);
    waiting = waiting.subarray(end);
    return body;
  }
}
