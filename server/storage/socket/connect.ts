import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { notedChanges, type Change } from "../../domain/changes.ts";
import { ServiceError, type ErrorCode } from "../../domain/errors.ts";
import { StorageError } from "../storage-error.ts";
import type { SqliteStorage } from "../sqlite/index.ts";
import {
  LONGEST_REPLY,
  onMessages,
  sendMessage,
  LOCAL_OPERATIONS,
  READS,
  socketOf,
  VERSION,
  type Failure,
  type Reply,
} from "./protocol.ts";

/**
 * Returns the storage of the server that uses a SQLite file, or undefined if none accepts commands.
 * @throws StorageError if this user may not connect
 */
export async function connectToServer(database: string): Promise<SqliteStorage | undefined> {
  const path = socketOf(database);
  if (path === undefined) return undefined;
  const socket = connect(path);
  try {
    await once(socket, "connect");
    return remoteStorage(socket);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EACCES") throw new StorageError(`Only the owner of ${path} may run commands. ${message}.`);
    return undefined;
  }
}

/** A call that has no reply yet. */
interface Waiting {
  name: string;
  /** The changes of the command that has called. */
  changes: Change[] | undefined;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Returns a storage whose operations the server runs. */
function remoteStorage(socket: Socket): SqliteStorage {
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let closed = false;
  onMessages(socket, LONGEST_REPLY, (message) => {
    const reply = message as Reply;
    const caller = waiting.get(reply.id);
    waiting.delete(reply.id);
    caller?.changes?.push(...reply.changes);
    if ("failure" in reply) caller?.reject(errorOf(reply.failure));
    else caller?.resolve(reply.result);
  });
  socket.on("error", () => undefined);
  socket.on("close", () => {
    closed = true;
    for (const { name, changes, reject } of waiting.values()) {
      if (!READS.test(name)) changes?.push({ isCertain: false, details: {} });
      reject(endedError());
    }
    waiting.clear();
  });

  const call =
    (name: string) =>
    (...args: unknown[]) =>
      new Promise((resolve, reject) => {
        if (closed) return void reject(endedError());
        lastId += 1;
        waiting.set(lastId, { name, changes: notedChanges(), resolve, reject });
        sendMessage(socket, { id: lastId, name, args, version: VERSION });
      });
  const close = async () => void socket.destroy();
  return new Proxy({} as SqliteStorage, {
    get(_, name) {
      if (name === "close") return close;
      // `await` on the storage reads `then`.
      return typeof name === "string" && name !== "then" && !LOCAL_OPERATIONS.has(name) ? call(name) : undefined;
    },
  });
}

const endedError = () => new StorageError("The server ended before it replied.");

function errorOf({ name, message, code, details }: Failure): Error {
  if (code !== undefined) return new ServiceError(code as ErrorCode, message, details);
  return Object.assign(new Error(message), { name });
}
