import type { Actor } from "./audit.ts";
import type { CheckoutStore } from "./checkouts.ts";
import type { Clock } from "./clock.ts";
import type { DeliverySearch, Delivery, EventLog } from "./deliveries.ts";
import type { DisbursementStore } from "./disbursements.ts";
import { ServiceError } from "./errors.ts";
import type { Random } from "./ids.ts";
import type { MerchantStore, Merchant } from "./merchants.ts";
import type { Page } from "./pages.ts";
import { newSecret, type WebhookSecrets } from "./secrets.ts";
import { sandboxTime } from "./time.ts";

/** How long the previous secret still signs after a rotation, in milliseconds of sandbox time (D12). */
const ROTATION_MS = 24 * 3_600_000;
/** The maximum number of previous secrets that still sign (D12). */
const PREVIOUS_SECRETS = 5;

export interface WebhookContext {
  storage: Pick<EventLog, "findDelivery"> & Pick<MerchantStore, "readSecrets" | "revealSecrets" | "rotateSecret">;
  clock: Clock;
  random: Random;
  /**
   * Makes a delivery ready for an attempt. A server waits a while for the attempt (D13). The command line, which sends
   * nothing, does not wait.
   */
  attempt(merchantId: string, id: string, actor: Actor): Promise<"requested" | "claimed" | "unknown">;
}

export type Webhooks = ReturnType<typeof createWebhooks>;

/** A merchant's actions on its webhooks. */
export function createWebhooks({ storage, clock, random, attempt }: WebhookContext) {
  const inForce = ({ current, previous }: WebhookSecrets, merchant: Merchant): WebhookSecrets => {
    const now = sandboxTime(merchant, clock.now());
    return { current, previous: previous.filter(({ expiresAt }) => expiresAt > now) };
  };

  return {
    /**
     * Requests one attempt of a delivery (see `WebhookContext.attempt`).
     * @throws ServiceError `not_found`, or `delivery_in_progress` while another attempt is in progress
     */
    async replay(merchant: Merchant, id: string, actor: Actor): Promise<Delivery> {
      if ((await attempt(merchant.id, id, actor)) === "claimed") {
        throw new ServiceError(
          "delivery_in_progress",
          "An attempt of this delivery is in progress. Replay the delivery when the attempt has ended.",
        );
      }
      // A reset may have deleted the delivery meanwhile.
      const delivery = await storage.findDelivery(merchant.id, id);
      if (!delivery) throw new ServiceError("not_found", "You have no delivery with this id.");
      return delivery;
    },
    /** Reads the secrets that sign now, without expired secrets. */
    readSecrets: async (merchant: Merchant) => inForce(await storage.readSecrets(merchant.id), merchant),
    /** Like `readSecrets`, but for a person; the audit trail records it. */
    revealSecrets: async (merchant: Merchant, actor: Actor) =>
      inForce(await storage.revealSecrets(merchant.id, actor), merchant),
    /** Creates a new secret. The replaced secret signs for another day of sandbox time (D12). */
    async rotateSecret(merchant: Merchant, actor: Actor) {
      const rotation = { keepMs: ROTATION_MS, maxPrevious: PREVIOUS_SECRETS, actor };
      return inForce(await storage.rotateSecret(merchant.id, newSecret(random), rotation), merchant);
    },
  };
}

/** Finds the webhooks of the payments that have this reference, which is the service's or the merchant's. */
export async function deliveriesOfPayment(
  storage: Pick<
    DisbursementStore & CheckoutStore & EventLog,
    "findDisbursementByMerchantsReference" | "listCheckouts" | "listDeliveries"
  >,
  query: DeliverySearch & { merchantId: string; limit: number },
  reference: string,
): Promise<Page<Delivery>> {
  const { merchantId } = query;
  const [payout, checkouts] = await Promise.all([
    storage.findDisbursementByMerchantsReference(merchantId, reference),
    storage.listCheckouts({ merchantId, merchantsReference: reference, limit: 1 }),
  ]);
  const references = new Set([reference, payout?.reference ?? reference, checkouts.items[0]?.reference ?? reference]);
  const pages = await Promise.all([...references].map((each) => storage.listDeliveries({ ...query, reference: each })));
  return { items: pages.flatMap(({ items }) => items) };
}
