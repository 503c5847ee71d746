import { afterEach, beforeEach, expect, test } from "vitest";
import { authenticate } from "../http/authentication.ts";
import type { Storage } from "./storage.ts";
import { createIds } from "./ids.ts";
import type { ApiKey } from "./keys.ts";
import { createKey, createMerchant, prepareFirstMerchant, type Merchant, type MerchantContext } from "./merchants.ts";
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

const prepare = (configured?: string) => prepareFirstMerchant(context, "First Merchant", configured);
const ownerOf = async (key?: string) => (await authenticate(context.storage, key, "sandbox")).merchant;

test("the first merchant gets a key at the first start only, of which a hash and the last four characters are stored", async () => {
  const { newKey } = await prepare();
  expect(newKey).toMatch(/^test_/);
  expect(await prepare()).toEqual({});
  expect(await context.storage.listMerchants()).toEqual([await ownerOf(newKey)]);
  const [key, ...others] = await context.storage.listKeys();
  expect([key!.hint, others]).toEqual([newKey!.slice(-4), []]);
  expect(JSON.stringify(key)).not.toContain(newKey!.slice(3, -4));
});

test("a configured key is the first merchant's after every start, beside its other keys", async () => {
  const { newKey } = await prepare();
  for (let starts = 0; starts < 3; starts += 1) expect(await prepare(CONFIGURED)).toEqual({});
  expect(await context.storage.listKeys()).toHaveLength(2);
  expect(await ownerOf(CONFIGURED)).toEqual(await ownerOf(newKey));
});

test.each<[string, (merchantId: string, keyId: string) => Promise<unknown>]>([
  ["the configured key was revoked", (_, key) => context.storage.revokeKey(key, context.clock.now(), context.actor)],
  ["the first merchant was closed", (id) => context.storage.setMerchantState(id, "closed", context.actor)],
])("after %s the key stays revoked, and no start makes another merchant", async (_, end) => {
  await prepare(CONFIGURED);
  const [{ id }] = (await context.storage.listMerchants()) as [Merchant];
  const [{ id: revokedKeyId }] = (await context.storage.listKeys()) as [ApiKey];
  await end(id, revokedKeyId);
  for (const [configured, said] of [[CONFIGURED, { revokedKeyId }] as const, [undefined, {}] as const]) {
    expect(await prepare(configured)).toEqual(said);
    await expect(ownerOf(CONFIGURED)).rejects.toThrow("This API key is not valid.");
  }
  expect(await context.storage.listMerchants()).toHaveLength(1);
});

test("a configured key that is another merchant's is refused", async () => {
  await prepare();
  // The first merchant is the oldest.
  context.clock = createFakeClock(context.clock.now() + 1);
  const other = await createMerchant(context, "Kofi & Sons");
  await createKey(context, other.id, { text: CONFIGURED });
  const message = "SANDBOX_API_KEY is a key of another merchant; choose another value";
  await expect(prepare(CONFIGURED)).rejects.toThrow(message);
});
