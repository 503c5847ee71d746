import { beforeEach, expect, test } from "vitest";
import { actorOf } from "../../domain/sign-in.ts";
import type { Current } from "./current.ts";
import { ACTOR, concurrently, HOUR, MINUTE, nextId, START } from "./fixtures.ts";

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
