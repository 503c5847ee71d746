import { expect, test } from "vitest";
import { actorOf } from "../../domain/dashboard.ts";
import type { Current } from "./current.ts";
import { ACTOR, addMerchant, concurrently, HOUR, MINUTE, nextId, START } from "./fixtures.ts";

/** A hash that differs for each number. */
const hash = (number: number) => new Uint8Array(32).fill(number);

export function dashboardTests(storage: Current): void {
  const link = (number: number, changes: { merchantId?: string; name?: string } = {}) =>
    storage().insertLink({ name: "Ada", hash: hash(number), lifetimeMs: 10 * MINUTE, ...changes }, ACTOR);
  const signIn = (from: number, to: number) =>
    storage().signIn(hash(from), { id: nextId(), hash: hash(to), lifetimeMs: 12 * HOUR });
  const use = (number: number) => storage().useSession(hash(number), 2 * HOUR);

  test("a link begins one session, also if it is used several times at once", async () => {
    await link(1);
    const sessions = await concurrently(5, (index) => signIn(1, 10 + index));
    expect(sessions.filter((session) => session !== undefined)).toHaveLength(1);
    const begun = sessions.find((session) => session !== undefined)!;
    expect(begun).toEqual({ id: begun.id, name: "Ada", createdAt: START, usedAt: START, expiresAt: START + 12 * HOUR });
    const found = await concurrently(5, (index) => use(10 + index));
    expect(found.filter((session) => session !== undefined)).toEqual([begun]);
    expect(await signIn(1, 99)).toBeUndefined();
    expect(await use(99)).toBeUndefined();
  });

  test("a merchant's link begins a session of that merchant", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await link(1, { merchantId, name: "Kofi" });
    expect(await signIn(1, 2)).toMatchObject({ merchantId, name: "Kofi" });
    expect(await use(2)).toMatchObject({ merchantId, name: "Kofi" });
  });

  test("a link expires", async () => {
    await link(1);
    await link(2);
    storage.clock().advance(10 * MINUTE - 1);
    expect(await signIn(1, 3)).toBeDefined();
    storage.clock().advance(1);
    expect(await signIn(2, 4)).toBeUndefined();
    // Inserting a link deletes the expired ones.
    await link(5);
    expect(await signIn(2, 6)).toBeUndefined();
  });

  test("a session ends at its expiry, and earlier if it is not used", async () => {
    await link(1);
    await link(2);
    await signIn(1, 3);
    await signIn(2, 4);
    storage.clock().advance(2 * HOUR - 1);
    expect(await use(3)).toMatchObject({ usedAt: START + 2 * HOUR - 1 });
    storage.clock().advance(1);
    expect(await use(4)).toBeUndefined();
    for (let hours = 3; hours < 12; hours++) {
      storage.clock().advance(HOUR);
      expect(await use(3)).toMatchObject({ usedAt: START + hours * HOUR, expiresAt: START + 12 * HOUR });
    }
    storage.clock().advance(HOUR);
    expect(await use(3)).toBeUndefined();
  });

  test("signing out ends one session, and everywhere all sessions and links of the person", async () => {
    const { id: merchantId } = await addMerchant(storage());
    for (const number of [1, 2, 3]) await link(number);
    await link(4, { name: "Kofi" });
    await link(5, { merchantId });
    const [first, second] = [(await signIn(1, 11))!, (await signIn(2, 12))!];
    await signIn(4, 14);
    await signIn(5, 15);
    await storage().signOut(first, { everywhere: false });
    expect([await use(11), await use(12)]).toEqual([undefined, second]);

    await storage().signOut(second, { everywhere: true });
    expect([await use(12), await signIn(3, 13)]).toEqual([undefined, undefined]);
    expect([await use(14), await use(15)]).toMatchObject([{ name: "Kofi" }, { merchantId, name: "Ada" }]);
  });

  test("the audit trail names who made links, signed in and signed out, without tokens or hashes", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await link(1, { merchantId });
    const session = (await signIn(1, 2))!;
    await storage().signOut(session, { everywhere: false });
    await storage().signOut(session, { everywhere: true });
    const { items } = await storage().listAudit({ merchantId, limit: 10 });
    const actor = actorOf(session);
    expect(actor).toBe("dashboard Ada");
    expect(items.toReversed().slice(1)).toEqual([
      { at: START, actor: ACTOR, action: "dashboard.link", merchantId, details: { name: "Ada" } },
      { at: START, actor, action: "dashboard.sign-in", merchantId, details: { session: session.id } },
      { at: START, actor, action: "dashboard.sign-out", merchantId, details: { session: session.id } },
      { at: START, actor, action: "dashboard.sign-out", merchantId, details: { session: "all" } },
    ]);
  });
}
