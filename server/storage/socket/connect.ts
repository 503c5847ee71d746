import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { notedChanges, type Change } from "../../domain/changes.ts";
import { ServiceError, type ErrorCode } from "../../domain/errors.ts";
import type { Storage } from "../../domain/storage.ts";
import { StorageError } from "../storage-error.ts";
import { isLocked } from "../sqlite/database.ts";
import { LONGEST_REPLY, onMessages, sendMessage } from "./messages.ts";
import { LOCAL_OPERATIONS, READS, socketOf, VERSION, type Failure, type Reply } from "./protocol.ts";

/** A server that is starting has the lock before it has the socket. */
const WAIT_MS = 2_000;
const RETRY_EVERY_MS = 50;

/**
 * Returns the storage of the server that uses a SQLite file, or undefined if there is none.
 * @param sleep waits for so many milliseconds
 * @throws StorageError if a server uses the file but takes no commands
 */
export async function connectToServer(
  database: string,
  sleep: (milliseconds: number) => Promise<void>,
): Promise<Storage | undefined> {
  const path = socketOf(database);
  for (let waited = 0; ; waited += RETRY_EVERY_MS) {
    const found = path === undefined ? "it has no socket for commands" : await connectTo(path);
    if (typeof found !== "string") return remoteStorage(found);
    if (!isLocked(database)) return undefined;
    if (waited >= WAIT_MS || path === undefined) {
      throw new StorageError(
        `Another server is using ${database}. Stop it, or use its dashboard: it takes no commands now (${found}).`,
      );
    }
    await sleep(RETRY_EVERY_MS);
  }
}

/** Resolves with the reason if no server is listening. @throws StorageError if this user may not connect */
async function connectTo(path: string): Promise<Socket | string> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
    return socket;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EACCES") throw new StorageError(`Only the owner of ${path} may run commands. ${message}.`);
    return message;
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
function remoteStorage(socket: Socket): Storage {
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
  return new Proxy({} as Storage, {
    get(_, name) {
      if (name === "close") return close;
      // `await` on the storage reads `then`.
      return typeof name === "string" && name !== "then" && !LOCAL_OPERATIONS.has(name) ? call(name) : undefined;
    },
  });
}

const endedError = () => new StorageError("The server ended before it had run the command.");

function errorOf({ name, message, code, details }: Failure): Error {
  if (code !== undefined) return new ServiceError(code as ErrorCode, message, details);
  return Object.assign(new Error(message), { name });
}
