import { expect, test } from "vitest";
import { hashKey, MOST_KEYS, type ApiKey } from "../../domain/keys.ts";
import type { Current } from "./current.ts";
import {
  ACTOR,
  addDelivery,
  addKey,
  addMerchant,
  aKey,
  claimAll,
  concurrently,
  HOUR,
  MINUTE,
  START,
} from "./fixtures.ts";

const DAY = 24 * HOUR;
const use = ({ merchantId, id }: ApiKey, usedAt: number) => ({ merchantId, keyId: id, usedAt });
const KEPT = 5;

export function merchantTests(storage: Current): void {
  const rotate = (merchantId: string, secret: string) =>
    storage().rotateSecret(merchantId, secret, { keepMs: DAY, maxPrevious: KEPT, actor: ACTOR });

  test("lists merchants oldest first", async () => {
    const third = await addMerchant(storage(), { createdAt: START + 2 });
    const first = await addMerchant(storage(), { createdAt: START, name: "Kofi & Söhne 🧵" });
    const second = await addMerchant(storage(), { createdAt: START + 1 });
    expect(await storage().listMerchants()).toEqual([first, second, third]);
    expect(await storage().findMerchant(first.id)).toEqual(first);
    expect(await storage().findMerchant("nobody")).toBeUndefined();
  });

  test("finds the owner of a key", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const [adas, kofis] = [aKey(ada.id), aKey(kofi.id)];
    await storage().insertKey(adas, ACTOR);
    await storage().insertKey(kofis, ACTOR);
    expect((await storage().findMerchantByKey(adas.hash))?.merchant).toEqual(ada);
    const found = await storage().findMerchantByKey(kofis.hash);
    expect(found?.merchant).toEqual(kofi);
    expect(found?.keyId).toBe(kofis.id);
    expect(await storage().findMerchantByKey(hashKey("no key"))).toBeUndefined();
    expect(await storage().findKey(hashKey("no key"))).toBeUndefined();
  });

  test("stores a merchant with its first key, or neither", async () => {
    const taken = aKey((await addMerchant(storage())).id);
    await storage().insertKey(taken, ACTOR);
    const [ada, kofi] = [aKey("ada"), aKey("kofi", { hash: taken.hash })];
    const insert = (key: ApiKey) =>
      storage().insertMerchant(
        { id: key.merchantId, name: "Ada Stores", createdAt: START },
        { webhook: "whsec_", customers: "" },
        ACTOR,
        key,
      );
    for (let count = 0; count < 2; count += 1) await insert(ada);
    expect((await storage().findMerchantByKey(ada.hash))?.merchant.id).toBe("ada");
    await expect(insert(kofi)).rejects.toThrow(/unique/i);
    expect(await storage().findMerchant("kofi")).toBeUndefined();
    const { items } = await storage().listAudit({ merchantId: "ada", limit: 5 });
    expect(items.map(({ action }) => action)).toEqual(["key.create", "merchant.create"]);
  });

  test("finds no owner for a revoked key, which keeps the time of its first revocation", async () => {
    const merchant = await addMerchant(storage());
    const key = await addKey(storage(), merchant.id);

    expect(await storage().revokeKey(key.id, START + MINUTE, ACTOR)).toBe(true);
    expect(await storage().revokeKey(key.id, START + HOUR, ACTOR)).toBe(true);
    expect(await storage().findMerchantByKey(key.hash)).toBeUndefined();
    expect(await storage().findKey(key.hash)).toMatchObject({ id: key.id, revokedAt: START + MINUTE });
  });

  const namesOf = async (merchantId: string) => (await storage().listKeysOf(merchantId)).map(({ name }) => name);

  test("lists a merchant's keys with their names: active ones, newest first, then those that were revoked last", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const scopes = ["read", "disburse"] as const;
    const named = ["first", "second", "third", "fourth"].map((name, index) =>
      aKey(ada.id, { name, ...(name === "third" && { scopes }), createdAt: START + index }),
    );
    for (const key of [...named, aKey(kofi.id, { name: "other" })]) await storage().insertKey(key, ACTOR);
    await storage().revokeKey(named[3]!.id, START + 8, ACTOR);
    await storage().revokeKey(named[0]!.id, START + 9, ACTOR);
    expect(await namesOf(ada.id)).toEqual(["third", "second", "first", "fourth"]);
    expect(await namesOf("nobody")).toEqual([]);
    const [newest] = await storage().listKeysOf(ada.id);
    expect(newest).toEqual(named[2]);
    expect(await storage().findMerchantByKey(named[1]!.hash)).not.toHaveProperty("scopes");
    expect((await storage().findMerchantByKey(newest!.hash))?.scopes).toEqual(scopes);
    const entries = (await storage().listAudit({ merchantId: ada.id, limit: 10 })).items;
    expect(entries.map(({ details }) => details)).toContainEqual({
      key: newest!.id,
      name: "third",
      scopes: "read,disburse",
    });
    const { items } = await storage().listAudit({ merchantId: kofi.id, limit: 1 });
    expect(items[0]!.details).toEqual({ key: expect.any(String), name: "other" });
  });

  test("keys with one id, as a form that is sent twice at once makes them, are stored once", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const { id } = aKey(merchantId);
    const keys = [aKey(merchantId, { id }), aKey(merchantId, { id })];
    const stored = await Promise.all(keys.map((key) => storage().insertKey(key, ACTOR)));
    expect(keys).toContainEqual(stored[0]);
    expect(stored[1]).toEqual(stored[0]);
    expect(await storage().listKeysOf(merchantId)).toMatchObject([{ id }]);
    const { items } = await storage().listAudit({ merchantId, limit: 5 });
    expect(items.map(({ action }) => action)).toEqual(["key.create", "merchant.create"]);
  });

  test(`stores at most ${MOST_KEYS} active keys of a merchant, also if they are created at once`, async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const add = async (count: number) =>
      (await concurrently(count, () => storage().insertKey(aKey(ada.id), ACTOR))).filter(Boolean).length;
    for (let count = 0; count < MOST_KEYS - 2; count++) await storage().insertKey(aKey(ada.id), ACTOR);
    expect(await add(5)).toBe(2);
    const other = aKey(kofi.id);
    expect(await storage().insertKey(other, ACTOR)).toEqual(other);
    const refused = aKey(ada.id);
    expect(await storage().insertKey(refused, ACTOR)).toBeUndefined();
    expect(await storage().findKey(refused.hash)).toBeUndefined();

    const [newest] = await storage().listKeysOf(ada.id);
    await storage().revokeKey(newest!.id, START, ACTOR);
    expect(await add(2)).toBe(1);
    expect(await storage().listKeysOf(ada.id)).toHaveLength(MOST_KEYS + 1);
    expect((await storage().listAudit({ merchantId: ada.id, limit: 200 })).items).toHaveLength(MOST_KEYS + 3);
  });

  test("renames a merchant, and the audit trail has both names", async () => {
    const { id } = await addMerchant(storage(), { name: "Before" });
    await storage().renameMerchant(id, "After", ACTOR);
    expect((await storage().findMerchant(id))?.name).toBe("After");
    const { items } = await storage().listAudit({ merchantId: id, limit: 1 });
    expect(items).toMatchObject([{ action: "merchant.rename", details: { from: "Before", to: "After" } }]);
  });

  test("suspends and reopens a merchant, each once; its keys stay", async () => {
    const { id } = await addMerchant(storage());
    const key = await addKey(storage(), id);
    for (const state of ["suspended", "suspended", undefined, undefined] as const) {
      expect(await storage().setMerchantState(id, state, ACTOR)).toBe(true);
      const owner = (await storage().findMerchantByKey(key.hash))!;
      expect([owner.merchant.state, (await storage().findMerchant(id))!.state]).toEqual([state, state]);
    }
    const { items } = await storage().listAudit({ merchantId: id, limit: 9 });
    expect(items.map(({ action }) => action)).toEqual([
      "merchant.reopen",
      "merchant.suspend",
      "key.create",
      "merchant.create",
    ]);
  });

  test("closes a merchant for good: revokes its keys, ends its sessions and links, and gives it no new key", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const [adas, kofis] = [aKey(ada.id), aKey(kofi.id)];
    for (const key of [aKey(ada.id), adas, kofis]) await storage().insertKey(key, ACTOR);
    for (const merchantId of [ada.id, kofi.id]) {
      for (const seed of [1, 2]) {
        const hash = hashKey(`${merchantId} ${seed}`);
        await storage().insertLink(
          { merchantId, name: `Person ${seed}`, role: "viewer", hash, lifetimeMs: HOUR },
          ACTOR,
        );
      }
      const session = { id: `${merchantId} session`, hash: hashKey(`${merchantId} session`), lifetimeMs: HOUR };
      await storage().signIn(hashKey(`${merchantId} 1`), session);
    }
    await storage().setMerchantState(ada.id, "closed", ACTOR);
    const { items } = await storage().listAudit({ merchantId: ada.id, limit: 1 });
    expect(items).toMatchObject([{ action: "merchant.close", details: { keys: "2", sessions: "2" } }]);

    expect(await storage().setMerchantState(ada.id, undefined, ACTOR)).toBe(false);
    expect(await storage().setMerchantState(ada.id, "suspended", ACTOR)).toBe(false);
    expect(await storage().setMerchantState(ada.id, "closed", ACTOR)).toBe(true);
    expect((await storage().findMerchant(ada.id))!.state).toBe("closed");
    const hash = hashKey("later");
    const person = { merchantId: ada.id, name: "Later", role: "viewer" } as const;
    for (const refused of [
      () => storage().insertKey(aKey(ada.id), ACTOR),
      () => storage().insertLink({ ...person, hash, lifetimeMs: HOUR }, ACTOR),
      () => storage().signInFrom("https://id.example", person, { id: "later", hash, lifetimeMs: HOUR }),
    ])
      await expect(refused()).rejects.toThrow("closed this merchant");
    expect(await storage().findMerchantByKey(adas.hash)).toBeUndefined();
    expect((await storage().findMerchantByKey(kofis.hash))?.merchant).toEqual(kofi);
    const teamOf = async (merchantId: string) => {
      const { sessions, links } = await storage().listTeam({ merchantId, idleMs: HOUR, limit: 9 });
      return [sessions.length, links.length];
    };
    expect([await teamOf(ada.id), await teamOf(kofi.id)]).toEqual([
      [0, 0],
      [1, 1],
    ]);
  });

  test("records the latest use of keys, without an entry in the audit trail", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const [adas, kofis] = [aKey(ada.id), aKey(kofi.id)];
    for (const key of [adas, kofis]) await storage().insertKey(key, ACTOR);
    const before = (await storage().listAudit({ limit: 9 })).items.length;
    const usedAt = async () => (await storage().listKeys()).map((key) => key.usedAt);
    expect(await usedAt()).toEqual([undefined, undefined]);
    await storage().recordKeyUses([use(kofis, START + 2), use(adas, START + MINUTE)]);
    await storage().recordKeyUses([use(kofis, START + HOUR), use(adas, START + 3), use(aKey(ada.id), START)]);
    expect(await usedAt()).toEqual([START + MINUTE, START + HOUR]);
    expect((await storage().listAudit({ limit: 9 })).items).toHaveLength(before);
  });

  test("limits the requests of each merchant to a bucket of one second, which fills up at the rate", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const take = async (count: number, perSecond = 5) => {
      const taken = await concurrently(count, () => storage().takeRequest(ada.id, perSecond));
      return taken.filter(Boolean).length;
    };
    expect(await take(7)).toBe(5);
    expect(await take(1)).toBe(0);
    expect(await storage().takeRequest(kofi.id, 5)).toBe(true);
    storage.clock().advance(190);
    expect(await take(1)).toBe(0);
    storage.clock().advance(10);
    expect(await take(3)).toBe(1);
    storage.clock().advance(400);
    expect(await take(3)).toBe(2);
    storage.clock().advance(60_000);
    expect(await take(7)).toBe(5);
    storage.clock().advance(1_000);
    expect(await take(9, 7)).toBe(7);
  });

  test("concurrent rotations keep every secret of this merchant, of which later ones keep the newest", async () => {
    const other = await addMerchant(storage());
    const { id } = await addMerchant(storage());
    const { current: first } = await storage().readSecrets(id);
    const secrets = ["whsec_a", "whsec_b", "whsec_c"];
    await concurrently(3, (index) => rotate(id, secrets[index]!));
    const { current, previous } = await storage().readSecrets(id);
    expect([current, ...previous.map(({ secret }) => secret)].toSorted()).toEqual([first, ...secrets].toSorted());
    for (let made = 1; made <= KEPT; made += 1) await rotate(id, `whsec_${made}`);
    const kept = (await storage().readSecrets(id)).previous.map(({ secret }) => secret);
    expect(kept.toSorted()).toEqual([current, "whsec_1", "whsec_2", "whsec_3", "whsec_4"].toSorted());
    expect(await storage().readSecrets(other.id)).toEqual({ current: first, previous: [] });
  });

  test("keeps what the chaos switch does, until it is off", async () => {
    const merchant = await addMerchant(storage());
    const { id } = merchant;
    const key = await addKey(storage(), id);
    const chaos = { latencyMs: 250, failedRequestsPercent: 0, lostResponsesPercent: 5, lostWebhooksPercent: 100 };
    await storage().setChaos(id, chaos, ACTOR);
    expect((await storage().findMerchantByKey(key.hash))?.merchant).toEqual({ ...merchant, chaos });
    await addDelivery(storage(), id);
    expect((await claimAll(storage()))[0]!.merchant).toMatchObject({ chaos });
    await storage().setChaos(id, undefined, ACTOR);
    expect(await storage().findMerchant(id)).toEqual(merchant);

    await storage().setChaos(id, chaos, ACTOR);
    await storage().reset(id);
    expect(await storage().findMerchant(id)).toEqual(merchant);
    const { items } = await storage().listAudit({ merchantId: id, limit: 2 });
    expect(items.map(({ actor, action, details }) => ({ actor, action, details }))).toEqual([
      {
        actor: ACTOR,
        action: "sandbox.chaos",
        details: { latencyMs: "250", lostResponsesPercent: "5", lostWebhooksPercent: "100" },
      },
      { actor: ACTOR, action: "sandbox.chaos", details: { chaos: "off" } },
    ]);
  });
}
