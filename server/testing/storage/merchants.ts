import { expect, test } from "vitest";
import type { Current } from "./suite.ts";
import { addMerchant, aKey, MINUTE, START } from "./fixtures.ts";

export function merchantTests(storage: Current): void {
  test("merchants are listed in the order in which they were made", async () => {
    const third = await addMerchant(storage(), { createdAt: START + 2 });
    const first = await addMerchant(storage(), { createdAt: START, name: "Kofi & Söhne 🧵" });
    const second = await addMerchant(storage(), { createdAt: START + 1 });
    expect(await storage().listMerchants()).toEqual([first, second, third]);
    expect(await storage().findMerchant(first.id)).toEqual(first);
    expect(await storage().findMerchant("nobody")).toBeUndefined();
  });

  test("a key leads to its merchant and to no other", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const [adas, kofis] = [aKey(ada.id), aKey(kofi.id)];
    await storage().insertKey(adas);
    await storage().insertKey(kofis);
    expect((await storage().findMerchantByKey(adas.hash))?.merchant).toEqual(ada);
    const found = await storage().findMerchantByKey(kofis.hash);
    expect(found?.merchant).toEqual(kofi);
    expect(Buffer.from(found!.hash).equals(kofis.hash)).toBe(true);
    expect(await storage().findMerchantByKey(new Uint8Array(32))).toBeUndefined();
    expect(await storage().findKey(new Uint8Array(32))).toBeUndefined();
  });

  test("a revoked key leads nowhere, until the revocation is lifted", async () => {
    const merchant = await addMerchant(storage());
    const key = aKey(merchant.id);
    await storage().insertKey(key);

    expect(await storage().setRevoked(key.id, START + MINUTE)).toBe(true);
    expect(await storage().findMerchantByKey(key.hash)).toBeUndefined();
    expect(await storage().findKey(key.hash)).toMatchObject({ id: key.id, revokedAt: START + MINUTE });

    expect(await storage().setRevoked(key.id, undefined)).toBe(true);
    expect((await storage().findMerchantByKey(key.hash))?.merchant).toEqual(merchant);
    expect(await storage().findKey(key.hash)).not.toHaveProperty("revokedAt");
  });

  test("a key that does not exist cannot be revoked", async () => {
    expect(await storage().setRevoked("nothing", START)).toBe(false);
  });

  test("keys are listed in the order in which they were made, revoked ones too", async () => {
    const merchant = await addMerchant(storage());
    const later = aKey(merchant.id, { createdAt: START + 1, hint: "late" });
    const earlier = aKey(merchant.id, { revokedAt: START + 5, hint: "soon" });
    await storage().insertKey(later);
    await storage().insertKey(earlier);
    const listed = (await storage().listKeys()).map((key) => ({ ...key, hash: new Uint8Array(key.hash) }));
    expect(listed).toEqual([earlier, later]);
  });

  test("the same key is not taken twice", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const key = aKey(ada.id);
    await storage().insertKey(key);
    await expect(storage().insertKey(aKey(kofi.id, { hash: key.hash }))).rejects.toThrow(Error);
    expect((await storage().findMerchantByKey(key.hash))?.merchant).toEqual(ada);
  });

  test("of rotations at the same moment each takes the place of the one before", async () => {
    const { id } = await addMerchant(storage());
    const secrets = ["whsec_a", "whsec_b", "whsec_c"];
    await Promise.all(secrets.map((secret) => storage().rotateSecret(id, secret, START)));
    const { current, previous } = await storage().readSecrets(id);
    expect(secrets).toContain(current);
    expect(secrets.filter((secret) => secret !== current)).toContain(previous?.secret);
  });

  test("a reset ends a rotation: an expired secret does not come back with the clock", async () => {
    const { id } = await addMerchant(storage());
    const { current } = await storage().rotateSecret(id, "whsec_new", START + MINUTE);
    await storage().reset(id);
    expect(await storage().readSecrets(id)).toEqual({ current });
  });

  test("secrets are kept for each merchant, with the one before during a rotation", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const before = await storage().readSecrets(kofi.id);
    const { current: first } = await storage().readSecrets(ada.id);
    const rotated = { current: "whsec_new", previous: { secret: first, expiresAt: START + MINUTE } };
    expect(await storage().rotateSecret(ada.id, "whsec_new", START + MINUTE)).toEqual(rotated);
    expect(await storage().readSecrets(ada.id)).toEqual(rotated);
    expect(await storage().readSecrets(kofi.id)).toEqual(before);
  });
}
