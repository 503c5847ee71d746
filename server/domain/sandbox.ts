import type { components } from "../../generated/openapi.ts";
import type { Deps } from "../deps.ts";
import { verifyCheckout } from "./checkouts.ts";
import { ApiError } from "./errors.ts";
import type { DeliveryStatus, FinalStatus, Merchant, Page, WebhookSecrets } from "./storage.ts";
import { checkoutView, deliveryView, eventView, timestamp } from "../http/views.ts";
import { newSecret } from "../webhooks/signature.ts";

type Schemas = components["schemas"];

/** How long the secret before a rotation still signs (D12). */
const ROTATION_MS = 24 * 3_600_000;
const DEFAULT_PAGE = 20;

const merchantNow = ({ clock }: Deps, merchant: Merchant): number => clock.now() + merchant.clockOffset;

export async function readClock(deps: Deps, merchant: Merchant): Promise<Schemas["Clock"]> {
  return { now: timestamp(merchantNow(deps, merchant)) };
}

/** Moves the merchant's time forward; what falls due on the way has happened when this resolves (D18). */
export async function advanceClock(deps: Deps, merchant: Merchant, seconds: number): Promise<Schemas["Clock"]> {
  await deps.timeline.advance(merchant.id, seconds * 1_000);
  return currentClock(deps, merchant);
}

/** Forgets the merchant's records and puts its clock back to real time (D18). */
export async function reset(deps: Deps, merchant: Merchant): Promise<Schemas["Clock"]> {
  await deps.timeline.reset(merchant.id);
  return currentClock(deps, merchant);
}

async function currentClock(deps: Deps, { id }: Merchant): Promise<Schemas["Clock"]> {
  return readClock(deps, (await deps.storage.findMerchant(id))!);
}

interface Filter {
  reference?: string;
  status?: DeliveryStatus;
  limit?: number;
  before?: string;
}

export async function listEvents(deps: Deps, merchant: Merchant, filter: Filter): Promise<Schemas["EventList"]> {
  const { shown, next } = await page(merchant, filter, (query) => deps.storage.listEvents(query));
  return { events: shown.map((event) => eventView(event, merchant)), ...next };
}

export async function listDeliveries(deps: Deps, merchant: Merchant, filter: Filter): Promise<Schemas["DeliveryList"]> {
  const { status } = filter;
  const { shown, next } = await page(merchant, filter, (query) =>
    deps.storage.listDeliveries(status === undefined ? query : { ...query, status }),
  );
  return { deliveries: shown.map(deliveryView), ...next };
}

/** Asks for one more than a page holds, to know whether another follows. */
async function page<T extends { id: string }>(merchant: Merchant, filter: Filter, list: (query: Page) => Promise<T[]>) {
  const { reference, before, limit = DEFAULT_PAGE } = filter;
  const found = await list({
    merchantId: merchant.id,
    limit: limit + 1,
    ...(reference === undefined ? {} : { reference }),
    ...(before === undefined ? {} : { before }),
  });
  const shown = found.slice(0, limit);
  return { shown, next: found.length > limit ? { next: shown.at(-1)!.id } : {} };
}

/** Makes one attempt before it resolves (D31). */
export async function replayDelivery(deps: Deps, merchant: Merchant, id: string): Promise<Schemas["Delivery"]> {
  const replayed = await deps.deliveries.replay(merchant.id, id);
  if (replayed === "claimed") {
    throw new ApiError("conflict", "An attempt of this delivery is under way; replay it once that has ended.");
  }
  // A reset may have forgotten it meanwhile.
  const delivery = await deps.storage.findDelivery(merchant.id, id);
  if (!delivery) throw new ApiError("not-found", "You have no delivery with this id.");
  return deliveryView(delivery);
}

/** Ends a checkout as a payer would (D18). */
export async function finishCheckout(
  deps: Deps,
  merchant: Merchant,
  reference: string,
  outcome: FinalStatus,
): Promise<Schemas["Checkout"]> {
  await verifyCheckout(deps, merchant, reference);
  const finished = await deps.storage.finishCheckout(reference, outcome, merchantNow(deps, merchant));
  const checkout = await verifyCheckout(deps, merchant, reference);
  if (!finished) throw new ApiError("conflict", `The checkout has already ended with status ${checkout.status}.`);
  deps.wake();
  return checkoutView(checkout, merchant);
}

export async function readWebhookSecret(deps: Deps, merchant: Merchant): Promise<Schemas["WebhookSecret"]> {
  return secretView(await deps.storage.readSecrets(merchant.id), merchantNow(deps, merchant));
}

/** Both secrets sign for a day of the merchant's sandbox time (D12). */
export async function rotateWebhookSecret(deps: Deps, merchant: Merchant): Promise<Schemas["WebhookSecret"]> {
  const now = merchantNow(deps, merchant);
  const rotated = await deps.storage.rotateSecret(merchant.id, newSecret(deps.random), now + ROTATION_MS);
  return secretView(rotated, now);
}

function secretView({ current, previous }: WebhookSecrets, now: number): Schemas["WebhookSecret"] {
  if (!previous || previous.expiresAt <= now) return { secret: current };
  return {
    secret: current,
    previousSecret: previous.secret,
    previousSecretExpiresAt: timestamp(previous.expiresAt),
  };
}
