import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { authenticate } from "../http/authentication.ts";
import type { Storage } from "./storage.ts";
import { createIds } from "./ids.ts";
import { createKey, createMerchant, prepareFirstMerchant, type MerchantContext } from "./merchants.ts";
import { openSqlite } from "../storage/sqlite/index.ts";
import { createFakeClock } from "../testing/clock.ts";
import { seededRandom } from "../testing/random.ts";

const CONFIGURED = "a-key-from-the-configuration";
const { bytes: random } = seededRandom(11);
let context: MerchantContext & { storage: Storage };
beforeEach(() => {
  const clock = createFakeClock();
  const storage = openSqlite(":memory:", { clock, server: true });
  context = { storage, clock, ids: createIds(random), random, actor: "server app@host" };
});
afterEach(() => context.storage.close());

describe("the first merchant", () => {
  test("is created with a key at the first start only", async () => {
    const { newKey } = await prepareFirstMerchant(context, "First Merchant");
    expect(newKey).toMatch(/^sk_/);
    expect((await authenticate(context.storage, newKey, "sandbox")).merchant.name).toBe("First Merchant");
    expect(await prepareFirstMerchant(context, "First Merchant")).toEqual({});
    expect(await context.storage.listMerchants()).toHaveLength(1);
    expect(await context.storage.listKeys()).toHaveLength(1);
  });

  test("has the configured key after every start, and keeps its other keys", async () => {
    const { newKey } = await prepareFirstMerchant(context, "First Merchant");
    for (let starts = 0; starts < 3; starts += 1)
      expect(await prepareFirstMerchant(context, "First Merchant", CONFIGURED)).toEqual({});
    expect(await context.storage.listKeys()).toHaveLength(2);
    const { merchant } = await authenticate(context.storage, newKey, "sandbox");
    expect((await authenticate(context.storage, CONFIGURED, "sandbox")).merchant).toEqual(merchant);
  });

  test("does not get the configured key back after it was revoked", async () => {
    await prepareFirstMerchant(context, "First Merchant", CONFIGURED);
    const [key] = await context.storage.listKeys();
    await context.storage.revokeKey(key!.id, context.clock.now(), context.actor);
    for (let starts = 0; starts < 2; starts += 1) {
      expect(await prepareFirstMerchant(context, "First Merchant", CONFIGURED)).toEqual({ revokedKeyId: key!.id });
      await expect(authenticate(context.storage, CONFIGURED, "sandbox")).rejects.toThrow("This API key is not valid.");
    }
  });

  test("is not replaced after it was closed, and its configured key stays revoked", async () => {
    await prepareFirstMerchant(context, "First Merchant", CONFIGURED);
    const [[merchant], [key]] = [await context.storage.listMerchants(), await context.storage.listKeys()];
    await context.storage.setMerchantState(merchant!.id, "closed", context.actor);
    expect(await prepareFirstMerchant(context, "First Merchant")).toEqual({});
    expect(await prepareFirstMerchant(context, "First Merchant", CONFIGURED)).toEqual({ revokedKeyId: key!.id });
    expect(await context.storage.listMerchants()).toHaveLength(1);
  });

  test("is refused the key of another merchant", async () => {
    await prepareFirstMerchant(context, "First Merchant");
    context.clock = createFakeClock(context.clock.now() + 1);
    const other = await createMerchant(context, "Kofi & Sons");
    await createKey(context, other.id, { text: CONFIGURED });
    await expect(prepareFirstMerchant(context, "First Merchant", CONFIGURED)).rejects.toThrow(
      "SANDBOX_API_KEY is a key of another merchant; choose another value",
    );
  });
});

test("only the hash and the last four characters of a key are stored", async () => {
  const { newKey } = await prepareFirstMerchant(context, "First Merchant");
  const [key] = await context.storage.listKeys();
  expect(key!.hint).toBe(newKey!.slice(-4));
  expect(JSON.stringify(key)).not.toContain(newKey!.slice(3, -4));
});
