// Rows in every table, for tests of what may change them.
import { NO_CHAOS } from "../../domain/outcomes.ts";
import { failureOf } from "../../domain/records.ts";
import type { Storage } from "../../domain/storage.ts";
import { ACTOR, addDelivery, addMerchant, aCheckout, aDisbursement, aKey, attempted, claimAll } from "./fixtures.ts";
import { HOUR, MINUTE, START } from "../times.ts";

const LARGEST = 2 ** 53 - 1;

/** Fills the storage. Returns the values that the tests search for. @param texts put into names and responses */
export async function fill(storage: Storage, texts = "\u{1f423} \ufdd0") {
  const [ada, kofi] = [await addMerchant(storage, { name: `Ada ${texts}` }), await addMerchant(storage)];
  const [key, revoked] = [aKey(ada.id, { name: "back\\slash ' quote" }), aKey(kofi.id)];
  for (const each of [key, revoked]) await storage.insertKey(each, ACTOR);
  await storage.revokeKey(revoked.id, START + 1, ACTOR);
  await storage.rotateSecret(ada.id, "whsec_second", ACTOR);
  await storage.setDefaultWebhook(kofi.id, "https://kofi.example/?\\n'", ACTOR);
  const chaos = { ...NO_CHAOS, latencyMs: 9 };
  await storage.setChaos(kofi.id, chaos, ACTOR);

  const pending = aDisbursement(ada.id, { amount: LARGEST, merchantsReference: "Pâques 🐣" });
  await storage.insertDisbursement(pending);
  await storage.insertDisbursement(aDisbursement(kofi.id));
  await storage.moveClock(kofi.id, { by: HOUR }, ACTOR);
  while ((await storage.settleDue(100, kofi.id)) > 0);
  await attempted(storage, kofi.id, "ended");
  const failed = { status: "failed", due: undefined!, fee: 0, failure: failureOf("other") } as const;
  await storage.insertDisbursement(aDisbursement(kofi.id, failed));
  const checkout = aCheckout(ada.id, { redirectURL: "https://ada.example/thanks" });
  const paid = aCheckout(kofi.id, { currency: "NGN" });
  for (const draft of [checkout, paid]) await storage.insertCheckout(draft);
  await storage.finishCheckout(paid.reference, "success");
  await storage.adjustBalance(kofi.id, { id: "top-up", currency: "NGN", amount: 700, reason: "Paid in" }, ACTOR);
  await storage.payCheckout(checkout.reference, "2250102030405", { afterMs: HOUR, status: "failed" });
  await storage.countRefusal(ada.id, "refused");

  await addDelivery(storage, ada.id);
  const [first] = await claimAll(storage, { merchantId: ada.id });
  const attempt = { at: START, sentAt: START, latencyMs: 7, httpStatus: 200, responseBody: `ok ${texts}` };
  await storage.recordAttempt(first!, attempt, { status: "delivered", step: 1 });
  const claimed = await addDelivery(storage, ada.id);
  await claimAll(storage, { merchantId: ada.id, leaseMs: MINUTE });
  const due = await addDelivery(storage, ada.id);
  return { ada, kofi, pending, claimed, due };
}

/** All entries of the storage's lists. */
export async function contents(storage: Storage) {
  const merchants = await storage.listMerchants();
  const { items: audit } = await storage.listAudit({ limit: 100 });
  const lists = merchants.map(async ({ id: merchantId }) => {
    const query = { merchantId, limit: 100 };
    return {
      secrets: await storage.readSecrets(merchantId),
      events: await storage.listEvents(query),
      deliveries: await storage.listDeliveries(query),
      disbursements: await storage.listDisbursements(query),
      checkouts: await storage.listCheckouts(query),
    };
  });
  const [keys, balances] = [await storage.listKeys(), await storage.listBalances()];
  return { merchants, keys, audit, balances, lists: await Promise.all(lists) };
}
