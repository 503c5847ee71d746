// Commands of this machine use the storage of a running server through a socket beside its SQLite file, so that no second
// process writes to the file. Each call has a connection; each side sends one message and half-closes it.
import { once } from "node:events";
import { existsSync, lstatSync, realpathSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { relative } from "node:path";
import { buffer } from "node:stream/consumers";
import { deserialize, serialize } from "node:v8";
import { collectChanges, currentChanges, type Change } from "../domain/changes.ts";
import { ServiceError, type ErrorCode } from "../domain/errors.ts";
import type { Storage } from "../domain/storage.ts";
import packageJson from "../package.json" with { type: "json" };
import type { SqliteStorage } from "./sqlite/index.ts";
import { StorageError } from "./storage-error.ts";

/** A call of an operation of the storage. */
interface Call {
  name: string;
  args: unknown[];
  /** The version of the program that sends it. */
  version: string;
}

/** The error that an operation of the storage threw. `code` and `details` are those of a ServiceError. */
interface Failure {
  name: string;
  message: string;
  code?: string;
  details?: object;
}

/** The reply to a call, with what the call has recorded. */
type Reply = { changes: Change[] } & ({ result: unknown } | { failure: Failure });

const VERSION: string = packageJson.version;

/** The names of operations that only read. Any other may have recorded something if its reply is lost. */
export const READS = /^((find|list|read|has|search)[A-Z]|countDeliveries$|backup$)/;

/** Operations that take a function or end the server's own storage. Commands cannot call them. */
const LOCAL_OPERATIONS = new Set(["exclusively", "close"]);

/** The most bytes of a socket's path on the systems that this project runs on, without the byte that ends it. */
const LONGEST_PATH = 103;

/**
 * Returns the path of the socket of a database file: beside the file, relative to the working directory if that is
 * shorter. Undefined if this system has no such sockets or the path is too long for a socket.
 */
function socketOf(database: string): string | undefined {
  const path = `${existsSync(database) ? realpathSync(database) : database}.socket`;
  const fromHere = relative(process.cwd(), path);
  const shorter = fromHere.length < path.length ? fromHere : path;
  const isUsable = process.platform !== "win32" && Buffer.byteLength(shorter) <= LONGEST_PATH;
  return isUsable ? shorter : undefined;
}

/** Resolves with what the other side sends. `v8` keeps dates, bytes and absent fields. */
async function receive(socket: Socket): Promise<unknown> {
  // An error of the other side after the end of its message must not end this process.
  return deserialize(await buffer(socket.on("error", () => undefined)));
}

/**
 * Lets commands use the storage, until the returned function is called. Only the file's owner may use the socket.
 * @throws Error if there can be no socket; commands are then refused while the server runs
 */
export async function serveStorage(database: string, storage: Storage): Promise<() => void> {
  const path = socketOf(database);
  if (path === undefined) throw new Error("its path would be too long, or this system has none");
  const connections = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    connections.add(socket.on("close", () => connections.delete(socket)));
    receive(socket)
      .then(async (call) => socket.end(serialize(await replyTo(storage, call as Call))))
      .catch(() => socket.destroy());
  }).unref();
  // A socket may be left from an earlier server. The lock of the database proves that no other server uses it.
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket()) rmSync(path);
  await listenPrivately(server, path);
  return () => {
    server.close();
    for (const socket of connections) socket.destroy();
  };
}

/** The socket has the mode 0600 from the start: a later change would leave a moment in which others may connect. */
async function listenPrivately(server: Server, path: string): Promise<void> {
  const mask = process.umask(0o177);
  try {
    server.listen(path);
  } finally {
    process.umask(mask);
  }
  await once(server, "listening");
}

async function replyTo(storage: Storage, call: Call): Promise<Reply> {
  const changes: Change[] = [];
  try {
    return { changes, result: await collectChanges(changes, () => run(storage, call)) };
  } catch (error) {
    const { name, message } = error as Error;
    const known = error instanceof ServiceError && { code: error.code, details: error.details };
    return { changes, failure: { name, message, ...known } };
  }
}

async function run(storage: Storage, { name, args, version }: Call): Promise<unknown> {
  if (version !== VERSION) {
    throw new ServiceError(
      "unavailable",
      `The running server has version ${VERSION}, this command ${version}. Use the command of that version.`,
    );
  }
  if (LOCAL_OPERATIONS.has(name) || !Object.hasOwn(storage, name)) throw new Error(`There is no operation ${name}.`);
  return (storage as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>)[name]!(...args);
}

/**
 * Returns the storage of the server that uses a SQLite file, or undefined if none accepts commands.
 * @throws StorageError if this user may not connect
 */
export async function connectToServer(database: string): Promise<SqliteStorage | undefined> {
  const path = socketOf(database);
  if (path === undefined) return undefined;
  try {
    (await connected(path)).destroy();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EACCES") throw new StorageError(`Only the owner of ${path} may run commands. ${message}.`);
    return undefined;
  }
  return new Proxy({} as SqliteStorage, {
    get(_, name) {
      if (name === "close") return async () => undefined;
      // `await` on the storage reads `then`.
      if (typeof name !== "string" || name === "then" || LOCAL_OPERATIONS.has(name)) return undefined;
      return (...args: unknown[]) => ask(path, { name, args, version: VERSION });
    },
  });
}

async function connected(path: string): Promise<Socket> {
  const socket = connect(path);
  await once(socket, "connect");
  return socket;
}

function throwEnded(cause: unknown): never {
  throw new StorageError("The server ended before it replied.", { cause });
}

async function ask(path: string, call: Call): Promise<unknown> {
  const changes = currentChanges();
  const socket = await connected(path).catch(throwEnded);
  socket.end(serialize(call));
  const reply = await receive(socket).catch((error: unknown) => {
    if (!READS.test(call.name)) changes?.push("unknown");
    return throwEnded(error);
  });
  const { changes: recorded, ...outcome } = reply as Reply;
  changes?.push(...recorded);
  if ("failure" in outcome) throw errorOf(outcome.failure);
  return outcome.result;
}

function errorOf({ name, message, code, details }: Failure): Error {
  if (code !== undefined) return new ServiceError(code as ErrorCode, message, details);
  return Object.assign(new Error(message), { name });
}
