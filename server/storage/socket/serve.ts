import { lstatSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { once } from "node:events";
import { noteChanges, type Change } from "../../domain/changes.ts";
import { ServiceError } from "../../domain/errors.ts";
import type { Storage } from "../../domain/storage.ts";
import {
  LONGEST_CALL,
  onMessages,
  sendMessage,
  LOCAL_OPERATIONS,
  socketOf,
  VERSION,
  type Call,
  type Failure,
  type Reply,
} from "./protocol.ts";

export interface ServedStorage {
  close(): void;
}

/**
 * Lets commands of this machine use the storage of a running server, so that no second process writes to its SQLite
 * file. The commands connect to a socket beside the file, which only the file's owner may use.
 * @param refused called with the reason if there can be no socket; commands are then refused while the server runs
 */
export async function serveStorage(
  database: string,
  storage: Storage,
  refused: (reason: string) => void,
): Promise<ServedStorage> {
  const path = socketOf(database);
  if (path === undefined) {
    refused("its path would be too long, or this system has none");
    return { close: () => undefined };
  }
  const connections = new Set<Socket>();
  const server = createServer((socket) => {
    connections.add(socket.on("close", () => connections.delete(socket)));
    serve(socket, storage);
  }).unref();
  try {
    // A socket may be left from an earlier server. The lock of the database proves that no other server uses it.
    if (lstatSync(path, { throwIfNoEntry: false })?.isSocket()) rmSync(path);
    await listenPrivately(server, path);
  } catch (error) {
    refused((error as Error).message);
  }
  return {
    close() {
      server.close();
      for (const socket of connections) socket.destroy();
    },
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

function serve(socket: Socket, storage: Storage): void {
  socket.on("error", () => undefined);
  onMessages(socket, LONGEST_CALL, (message) => {
    const { id, ...call } = message as Call;
    const changes: Change[] = [];
    noteChanges(changes, () => run(storage, call)).then(
      (result) => reply(socket, { id, changes, result }),
      (error: unknown) => reply(socket, { id, changes, failure: failureOf(error) }),
    );
  });
}

/**
 * Sends a reply. While a command does not read its replies, its calls are not read either, so that replies cannot fill
 * the memory.
 */
function reply(socket: Socket, message: Reply): void {
  if (!socket.writable || sendMessage(socket, message) || socket.isPaused()) return;
  socket.pause().once("drain", () => socket.resume());
}

async function run(storage: Storage, { name, args, version }: Omit<Call, "id">): Promise<unknown> {
  if (version !== VERSION) {
    throw new ServiceError(
      "unavailable",
      `The running server has version ${VERSION}, this command ${version}. Run the command of the server's version.`,
    );
  }
  if (LOCAL_OPERATIONS.has(name) || !Object.hasOwn(storage, name)) throw new Error(`There is no operation ${name}.`);
  return (storage as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>)[name]!(...args);
}

function failureOf(error: unknown): Failure {
  const { name, message } = error as Error;
  return error instanceof ServiceError
    ? { name, message, code: error.code, details: error.details }
    : { name, message };
}
