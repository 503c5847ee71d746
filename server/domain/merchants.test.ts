import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { authenticate } from "../http/authentication.ts";
import { ConfigError } from "../config.ts";
import { createIds } from "./ids.ts";
import { createKey, createMerchant, prepareFirstMerchant, revokeKey } from "./merchants.ts";
import { openSqlite } from "../storage/sqlite/index.ts";
import { createFakeClock } from "../testing/clock.ts";
import { seededRandom } from "../testing/random.ts";

const WANTED = "a-key-that-somebody-wants";
const { bytes: random } = seededRandom(11);
let deps: Parameters<typeof createKey>[0];
beforeEach(() => {
  const storage = openSqlite(":memory:", { server: true });
  deps = { storage, clock: createFakeClock(), ids: createIds(random), random };
});
afterEach(() => deps.storage.close());

describe("the first merchant", () => {
  test("is made with a key at the first start, and only then", async () => {
    const { newKey } = await prepareFirstMerchant(deps);
    expect(newKey).toMatch(/^sk_/);
    expect((await authenticate(deps.storage, newKey)).name).toBe("Sandbox Merchant");
    expect(await prepareFirstMerchant(deps)).toEqual({});
    expect(await deps.storage.listMerchants()).toHaveLength(1);
    expect(await deps.storage.listKeys()).toHaveLength(1);
  });

  test("has the wanted key after every start, other keys untouched", async () => {
    const { newKey } = await prepareFirstMerchant(deps);
    for (let starts = 0; starts < 3; starts += 1) expect(await prepareFirstMerchant(deps, WANTED)).toEqual({});
    expect(await deps.storage.listKeys()).toHaveLength(2);
    expect(await authenticate(deps.storage, WANTED)).toEqual(await authenticate(deps.storage, newKey));
  });

  test("has the wanted key again after it was revoked", async () => {
    await prepareFirstMerchant(deps, WANTED);
    const [key] = await deps.storage.listKeys();
    await revokeKey(deps, key!.id);
    await expect(authenticate(deps.storage, WANTED)).rejects.toThrow("This API key is not valid.");
    await prepareFirstMerchant(deps, WANTED);
    expect((await authenticate(deps.storage, WANTED)).name).toBe("Sandbox Merchant");
  });

  test("does not get the key of another merchant", async () => {
    await prepareFirstMerchant(deps);
    deps.clock = createFakeClock(deps.clock.now() + 1);
    const other = await createMerchant(deps, "Kofi & Sons");
    await createKey(deps, other.id, WANTED);
    await expect(prepareFirstMerchant(deps, WANTED)).rejects.toThrow(ConfigError);
    await expect(prepareFirstMerchant(deps, WANTED)).rejects.not.toThrow(WANTED);
  });
});

test("of a key nothing is kept but its hash and its last four characters", async () => {
  const { newKey } = await prepareFirstMerchant(deps);
  const [key] = await deps.storage.listKeys();
  expect(key!.hint).toBe(newKey!.slice(-4));
  expect(JSON.stringify(key)).not.toContain(newKey!.slice(3, -4));
});
