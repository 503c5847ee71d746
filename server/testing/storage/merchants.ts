import { beforeEach, expect, test } from "vitest";
import { hashKey, MOST_KEYS, type ApiKey } from "../../domain/keys.ts";
import type { Merchant } from "../../domain/merchants.ts";
import { actorOf } from "../../domain/sign-in.ts";
import type { Current } from "./current.ts";
import { ACTOR, aKey, concurrently, DAY, HOUR, MINUTE, nextId, START } from "./fixtures.ts";

const useOf = ({ merchantId, id }: ApiKey, after: number) => ({ merchantId, keyId: id, usedAt: START + after });

export function merchantTests({ storage, pass, merchant, key: addKey, delivery, claims, audit }: Current): void {
  let [ada, kofi]: Merchant[] = [];
  let [adas, kofis]: ApiKey[] = [];
  beforeEach(async () => {
    [ada, kofi] = [await merchant(), await merchant()];
    [adas, kofis] = [await addKey(ada.id), await addKey(kofi.id)];
  });
  const ownerOf = async ({ hash }: ApiKey) => (await storage.findMerchantByKey(hash))?.merchant;
  const actions = async ({ id }: Merchant) => (await audit(id)).map(({ action }) => action);
  const insert = (key: ApiKey) => storage.insertKey(key, ACTOR);

  test("lists merchants oldest first", async () => {
    const third = await merchant({ createdAt: START + 2 });
    const first = await merchant({ createdAt: START + 1, name: "Kofi & Söhne 🧵" });
    expect(await storage.listMerchants()).toEqual([ada, kofi, first, third]);
    expect(await storage.findMerchant(first.id)).toEqual(first);
    expect(await storage.findMerchant("nobody")).toBeUndefined();
  });

  test("finds the owner of a key, and none for a revoked key, which keeps the time of its first revocation", async () => {
    expect(await ownerOf(adas!)).toEqual(ada);
    expect(await storage.findMerchantByKey(kofis!.hash)).toMatchObject({ merchant: kofi, keyId: kofis!.id });
    const none = hashKey("no key");
    expect([await storage.findMerchantByKey(none), await storage.findKey(none)]).toEqual([undefined, undefined]);
    for (const at of [MINUTE, HOUR]) expect(await storage.revokeKey(adas!.id, START + at, ACTOR)).toBe(true);
    expect(await ownerOf(adas!)).toBeUndefined();
    expect(await storage.findKey(adas!.hash)).toMatchObject({ id: adas!.id, revokedAt: START + MINUTE });
  });

  test("stores a merchant with its first key, or neither", async () => {
    const make = (id: string, changes: Partial<ApiKey> = {}) => {
      const secrets = { webhook: "whsec_", customers: "" };
      return storage.insertMerchant({ id, name: "Esi", createdAt: START }, secrets, ACTOR, aKey(id, changes));
    };
    const { id: keyId, hash } = aKey("esi");
    for (let count = 0; count < 2; count += 1) await make("esi", { id: keyId, hash });
    expect((await storage.findMerchantByKey(hash))?.merchant.id).toBe("esi");
    await expect(make("yao", { hash })).rejects.toThrow(/unique/i);
    expect(await storage.findMerchant("yao")).toBeUndefined();
    expect((await audit("esi")).map(({ action }) => action)).toEqual(["key.create", "merchant.create"]);
  });

  test("lists a merchant's keys with their names: active ones, newest first, then those that were revoked last", async () => {
    const scopes = ["read", "disburse"] as const;
    const named: ApiKey[] = [];
    for (const [index, name] of ["second", "third", "fourth"].entries())
      named.push(await addKey(ada!.id, { name, ...(name === "third" && { scopes }), createdAt: START + 1 + index }));
    await storage.revokeKey(named[2]!.id, START + 8, ACTOR);
    await storage.revokeKey(adas!.id, START + 9, ACTOR);
    const keys = await storage.listKeysOf(ada!.id);
    expect(keys.slice(0, 2)).toEqual([named[1], named[0]]);
    expect(keys.slice(2).map(({ id }) => id)).toEqual([adas!.id, named[2]!.id]);
    expect(await storage.listKeysOf("nobody")).toEqual([]);
    expect(await storage.findMerchantByKey(named[0]!.hash)).not.toHaveProperty("scopes");
    expect((await storage.findMerchantByKey(named[1]!.hash))?.scopes).toEqual(scopes);
    const details = (await audit(ada!.id)).map((entry) => entry.details);
    expect(details).toContainEqual({ key: named[1]!.id, name: "third", scopes: "read,disburse" });
    expect(details).toContainEqual({ key: named[0]!.id, name: "second" });
  });

  test("keys with one id, as a form that is sent twice at once makes them, are stored once", async () => {
    const { id } = aKey(ada!.id);
    const keys = [aKey(ada!.id, { id }), aKey(ada!.id, { id })];
    const stored = await Promise.all(keys.map(insert));
    expect(keys).toContainEqual(stored[0]);
    expect(stored[1]).toEqual(stored[0]);
    expect(await storage.listKeysOf(ada!.id)).toHaveLength(2);
    expect(await actions(ada!)).toEqual(["key.create", "key.create", "merchant.create"]);
  });

  test(`stores at most ${MOST_KEYS} active keys of a merchant, also if they are created at once`, async () => {
    const add = async (count: number) =>
      (await concurrently(count, () => insert(aKey(ada!.id)))).filter(Boolean).length;
    for (let count = 1; count < MOST_KEYS - 2; count++) await insert(aKey(ada!.id));
    expect(await add(5)).toBe(2);
    expect(await insert(aKey(kofi!.id))).toBeDefined();
    const refused = aKey(ada!.id);
    expect([await insert(refused), await storage.findKey(refused.hash)]).toEqual([undefined, undefined]);
    await storage.revokeKey(adas!.id, START, ACTOR);
    expect(await add(2)).toBe(1);
    expect(await storage.listKeysOf(ada!.id)).toHaveLength(MOST_KEYS + 1);
    expect(await audit(ada!.id, 200)).toHaveLength(MOST_KEYS + 3);
  });

  test("renames a merchant, and the audit trail has both names", async () => {
    await storage.renameMerchant(ada!.id, "After", ACTOR);
    expect((await storage.findMerchant(ada!.id))?.name).toBe("After");
    const details = { from: ada!.name, to: "After" };
    expect(await audit(ada!.id, 1)).toMatchObject([{ action: "merchant.rename", details }]);
  });

  test("suspends and reopens a merchant, each once; its keys stay", async () => {
    for (const state of ["suspended", "suspended", undefined, undefined] as const) {
      expect(await storage.setMerchantState(ada!.id, state, ACTOR)).toBe(true);
      expect([(await ownerOf(adas!))!.state, (await storage.findMerchant(ada!.id))!.state]).toEqual([state, state]);
    }
    expect((await actions(ada!)).slice(0, 2)).toEqual(["merchant.reopen", "merchant.suspend"]);
    expect(await audit(ada!.id)).toHaveLength(4);
  });

  test("closes a merchant for good: revokes its keys, ends its sessions and links, and gives it no new key", async () => {
    const person = { name: "Person", role: "viewer" } as const;
    for (const { id: merchantId } of [ada!, kofi!]) {
      const hashes = [1, 2].map((seed) => hashKey(`${merchantId} ${seed}`));
      for (const [index, hash] of hashes.entries())
        await storage.insertLink({ ...person, merchantId, name: `Person ${index}`, hash, lifetimeMs: HOUR }, ACTOR);
      const session = { id: `${merchantId} session`, hash: hashKey(`${merchantId} session`), lifetimeMs: HOUR };
      await storage.signIn(hashes[0]!, session);
    }
    const { id: merchantId } = ada!;
    await storage.setMerchantState(merchantId, "closed", ACTOR);
    expect(await audit(merchantId, 1)).toMatchObject([
      { action: "merchant.close", details: { keys: "1", sessions: "2" } },
    ]);
    for (const [state, isSet] of [
      [undefined, false],
      ["suspended", false],
      ["closed", true],
    ] as const)
      expect(await storage.setMerchantState(merchantId, state, ACTOR)).toBe(isSet);
    expect((await storage.findMerchant(merchantId))!.state).toBe("closed");
    const secret = { hash: hashKey("later"), lifetimeMs: HOUR };
    for (const refused of [
      () => insert(aKey(merchantId)),
      () => storage.insertLink({ ...person, merchantId, ...secret }, ACTOR),
      () => storage.signInFrom("https://id.example", { ...person, merchantId }, { id: "later", ...secret }),
    ])
      await expect(refused()).rejects.toThrow("closed this merchant");
    expect([await ownerOf(adas!), await ownerOf(kofis!)]).toEqual([undefined, kofi]);
    for (const [{ id }, left] of [
      [ada!, 0],
      [kofi!, 1],
    ] as const) {
      const { sessions, links } = await storage.listTeam({ merchantId: id, idleMs: HOUR, limit: 9 });
      expect([sessions.length, links.length]).toEqual([left, left]);
    }
  });

  test("records the latest use of keys, without an entry in the audit trail", async () => {
    const usedAt = async () => (await storage.listKeys()).map((each) => each.usedAt);
    expect(await usedAt()).toEqual([undefined, undefined]);
    await storage.recordKeyUses([useOf(kofis!, 2), useOf(adas!, MINUTE)]);
    await storage.recordKeyUses([useOf(kofis!, HOUR), useOf(adas!, 3), useOf(aKey(ada!.id), 0)]);
    expect(await usedAt()).toEqual([START + MINUTE, START + HOUR]);
    expect([await audit(ada!.id), await audit(kofi!.id)].flat()).toHaveLength(4);
  });

  test("limits the requests of each merchant to a bucket of one second, which fills up at the rate", async () => {
    const take = async (count: number, perSecond = 5) =>
      (await concurrently(count, () => storage.takeRequest(ada!.id, perSecond))).filter(Boolean).length;
    expect(await take(7)).toBe(5);
    expect(await storage.takeRequest(kofi!.id, 5)).toBe(true);
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

  test("concurrent rotations keep every secret of this merchant, of which later ones keep the newest", async () => {
    const { id } = ada!;
    const rotate = (secret: string) => storage.rotateSecret(id, secret, { keepMs: DAY, maxPrevious: 5, actor: ACTOR });
    const { current: first } = await storage.readSecrets(id);
    const secrets = ["whsec_a", "whsec_b", "whsec_c"];
    await concurrently(3, (index) => rotate(secrets[index]!));
    const { current, previous } = await storage.readSecrets(id);
    expect([current, ...previous.map(({ secret }) => secret)].toSorted()).toEqual([first, ...secrets].toSorted());
    for (let made = 1; made <= 5; made += 1) await rotate(`whsec_${made}`);
    const kept = (await storage.readSecrets(id)).previous.map(({ secret }) => secret);
    expect(kept.toSorted()).toEqual([current, "whsec_1", "whsec_2", "whsec_3", "whsec_4"].toSorted());
    expect(await storage.readSecrets(kofi!.id)).toEqual({ current: first, previous: [] });
  });

  test("keeps what the chaos switch does, until it is off", async () => {
    const { id } = ada!;
    const chaos = { latencyMs: 250, failedRequestsPercent: 0, lostResponsesPercent: 5, lostWebhooksPercent: 100 };
    await storage.setChaos(id, chaos, ACTOR);
    expect(await ownerOf(adas!)).toEqual({ ...ada!, chaos });
    await delivery(id);
    expect((await claims())[0]!.merchant).toMatchObject({ chaos });
    await storage.setChaos(id, undefined, ACTOR);
    expect(await storage.findMerchant(id)).toEqual(ada);
    await storage.setChaos(id, chaos, ACTOR);
    await storage.reset(id);
    expect(await storage.findMerchant(id)).toEqual(ada);
    const entry = { actor: ACTOR, action: "sandbox.chaos" };
    const details = { latencyMs: "250", lostResponsesPercent: "5", lostWebhooksPercent: "100" };
    expect(await audit(id, 2)).toMatchObject([
      { ...entry, details },
      { ...entry, details: { chaos: "off" } },
    ]);
  });
}

/** A hash that differs for each number. */
const hash = (number: number) => number.toString(16).padStart(64, "0");

export function signInTests({ storage, pass, reported, merchant, audit }: Current): void {
  let merchantId: string;
  beforeEach(async () => {
    merchantId = (await merchant()).id;
  });
  const link = (number: number, changes: { merchantId?: string; name?: string } = {}) => {
    const person = { name: "Ada", role: "finance", ...changes } as const;
    return storage.insertLink({ ...person, hash: hash(number), lifetimeMs: 10 * MINUTE }, ACTOR);
  };
  const signIn = (from: number, to: number) =>
    storage.signIn(hash(from), { id: nextId(), hash: hash(to), lifetimeMs: 12 * HOUR });
  const use = (number: number) => storage.useSession(hash(number), 2 * HOUR);
  const SESSION = { createdAt: START, usedAt: START, expiresAt: START + 12 * HOUR };

  test("a link begins one session, also if it is used several times at once", async () => {
    await link(1);
    const sessions = await concurrently(5, (index) => signIn(1, 10 + index));
    expect(sessions.filter((session) => session !== undefined)).toHaveLength(1);
    const begun = sessions.find((session) => session !== undefined)!;
    expect(begun).toEqual({ id: begun.id, name: "Ada", role: "finance", ...SESSION });
    const found = await concurrently(5, (index) => use(10 + index));
    expect(found.filter((session) => session !== undefined)).toEqual([begun]);
    expect(await signIn(1, 99)).toBeUndefined();
    expect(await use(99)).toBeUndefined();
  });

  test("a sign-in at a provider begins a session without a link", async () => {
    const ada = { merchantId, name: "Ada", role: "support" } as const;
    const session = { id: nextId(), hash: hash(1), lifetimeMs: 12 * HOUR };
    const begun = await storage.signInFrom("https://id.example", ada, session);
    expect(begun).toEqual({ ...ada, id: session.id, ...SESSION });
    expect(await use(1)).toMatchObject(ada);
    const details = { session: session.id, provider: "https://id.example", role: "support" };
    const entry = { at: START, actor: "merchant Ada", action: "dashboard.sign-in", merchantId, details };
    expect((await audit(merchantId))[0]).toEqual(entry);
  });

  test("a link that is made again by the same person ends the one before, until somebody has signed in with it", async () => {
    await link(1);
    const actor = { name: "dashboard Ada", session: (await signIn(1, 2))!.id } as const;
    const kofi = { name: "Kofi", role: "finance", hash: hash(3), lifetimeMs: MINUTE } as const;
    await storage.insertLink(kofi, actor);
    await storage.insertLink({ ...kofi, hash: hash(4) }, actor);
    expect((await storage.listTeam({ idleMs: HOUR, limit: 9 })).links).toHaveLength(1);
    expect([await signIn(3, 5), (await signIn(4, 6))?.name]).toEqual([undefined, "Kofi"]);
    await expect(storage.insertLink({ ...kofi, hash: hash(7) }, actor)).rejects.toThrow("has access already");
  });

  test("a link expires", async () => {
    for (const number of [1, 2]) await link(number);
    pass(10 * MINUTE - 1);
    expect(await signIn(1, 3)).toBeDefined();
    pass(1);
    expect(await signIn(2, 4)).toBeUndefined();
    // Inserting a link deletes the expired links.
    await link(5);
    expect(await signIn(2, 6)).toBeUndefined();
  });

  test("a session ends at its expiry, and earlier if it is not used", async () => {
    for (const number of [1, 2]) {
      await link(number);
      await signIn(number, 10 + number);
    }
    pass(2 * HOUR - 1);
    expect(await use(11)).toMatchObject({ usedAt: START + 2 * HOUR - 1 });
    pass(1);
    expect(await use(12)).toBeUndefined();
    for (let hours = 3; hours < 12; hours++) {
      pass(HOUR);
      expect(await use(11)).toMatchObject({ usedAt: START + hours * HOUR, expiresAt: SESSION.expiresAt });
    }
    pass(HOUR);
    expect(await use(11)).toBeUndefined();
  });

  test("signing out ends one session, and everywhere all sessions and links of the person", async () => {
    for (const number of [1, 2, 3]) await link(number);
    await link(4, { name: "Kofi" });
    await link(5, { merchantId });
    const [first, second] = [(await signIn(1, 11))!, (await signIn(2, 12))!];
    await signIn(4, 14);
    await signIn(5, 15);
    const actor = actorOf(first);
    expect(await storage.endSessions({ id: first.id }, actor)).toBe(1);
    expect([await use(11), await use(12)]).toEqual([undefined, second]);

    expect(await storage.endSessions({ name: "Ada" }, actor)).toBe(2);
    expect([await use(12), await signIn(3, 13)]).toEqual([undefined, undefined]);
    expect([await use(14), await use(15)]).toMatchObject([{ name: "Kofi" }, { merchantId, name: "Ada" }]);
  });

  test("the audit trail names who made links, signed in and signed out, without tokens or hashes", async () => {
    await link(1, { merchantId });
    const session = (await signIn(1, 2))!;
    const actor = actorOf(session);
    expect([actor, actorOf({ name: "Ada" })]).toEqual(["merchant Ada", "dashboard Ada"]);
    await storage.endSessions({ merchantId, id: session.id }, actor);
    await link(3, { merchantId });
    await storage.endSessions({ merchantId, name: "Ada" }, ACTOR);
    const details = { name: "Ada" };
    const made = {
      at: START,
      merchantId,
      actor: ACTOR,
      action: "dashboard.link",
      details: { ...details, role: "finance" },
    };
    const ended = { ...made, action: "dashboard.sign-out" };
    expect((await audit(merchantId)).toReversed().slice(1)).toEqual([
      made,
      { ...made, actor, action: "dashboard.sign-in", details: { session: session.id } },
      { ...ended, actor, details: { ...details, session: session.id } },
      made,
      { ...ended, details: { ...details, session: "all" } },
    ]);
  });

  test("a link that does not work costs no write", async () => {
    await link(1);
    pass(10 * MINUTE);
    reported().length = 0;
    expect([await signIn(1, 2), await signIn(9, 3)]).toEqual([undefined, undefined]);
    expect(reported()).toEqual([]);
    await link(4);
    await signIn(4, 5);
    expect(reported("commit")).toHaveLength(2);
  });

  test("lists the live sessions and unused links of everyone, operators first, or of one merchant", async () => {
    const [ada, kofi] = [merchantId, (await merchant()).id];
    const team = async (of?: string, limit = 100) => {
      const scope = of === undefined ? {} : { merchantId: of };
      const { sessions, links } = await storage.listTeam({ ...scope, idleMs: 2 * HOUR, limit });
      return { sessions: sessions.map(({ name }) => name), links: links.map(({ name }) => name) };
    };
    expect(await team()).toEqual({ sessions: [], links: [] });
    const people = [{ name: "Operator" }, { name: "Esi", merchantId: kofi }, { name: "Yao", merchantId: ada }];
    for (const [index, person] of people.entries()) {
      await link(index, person);
      await signIn(index, 10 + index);
      await link(20 + index, person);
    }
    expect(await team()).toEqual({ sessions: ["Operator", "Yao", "Esi"], links: ["Operator", "Yao", "Esi"] });
    expect(await team(kofi)).toEqual({ sessions: ["Esi"], links: ["Esi"] });
    expect(await team(undefined, 1)).toEqual({ sessions: ["Operator"], links: ["Operator"] });

    pass(10 * MINUTE);
    expect(await team()).toEqual({ sessions: ["Operator", "Yao", "Esi"], links: [] });
    await use(11);
    pass(2 * HOUR - 10 * MINUTE);
    expect(await team()).toEqual({ sessions: ["Esi"], links: [] });
    const { sessions } = await storage.listTeam({ merchantId: kofi, idleMs: 2 * HOUR, limit: 1 });
    expect(sessions).toEqual([await use(11)].map((session) => ({ ...session, usedAt: START + 10 * MINUTE })));
  });

  test("ends sessions of the given merchant only, and records nothing if there is none", async () => {
    await link(1, { merchantId });
    const session = (await signIn(1, 2))!;
    await link(3);
    await signIn(3, 4);
    const before = (await storage.listAudit({ limit: 99 })).items.length;
    for (const which of [{ id: session.id }, { merchantId, id: "nothing" }, { merchantId, name: "Kofi" }]) {
      expect(await storage.endSessions(which, ACTOR)).toBe(0);
    }
    expect((await storage.listAudit({ limit: 99 })).items).toHaveLength(before);
    expect(await storage.endSessions({ name: "Ada" }, ACTOR)).toBe(1);
    expect([await use(2), await use(4)]).toEqual([session, undefined]);
  });
}
