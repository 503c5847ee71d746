import { expect, test } from "vitest";
import { InvalidCursorError } from "../../domain/errors.ts";
import type { AuditQuery } from "../../domain/audit.ts";
import type { Current } from "./current.ts";
import {
  ACTOR,
  addDelivery,
  addKey,
  addMerchant,
  aKey,
  ATTEMPT,
  claimAll,
  HOUR,
  LATEST,
  MINUTE,
  START,
} from "./fixtures.ts";

export function auditTests(storage: Current): void {
  const audit = async (query: Partial<AuditQuery> = {}) =>
    (await storage().listAudit({ limit: 100, ...query })).items.toReversed();
  const actions = async (query?: Partial<AuditQuery>) => (await audit(query)).map(({ action }) => action);

  test("records who did what and when, without secrets", async () => {
    const { id: merchantId } = await addMerchant(storage(), { name: "Ada Stores" });
    const key = aKey(merchantId);
    await storage().insertKey(key, "server app@host");
    storage.clock().advance(MINUTE);
    await storage().rotateSecret(merchantId, "whsec_new", { keepMs: HOUR, maxPrevious: 5, actor: `key ${key.id}` });
    await storage().revealSecrets(merchantId, ACTOR);
    await storage().revokeKey(key.id, START + MINUTE, ACTOR);
    const url = "https://merchant.example:8443/hook?token=confidential";
    await storage().setDefaultWebhook(merchantId, url, ACTOR);
    await storage().setDefaultWebhook(merchantId, undefined, ACTOR);

    const at = START + MINUTE;
    expect(await audit()).toEqual([
      { at: START, actor: ACTOR, action: "merchant.create", merchantId, details: { name: "Ada Stores" } },
      { at: START, actor: "server app@host", action: "key.create", merchantId, details: { key: key.id } },
      { at, actor: `key ${key.id}`, action: "secret.rotate", merchantId, details: {} },
      { at, actor: ACTOR, action: "secret.reveal", merchantId, details: {} },
      { at, actor: ACTOR, action: "key.revoke", merchantId, details: { key: key.id } },
      { at, actor: ACTOR, action: "default-webhook.set", merchantId, details: { receiver: "merchant.example:8443" } },
      { at, actor: ACTOR, action: "default-webhook.remove", merchantId, details: {} },
    ]);
  });

  test("records who moves a clock or resets a merchant, in the transaction of the action", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await storage().moveClock(merchantId, { by: HOUR }, LATEST, ACTOR);
    await storage().moveClock(merchantId, { by: 2 * HOUR }, MINUTE, ACTOR);
    await storage().reset(merchantId, ACTOR);
    const entry = { at: START, actor: ACTOR, merchantId };
    expect((await audit()).slice(1)).toEqual([
      { ...entry, action: "sandbox.advance", details: { to: new Date(START + HOUR).toISOString() } },
      { ...entry, action: "sandbox.reset", details: {} },
    ]);
  });

  test("records nothing for an action without effect", async () => {
    const merchant = await addMerchant(storage());
    const key = await addKey(storage(), merchant.id);
    await storage().revokeKey(key.id, START, ACTOR);
    const before = await audit();
    await storage().revokeKey(key.id, START, ACTOR);
    await storage().revokeKey("nothing", START, ACTOR);
    await storage().requestReplay(merchant.id, "msg_nothing", ACTOR);
    await storage().insertKey(key, ACTOR);
    expect(await audit()).toEqual(before);
  });

  test("records replays, but neither scheduled attempts nor replays that did not start", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const { id } = await addDelivery(storage(), merchantId);
    const [claimed] = await claimAll(storage());
    expect(await storage().requestReplay(merchantId, id, ACTOR)).toBe("claimed");
    await storage().recordAttempt(claimed!, ATTEMPT, { status: "ended", step: 1 });
    expect(await actions()).toEqual(["merchant.create"]);

    await storage().requestReplay(merchantId, id, ACTOR);
    await storage().requestReplay(merchantId, id, "key 1");
    expect((await audit()).slice(1)).toMatchObject([
      { actor: ACTOR, action: "delivery.replay", merchantId, details: { delivery: id, status: "ended" } },
      { actor: "key 1", action: "delivery.replay", merchantId, details: { delivery: id, status: "pending" } },
    ]);
  });

  test("lists what was done to one merchant or key, newest first", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    await storage().insertKey(aKey(ada.id), ACTOR);
    expect(await actions({ merchantId: ada.id })).toEqual(["merchant.create", "key.create"]);
    expect(await actions({ merchantId: kofi.id })).toEqual(["merchant.create"]);
    expect(await actions({ merchantId: "nobody" })).toEqual([]);

    const key = await addKey(storage(), kofi.id);
    await storage().insertKey(aKey(kofi.id), ACTOR);
    await storage().revokeKey(key.id, START, ACTOR);
    const aboutKey = { merchantId: kofi.id, keyId: key.id };
    expect(await actions(aboutKey)).toEqual(["key.create", "key.revoke"]);
    const newest = await storage().listAudit({ ...aboutKey, limit: 1 });
    expect(await actions({ ...aboutKey, cursor: newest.cursor! })).toEqual(["key.create"]);
    await expect(storage().listAudit({ merchantId: kofi.id, limit: 1, cursor: newest.cursor! })).rejects.toThrow(
      InvalidCursorError,
    );
  });
}
