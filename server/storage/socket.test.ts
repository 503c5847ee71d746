// Commands use the storage of a running server through a socket beside its SQLite file.
import { once } from "node:events";
import { statSync } from "node:fs";
import { connect } from "node:net";
import { buffer } from "node:stream/consumers";
import { deserialize, serialize } from "node:v8";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Storage } from "../domain/storage.ts";
import packageJson from "../package.json" with { type: "json" };
import { createFakeClock } from "../testing/clock.ts";
import { useFolder } from "../testing/resources.ts";
import { ACTOR, addMerchant, aDisbursement, aKey } from "../testing/storage/fixtures.ts";
import { StorageError } from "./storage-error.ts";
import { openSqlite } from "./sqlite/index.ts";
import { connectToServer, serveStorage } from "./socket.ts";

const pathOf = useFolder();
let path: string;
let storage: Storage;
let stopServing: () => void;
let remote: Storage;
beforeEach(async () => {
  path = pathOf("server.db");
  storage = openSqlite(path, { clock: createFakeClock(), server: true });
  stopServing = await serveStorage(path, storage);
  remote = (await connectToServer(path))!;
});
afterEach(async () => {
  await remote.close();
  stopServing();
  await storage.close();
});

/** Sends bytes as a command does, and returns what the server replies. */
const send = (bytes: Uint8Array) => buffer(connect(`${path}.socket`).end(bytes));
const ask = async (name: string, version: string) => deserialize(await send(serialize({ name, args: [], version })));
const failure = (message: RegExp) => ({ failure: { message: expect.stringMatching(message) } });

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
  expect(await ask("listMerchants", "0.0.1")).toMatchObject(failure(/^The running server has version .+0\.0\.1\. Use/));
  for (const name of ["close", "exclusively", "toString", "nothing"]) {
    expect(await ask(name, packageJson.version)).toMatchObject(failure(/^There is no operation/));
  }
  expect(await ask("listMerchants", packageJson.version)).toEqual({ changes: [], result: [] });
});

test("what is no message gets no reply, and the server goes on", async () => {
  for (const bytes of [Buffer.alloc(8, 255), Buffer.alloc(0), serialize({ name: "listMerchants" }).subarray(0, 9)])
    expect(await send(bytes)).toHaveLength(0);
  const leaving = connect(`${path}.socket`);
  await once(leaving, "connect");
  leaving.destroy();
  expect(await remote.listMerchants()).toEqual([]);
});

test("a command whose server ends is told so", async () => {
  await remote.listMerchants();
  stopServing();
  await expect(remote.listMerchants()).rejects.toThrow("The server ended before it replied.");
  await expect(remote.listMerchants()).rejects.toBeInstanceOf(StorageError);
});
