import { writeFileSync } from "node:fs";
import { beforeEach, describe, expect, test } from "vitest";
import { InvalidCursorError } from "../domain/errors.ts";
import type { Storage } from "../domain/storage.ts";
import { createFakeClock, type FakeClock } from "../testing/clock.ts";
import { startPostgresProxy } from "../testing/postgres-proxy.ts";
import { testDatabase, useFolder } from "../testing/resources.ts";
import type { TestDatabase } from "../testing/postgres.ts";
import { contents, fill } from "../testing/storage/everything.ts";
import {
  ACTOR,
  addDelivery,
  addMerchant,
  aDisbursement,
  claimAll,
  concurrently,
  pendingOn,
} from "../testing/storage/fixtures.ts";
import { MINUTE } from "../testing/times.ts";
import { databaseAt } from "./open.ts";
import { openPostgres } from "./postgres/index.ts";
import { openSqlite } from "./sqlite/index.ts";
import { StorageError } from "./storage-error.ts";
import { copyToPostgres } from "./copy.ts";

const pathOf = useFolder();
let path: string;
let clock: FakeClock;
let database: TestDatabase;
beforeEach(async () => {
  path = pathOf("server.db");
  clock = createFakeClock();
  database = await testDatabase();
});

const openSource = () => openSqlite(path, { clock, server: true });
const openCopy = () => openPostgres(database.url, { clock, server: true, time: "process" });
const copy = (url = database.url) => copyToPostgres(path, url);
/** Opens the source, and closes it after the work. */
function inSource<T>(work: (storage: Storage) => Promise<T>): Promise<T> {
  const source = openSource();
  return work(source).finally(() => source.close());
}
/** Opens the copy, and closes it after the work. */
async function inCopy<T>(work: (storage: Storage) => Promise<T>): Promise<T> {
  const opened = await openCopy();
  return work(opened).finally(() => opened.close());
}
test("the copy has everything, its books are right, and a service continues on it", async () => {
  const { ada, pending, claimed, due, before, cursors } = await inSource(async (source) => {
    const filled = await fill(source);
    await concurrently(1_000, (index) => source.countRefusal(filled.ada.id, `refused-${index}`));
    const { cursor: records } = await source.listDisbursements({ merchantId: filled.ada.id, limit: 1 });
    const { cursor: trail } = await source.listAudit({ limit: 1 });
    return { ...filled, before: await contents(source), cursors: { records: records!, trail: trail! } };
  });
  const copied = await copy();
  const copyOf = (name: string) => copied.find(({ table }) => table === name);
  expect(copyOf("refusals")).toMatchObject({ rows: 1_001 });
  expect(copyOf("disbursements")).toMatchObject({ rows: 7 });

  expect(await databaseAt({ kind: "postgres", url: database.url }).check()).toEqual({ findings: [] });

  await inCopy(async (storage) => {
    expect(await contents(storage)).toEqual(before);
    expect(await storage.countRefusal(ada.id, "refused-999")).toBe(2);

    // Only the lease of the delivery that was being attempted still runs.
    expect((await claimAll(storage)).map(({ id }) => id)).toContain(due.id);
    expect((await storage.findDelivery(ada.id, claimed.id))?.status).toBe("pending");
    clock.advance(MINUTE);
    expect((await claimAll(storage)).map(({ id }) => id)).toContain(claimed.id);
    expect(await storage.settleDue(100)).toBeGreaterThan(0);
    expect(await storage.findDisbursement(ada.id, pending.reference)).toMatchObject({ status: "success" });

    const query = { merchantId: ada.id, limit: 1 };
    expect((await storage.listEvents(query)).items).toMatchObject([{ reference: pending.reference }]);
    const ofList = storage.listDisbursements({ ...query, cursor: cursors.records });
    await expect(ofList).rejects.toThrow(InvalidCursorError);
    expect((await storage.listAudit({ limit: 1, cursor: cursors.trail! })).items).toHaveLength(1);
  });
});

test("no new event is behind a cursor, also of a merchant without events left", async () => {
  const { merchantId, cursor } = await inSource(async (source) => {
    const { id } = await addMerchant(source);
    for (let made = 0; made < 2; made += 1) await addDelivery(source, id);
    const page = await source.listEvents({ merchantId: id, limit: 1 });
    await source.reset(id, ACTOR);
    return { merchantId: id, cursor: page.cursor! };
  });
  await copy();
  await inCopy(async (storage) => {
    await addDelivery(storage, merchantId);
    expect(await storage.listEvents({ merchantId, limit: 9, cursor })).toEqual({ items: [] });
  });
});

test("doubt whether a rail has a payment begins anew, on the counter of the destination", async () => {
  const id = await inSource(async (source) => {
    const { id: merchantId } = await addMerchant(source);
    await source.insertDisbursement(pendingOn("mobile", merchantId));
    const [claim] = await source.claimHandovers([{ merchantId, host: "mobile", count: 1 }], MINUTE);
    await source.recordHandover(claim!, { exchanges: [], isUnknown: true, askAgainAfterMs: MINUTE });
    return claim!.id;
  });
  await copy();
  const inDoubt = "SELECT h.id FROM handovers h JOIN service ON leased = asked_leased";
  expect(await database.run(inDoubt)).toEqual([{ id }]);
});

const isEmpty = async () => (await database.run("SELECT 1 FROM pg_tables WHERE schemaname = 'public'")).length === 0;

describe("copies nothing", () => {
  test("from a source that a server uses, or of an older version", async () => {
    await inSource(() => expect(copy()).rejects.toThrow(/^Another server or command is using .+\. Stop it/));
    path = pathOf("older.db");
    writeFileSync(path, "");
    await expect(copy()).rejects.toThrow(/has an older version\. .+`db migrate`/);
    expect(await isEmpty()).toBe(true);
  });

  test("into a destination that has rows, or is of another program", async () => {
    await openSource().close();
    await inCopy(async (storage) => {
      await addMerchant(storage);
      await expect(copy()).rejects.toThrow(/^The destination is not empty: its table merchants /);
      expect(await storage.listMerchants()).toHaveLength(1);
    });
    await database.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TABLE orders (id bigint)");
    await expect(copy()).rejects.toThrow(StorageError);
    await expect(copy()).rejects.toThrow(/tables of another program\. Check DATABASE_URL_TO\.$/);
  });

  test("if it fails in the middle", async () => {
    await inSource(async (source) => {
      const { id } = await addMerchant(source);
      await source.insertDisbursement(aDisbursement(id, { id: "no UUID" }));
    });
    await expect(copy()).rejects.toThrow(
      /^The copy failed: invalid input syntax for type uuid.+ Nothing was copied\.$/,
    );
    expect(await isEmpty()).toBe(true);
  });

  test.each([
    ["amount = NEW.amount + 1", "disbursements"],
    ["details = '{}'", "disbursements"],
    ["body = ''", "events"],
  ])("if the copy differs: %s", async (change, table) => {
    await inSource(async (source) => addDelivery(source, (await addMerchant(source)).id));
    await inCopy(async () => undefined);
    await database.run(
      `CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.${change}; RETURN NEW; END $$;
       CREATE TRIGGER change BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION change()`,
    );
    await expect(copy()).rejects.toThrow(
      `The copy of the table ${table} differs from the original. Nothing was copied.`,
    );
    expect(await database.run("SELECT * FROM merchants")).toEqual([]);
  });
});

test("says so when the connection is lost during the commit", async () => {
  await inSource((source) => addMerchant(source));
  const proxy = await startPostgresProxy(database.url);
  proxy.onCommit = "cut-after";
  await expect(copy(proxy.url)).rejects.toThrow(/^The connection was lost during the commit: .+db status/);
  await proxy.close();
  expect(await database.run("SELECT name FROM merchants")).toEqual([{ name: "Ada Stores" }]);
});
