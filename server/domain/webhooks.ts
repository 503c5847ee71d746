import type { Actor } from "./audit.ts";
import type { Clock } from "./clock.ts";
import type { DeliverySearch, Delivery, EventLog, PageQuery } from "./deliveries.ts";
import { ServiceError } from "./errors.ts";
import type { Event } from "./events.ts";
import type { Random } from "./ids.ts";
import type { MerchantStore, Merchant } from "./merchants.ts";
import { DEFAULT_LIMIT, type Page } from "./pages.ts";
import { newSecret, type WebhookSecrets } from "./secrets.ts";
import type { Storage } from "./storage.ts";
import { sandboxTime } from "./time.ts";

/** How long the previous secret still signs after a rotation, in milliseconds of sandbox time (D12). */
const ROTATION_MS = 24 * 3_600_000;
/** The maximum number of previous secrets that still sign (D12). */
const PREVIOUS_SECRETS = 5;

export interface WebhookContext {
  storage: EventLog & Pick<MerchantStore, "readSecrets" | "revealSecrets" | "rotateSecret">;
  clock: Clock;
  random: Random;
  /**
   * Makes a delivery ready for an attempt. A server waits a while for the attempt (D31). The command line, which sends
   * nothing, does not wait.
   */
  attempt(merchantId: string, id: string, actor: Actor): Promise<"requested" | "claimed" | "unknown">;
}

/** The parts of a `PageQuery` that a caller may set. */
export type ListFilter = Partial<Pick<PageQuery, "reference" | "createdAfter" | "limit" | "cursor">>;

/** A merchant's view of its webhooks, and its actions on them. */
export interface Webhooks {
  listEvents(merchant: Merchant, filter: ListFilter): Promise<Page<Event>>;
  listDeliveries(merchant: Merchant, filter: ListFilter & DeliverySearch): Promise<Page<Delivery>>;
  /**
   * Requests one attempt of a delivery (see `WebhookContext.attempt`).
   * @throws ServiceError `not_found`, or `delivery_in_progress` while another attempt is in progress
   */
  replay(merchant: Merchant, id: string, actor: Actor): Promise<Delivery>;
  /** Reads the secrets that sign now, without expired secrets. */
  readSecrets(merchant: Merchant): Promise<WebhookSecrets>;
  /** Like `readSecrets`, but for a person; the audit trail records it. */
  revealSecrets(merchant: Merchant, actor: Actor): Promise<WebhookSecrets>;
  /** Creates a new secret. The replaced secret signs for another day of sandbox time (D12). */
  rotateSecret(merchant: Merchant, actor: Actor): Promise<WebhookSecrets>;
}

export function createWebhooks({ storage, clock, random, attempt }: WebhookContext): Webhooks {
  const inForce = ({ current, previous }: WebhookSecrets, merchant: Merchant): WebhookSecrets => {
    const now = sandboxTime(merchant, clock.now());
    return { current, previous: previous.filter(({ expiresAt }) => expiresAt > now) };
  };

  return {
    listEvents: ({ id: merchantId }, { reference, createdAfter, limit = DEFAULT_LIMIT, cursor }) =>
      storage.listEvents({ merchantId, reference, createdAfter, limit, cursor }),
    listDeliveries: ({ id: merchantId }, filter) => {
      const { reference, status, type, host, createdAfter, createdBefore, limit = DEFAULT_LIMIT, cursor } = filter;
      const search = { reference, status, type, host, createdAfter, createdBefore };
      return storage.listDeliveries({ merchantId, ...search, limit, cursor });
    },
    async replay(merchant, id, actor) {
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
    async readSecrets(merchant) {
      return inForce(await storage.readSecrets(merchant.id), merchant);
    },
    async revealSecrets(merchant, actor) {
      return inForce(await storage.revealSecrets(merchant.id, actor), merchant);
    },
    async rotateSecret(merchant, actor) {
      const rotation = { keepMs: ROTATION_MS, maxPrevious: PREVIOUS_SECRETS, actor };
      return inForce(await storage.rotateSecret(merchant.id, newSecret(random), rotation), merchant);
    },
  };
}

/** Finds the webhooks of the payments that have this reference, which is the service's or the merchant's. */
export async function deliveriesOfPayment(
  storage: Pick<Storage, "findDisbursementByMerchantsReference" | "listCheckouts" | "listDeliveries">,
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
