// Commands use the storage of a running server through a socket beside its SQLite file.
import { once } from "node:events";
import { statSync } from "node:fs";
import { connect } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Storage } from "../../domain/storage.ts";
import { createFakeClock } from "../../testing/clock.ts";
import { useFolder } from "../../testing/places.ts";
import { ACTOR, addMerchant, aDisbursement, aKey, concurrently } from "../../testing/storage/fixtures.ts";
import { StorageError } from "../storage-error.ts";
import { openSqlite } from "../sqlite/index.ts";
import { connectToServer } from "./connect.ts";
import { LONGEST_CALL, LONGEST_REPLY, onMessages, sendMessage, VERSION } from "./protocol.ts";
import { serveStorage, type ServedStorage } from "./serve.ts";

const pathOf = useFolder();
let path: string;
let storage: Storage;
let served: ServedStorage;
let remote: Storage;
beforeEach(async () => {
  path = pathOf("server.db");
  storage = openSqlite(path, { clock: createFakeClock(), server: true });
  served = await serveStorage(path, storage, (reason) => expect.unreachable(reason));
  remote = (await connectToServer(path))!;
});
afterEach(async () => {
  await remote.close();
  served.close();
  await storage.close();
});

/** Calls an operation as a command of this version. */
const ask = (name: string, version: string) =>
  new Promise((resolve) => {
    const socket = connect(`${path}.socket`);
    onMessages(socket, LONGEST_REPLY, (reply) => (socket.destroy(), resolve(reply)));
    sendMessage(socket, { id: 1, name, args: [], version });
  });
const failure = (message: RegExp) => ({ id: 1, failure: { message: expect.stringMatching(message) } });

test("returns what the server's own storage returns, bytes and absent fields included", async () => {
  const { id } = await addMerchant(remote);
  const key = aKey(id);
  await remote.insertKey(key, ACTOR);
  const { record } = await remote.insertDisbursement(aDisbursement(id));
  expect(await remote.listMerchants()).toStrictEqual(await storage.listMerchants());
  expect(await remote.findMerchantByKey(key.hash)).toStrictEqual(await storage.findMerchantByKey(key.hash));
  expect(await remote.findDisbursement(id, record.reference)).toStrictEqual(record);
  expect(await remote.findDisbursement(id, "unknown")).toBeUndefined();
  await remote.close();
  expect(await storage.listMerchants()).toHaveLength(1);
});

test("throws what the server's own storage throws", async () => {
  const { id } = await addMerchant(remote);
  const list = remote.listEvents({ merchantId: id, limit: 10, cursor: "nonsense" });
  const error = { name: "ServiceError", code: "invalid_value", details: { fields: [{}] } };
  await expect(list).rejects.toMatchObject(error);
});

test("only the owner may connect, a command of another version is refused, and only operations can be called", async () => {
  expect(statSync(`${path}.socket`).mode & 0o777).toBe(0o600);
  expect(await ask("listMerchants", "0.0.1")).toMatchObject(failure(/^The running server has version .+0\.0\.1\. Run/));
  for (const name of ["close", "exclusively", "toString", "nothing"]) {
    expect(await ask(name, VERSION)).toMatchObject(failure(/^There is no operation/));
  }
  expect(await ask("listMerchants", VERSION)).toEqual({ id: 1, changes: [], result: [] });
});

test("what is no message, or is longer than a mebibyte, ends the connection, and the server goes on", async () => {
  const tooLong = Buffer.alloc(4);
  tooLong.writeUInt32BE(LONGEST_CALL);
  for (const bytes of [Buffer.alloc(8, 255), Buffer.from([0, 0, 0, 2, 7, 7]), tooLong]) {
    const socket = connect(`${path}.socket`);
    socket.on("error", () => undefined).resume();
    socket.write(bytes);
    await once(socket, "close");
  }
  expect(await remote.listMerchants()).toEqual([]);
});

test("a command that reads no replies is not read from either", async () => {
  await concurrently(200, () => addMerchant(storage));
  const socket = connect(`${path}.socket`).pause();
  await once(socket, "connect");
  let read = 0;
  const list = storage.listMerchants;
  storage.listMerchants = () => ((read += 1), list());
  const calls = 20_000;
  for (let id = 0; id < calls; id += 1) sendMessage(socket, { id, name: "listMerchants", args: [], version: VERSION });
  let before: number;
  do {
    before = read;
    await new Promise((resolve) => setImmediate(resolve));
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  } while (read > before);
  expect(read).toBeLessThan(calls / 10);
  socket.destroy();
});

test("a command whose server ends is told so", async () => {
  await remote.listMerchants();
  served.close();
  await expect(remote.listMerchants()).rejects.toThrow("The server ended before it replied.");
  await expect(remote.listMerchants()).rejects.toBeInstanceOf(StorageError);
});
