// Commands use the storage of a running server through a socket beside its SQLite file.
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { once } from "node:events";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Storage } from "../../domain/storage.ts";
import { createFakeClock } from "../../testing/clock.ts";
import { ACTOR, addMerchant, aDisbursement, aKey } from "../../testing/storage/fixtures.ts";
import { StorageError } from "../storage-error.ts";
import { openSqlite } from "../sqlite/index.ts";
import { connectToServer } from "./connect.ts";
import { LONGEST_CALL, LONGEST_REPLY, onMessages, sendMessage } from "./messages.ts";
import { VERSION } from "./protocol.ts";
import { serveStorage, type ServedStorage } from "./serve.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "socket-"));
  path = join(folder, "server.db");
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Calls an operation as a command of this version. */
const ask = (name: string, version: string) =>
  new Promise((resolve) => {
    const socket = connect(`${path}.socket`);
    onMessages(socket, LONGEST_REPLY, (reply) => (socket.destroy(), resolve(reply)));
    sendMessage(socket, { id: 1, name, args: [], version });
  });
const failure = (message: RegExp) => ({ id: 1, failure: { message: expect.stringMatching(message) } });

describe("the storage of a server in this process", () => {
  let storage: Storage;
  let served: ServedStorage;
  beforeEach(async () => {
    storage = openSqlite(path, { clock: createFakeClock(), server: true });
    served = await serveStorage(path, storage, (reason) => expect.unreachable(reason));
  });
  afterEach(async () => {
    served.close();
    await storage.close();
  });

  test("returns what the server's own storage returns, bytes and absent fields included", async () => {
    const remote = (await connectToServer(path))!;
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
    const remote = (await connectToServer(path))!;
    const { id } = await addMerchant(remote);
    const list = remote.listEvents({ merchantId: id, limit: 10, cursor: "nonsense" });
    await expect(list).rejects.toMatchObject({
      name: "ServiceError",
      code: "invalid_value",
      details: { fields: [{}] },
    });
    await remote.close();
  });

  test("only the owner may connect", () => {
    expect(statSync(`${path}.socket`).mode & 0o777).toBe(0o600);
  });

  test("a command of another version is refused, and only operations of the storage can be called", async () => {
    expect(await ask("listMerchants", "0.0.1")).toMatchObject(
      failure(/^The running server has version .+0\.0\.1\. Run/),
    );
    const { version } = (await import("../../package.json", { with: { type: "json" } })).default;
    for (const name of ["close", "exclusively", "toString", "nothing"]) {
      expect(await ask(name, version)).toMatchObject(failure(/^There is no operation/));
    }
    expect(await ask("listMerchants", version)).toEqual({ id: 1, changes: [], result: [] });
  });

  test("what is no message ends the connection, and the server goes on", async () => {
    for (const bytes of [Buffer.alloc(8, 255), Buffer.from([0, 0, 0, 2, 7, 7])]) {
      const socket = connect(`${path}.socket`);
      socket.on("error", () => undefined).resume();
      socket.write(bytes);
      await new Promise((resolve) => socket.on("close", resolve));
    }
    const remote = (await connectToServer(path))!;
    expect(await remote.listMerchants()).toEqual([]);
    await remote.close();
  });

  test("a call of more than a mebibyte ends the connection before it has arrived", async () => {
    const socket = connect(`${path}.socket`);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(LONGEST_CALL);
    socket.on("error", () => undefined).write(length);
    await once(socket, "close");
    expect(await storage.listMerchants()).toEqual([]);
  });

  test("a command that reads no replies is not read from either", async () => {
    await Promise.all(Array.from({ length: 200 }, () => addMerchant(storage)));
    const socket = connect(`${path}.socket`).pause();
    await once(socket, "connect");
    let read = 0;
    const list = storage.listMerchants;
    storage.listMerchants = () => ((read += 1), list());
    const calls = 20_000;
    for (let id = 0; id < calls; id += 1)
      sendMessage(socket, { id, name: "listMerchants", args: [], version: VERSION });
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
    const remote = (await connectToServer(path))!;
    await remote.listMerchants();
    served.close();
    await expect(remote.listMerchants()).rejects.toThrow("The server ended before it replied.");
    await expect(remote.listMerchants()).rejects.toBeInstanceOf(StorageError);
  });
});
