import { beforeEach, expect, test } from "vitest";
import type { Actor } from "../../domain/audit.ts";
import type { ServiceError } from "../../domain/errors.ts";
import { hashKey, MOST_KEYS, type ApiKey } from "../../domain/keys.ts";
import { ACTOR, ADA, aKey, concurrently, KOFI, nextId, type Current } from "./fixtures.ts";
import { HOUR, MINUTE, START } from "../times.ts";

const secretOf = (name: string) => ({ hash: hashKey(name), lifetimeMs: HOUR });

export function merchantTests({ storage, pass, now, merchant, key: addKey, audit }: Current): void {
  const id = ADA;
  const [ada, kofi] = [ADA, KOFI].map((of) => ({ id: of, name: "Ada Stores", createdAt: START, clockOffset: 0 }));
  let [adas, kofis]: ApiKey[] = [];
  beforeEach(async () => {
    [adas, kofis] = [await addKey(ADA), await addKey(KOFI)];
  });
  const ownerOf = async ({ hash }: ApiKey) => (await storage.findMerchantByKey(hash))?.merchant;
  const insert = (key: ApiKey) => storage.insertKey(key, ACTOR);

  test("lists merchants oldest first", async () => {
    const third = await merchant({ createdAt: START + 2 });
    const first = await merchant({ createdAt: START + 1, name: "Kofi & Söhne 🧵" });
    expect(await storage.listMerchants()).toEqual([ada, kofi, first, third]);
    expect(await storage.findMerchant(first.id)).toEqual(first);
    expect(await storage.findMerchant("nobody")).toBeUndefined();
  });

  test("stores a merchant with its first key, or neither", async () => {
    const make = (of: string, changes: Partial<ApiKey> = {}) => {
      const secrets = { webhook: "whsec_", customers: "" };
      return storage.insertMerchant({ id: of, name: "Esi", createdAt: START }, secrets, ACTOR, aKey(of, changes));
    };
    const { id: keyId, hash } = aKey("esi");
    for (let count = 0; count < 2; count += 1) await make("esi", { id: keyId, hash });
    expect((await storage.findMerchantByKey(hash))?.merchant.id).toBe("esi");
    await expect(make("yao", { hash })).rejects.toThrow(/unique/i);
    expect(await storage.findMerchant("yao")).toBeUndefined();
    expect((await audit("esi")).map(({ action }) => action)).toEqual(["key.create", "merchant.create"]);
  });

  test("knows whose key created a merchant, and stores at most so many an hour, also if they come at once", async () => {
    const secrets = { webhook: "whsec_", customers: "" };
    const make = (of: string, actor: Actor = `key ${adas!.id}`) =>
      storage.insertMerchant({ id: of, name: of, createdAt: now() }, secrets, actor, aKey(of), 3);
    pass(HOUR);
    const refused = await concurrently(5, (index) => make(`m${index}`).catch((error: ServiceError) => error));
    const limited = { code: "rate_limited", details: { retryAfterSeconds: 3_600 } };
    expect(refused.filter(Boolean)).toMatchObject([limited, limited]);
    const made = (await storage.listMerchants()).map((each) => each.id).filter((each) => /^m\d$/.test(each));
    expect(made).toHaveLength(3);
    pass(HOUR);
    await make("by a person", ACTOR);
    await storage.revokeKey(adas!.id, START, ACTOR);
    expect(await Promise.all(made.map(storage.findCreatorOf))).toEqual([ADA, ADA, ADA]);
    for (const of of ["by a person", ADA, "nobody"]) expect(await storage.findCreatorOf(of)).toBeUndefined();
  });

  test("lists a merchant's active keys, newest first, then its revoked keys, the last revoked first", async () => {
    const scopes = ["read", "disburse"] as const;
    const second = await addKey(id, { name: "second", createdAt: START + 1 });
    const third = await addKey(id, { name: "third", createdAt: START + 2, scopes });
    const fourth = await addKey(id, { createdAt: START + 3 });
    for (const [at, { id: revoked }] of [fourth, adas!, fourth].entries())
      await storage.revokeKey(revoked, START + at, ACTOR);
    const revoked = [adas!, fourth].map((key, index) => ({ ...key, revokedAt: START + 1 - index }));
    expect(await storage.listKeysOf(id)).toEqual([third, second, ...revoked]);
    const owners = await Promise.all([second, third, fourth].map(({ hash }) => storage.findMerchantByKey(hash)));
    const owner = { merchant: ada };
    expect(owners).toEqual([{ ...owner, keyId: second.id }, { ...owner, keyId: third.id, scopes }, undefined]);
  });

  test(`stores at most ${MOST_KEYS} active keys of a merchant, also if they are created at once`, async () => {
    const add = async (count: number) =>
      (await concurrently(count, () => insert(aKey(id)).catch(() => false))).filter(Boolean).length;
    // A form that is sent twice at once makes two keys with one id.
    const form = { id: nextId() };
    const twice = await Promise.all([insert(aKey(id, form)), insert(aKey(id, form))]);
    expect(twice.toSorted()).toEqual([false, true]);
    for (let count = 2; count < MOST_KEYS - 2; count++) await insert(aKey(id));
    expect(await add(5)).toBe(2);
    expect(await insert(aKey(KOFI))).toBe(true);
    const refused = aKey(id);
    await expect(insert(refused)).rejects.toThrow(`The merchant has ${MOST_KEYS} API keys`);
    expect(await storage.findMerchantByKey(refused.hash)).toBeUndefined();
    await storage.revokeKey(adas!.id, START, ACTOR);
    expect(await add(2)).toBe(1);
    expect(await storage.listKeysOf(id)).toHaveLength(MOST_KEYS + 1);
  });

  test("closes one merchant for good: revokes its keys, ends its sessions and links, and gives it no new access", async () => {
    const person = { name: "Person", role: "viewer", merchantId: id } as const;
    const withId = (of: string, merchantId = id) => ({ ...person, id: of, merchantId, ...secretOf(of) });
    for (const merchantId of [id, KOFI]) {
      await storage.insertLink(withId(`link of ${merchantId}`, merchantId), ACTOR);
      await storage.signInFrom("https://id.example", withId(merchantId, merchantId));
    }
    for (const state of ["closed", undefined, "suspended"] as const) await storage.setMerchantState(id, state, ACTOR);
    expect((await storage.findMerchant(id))!.state).toBe("closed");
    expect(await audit(id, 1)).toMatchObject([{ action: "merchant.close", details: { keys: "1", sessions: "2" } }]);
    for (const refused of [
      () => insert(aKey(id)),
      () => storage.insertLink(withId("later"), ACTOR),
      () => storage.signInFrom("https://id.example", withId("later")),
    ])
      await expect(refused()).rejects.toThrow("closed this merchant");
    expect([await ownerOf(adas!), await ownerOf(kofis!)]).toEqual([undefined, kofi]);
    expect([await storage.listTeam(id), await storage.listTeam(KOFI)]).toMatchObject([[], [{}, {}]]);
  });

  test("records the last use of keys, without an entry in the audit trail", async () => {
    const usedAt = async () => (await storage.listKeys()).map((each) => each.usedAt);
    expect(await usedAt()).toEqual([undefined, undefined]);
    await storage.recordKeyUses([kofis!, adas!]);
    pass(HOUR);
    await storage.recordKeyUses([kofis!, aKey(id)]);
    expect(await usedAt()).toEqual([START, START + HOUR]);
    expect([await audit(id), await audit(KOFI)].flat()).toHaveLength(4);
  });

  test("limits the requests of each merchant to a bucket of one second, which fills up at the rate", async () => {
    const take = async (count: number, perSecond = 5) =>
      (await concurrently(count, () => storage.takeRequest(id, perSecond))).filter(Boolean).length;
    expect(await take(7)).toBe(5);
    expect(await storage.takeRequest(KOFI, 5)).toBe(true);
    for (const [waited, asked, taken] of [
      [190, 1, 0],
      [10, 3, 1],
      [400, 3, 2],
      [60_000, 7, 5],
    ] as const) {
      pass(waited);
      expect([waited, await take(asked)]).toEqual([waited, taken]);
    }
    pass(1_000);
    expect(await take(9, 7)).toBe(7);
  });

  test("concurrent rotations keep every secret of this merchant, and later rotations keep the newest", async () => {
    const rotate = (secret: string) => storage.rotateSecret(id, secret, ACTOR);
    const { current: first } = await storage.readSecrets(id);
    const secrets = ["whsec_a", "whsec_b", "whsec_c"];
    await concurrently(3, (index) => rotate(secrets[index]!));
    const { current, previous } = await storage.readSecrets(id);
    expect([current, ...previous.map(({ secret }) => secret)].toSorted()).toEqual([first, ...secrets].toSorted());
    for (let made = 1; made <= 5; made += 1) await rotate(`whsec_${made}`);
    const kept = (await storage.readSecrets(id)).previous.map(({ secret }) => secret);
    expect(kept.toSorted()).toEqual([current, "whsec_1", "whsec_2", "whsec_3", "whsec_4"].toSorted());
    expect(await storage.readSecrets(KOFI)).toEqual({ current: first, previous: [] });
  });
}

/** A hash that differs for each number. */
const hash = (number: number) => number.toString(16).padStart(64, "0");

export function signInTests(current: Current): void {
  const { storage, pass } = current;
  const person = { name: "Ada", role: "finance", lifetimeMs: 10 * MINUTE } as const;
  const link = (number: number) => storage.insertLink({ ...person, id: nextId(), hash: hash(number) }, ACTOR);
  const signIn = (from: number, to: number) => storage.signIn(hash(from), { hash: hash(to), lifetimeMs: 12 * HOUR });
  const use = (number: number) => storage.useSession(hash(number), true);

  test("a link begins one session, also if it is used several times at once", async () => {
    await link(1);
    const sessions = await concurrently(5, (index) => signIn(1, 10 + index));
    const [begun, ...others] = sessions.filter((session) => session !== undefined);
    const times = { createdAt: START, usedAt: START, expiresAt: START + 12 * HOUR };
    expect([begun, others]).toEqual([{ id: begun!.id, name: "Ada", role: "finance", ...times }, []]);
    const found = await concurrently(5, (index) => use(10 + index));
    expect(found.filter((session) => session !== undefined)).toEqual([begun]);
    expect([await signIn(1, 99), await use(99)]).toEqual([undefined, undefined]);
  });

  test("a link that the same person makes again ends the one before, and is refused once somebody has signed in", async () => {
    await link(1);
    const actor = { name: "dashboard Ada", session: (await signIn(1, 2))!.id } as const;
    const kofi = { ...person, name: "Kofi" };
    for (const number of [3, 4]) await storage.insertLink({ ...kofi, id: nextId(), hash: hash(number) }, actor);
    expect((await storage.listTeam()).filter(({ usedAt }) => usedAt === undefined)).toHaveLength(1);
    expect([await signIn(3, 5), (await signIn(4, 6))?.name]).toEqual([undefined, "Kofi"]);
    const again = storage.insertLink({ ...kofi, id: nextId(), hash: hash(7) }, actor);
    await expect(again).rejects.toThrow("has access already");
  });

  test("a link and a session that is not used expire", async () => {
    for (const number of [1, 2]) await link(number);
    pass(10 * MINUTE - 1);
    expect(await use(1)).toBeUndefined();
    expect(await signIn(1, 3)).toBeDefined();
    pass(1);
    expect(await signIn(2, 4)).toBeUndefined();
    pass(2 * HOUR - 2);
    expect(await use(3)).toMatchObject({ usedAt: current.now() });
    pass(2 * HOUR);
    expect(await use(3)).toBeUndefined();
  });
}
