import type { Checkouts } from "../domain/checkouts.ts";
import type { Clock } from "../domain/clock.ts";
import type { Disbursements } from "../domain/disbursements.ts";
import { checkoutView, disbursementView } from "../domain/representation.ts";
import type { Webhooks } from "../domain/webhooks.ts";
import type { MerchantClock } from "../workers/merchant-clock.ts";
import type { Handlers } from "./contract.ts";
import {
  checkoutCreated,
  clockView,
  deliveryListView,
  deliveryView,
  disbursementCreated,
  eventListView,
  secretView,
} from "./views.ts";

export interface HandlerContext {
  config: { publicUrl: string };
  clock: Clock;
  disbursements: Disbursements;
  checkouts: Checkouts;
  webhooks: Webhooks;
  merchantClock: MerchantClock;
}

/** The handler of each operation of the spec. */
export function createHandlers(context: HandlerContext): Handlers {
  const { config, clock, disbursements, checkouts, webhooks, merchantClock } = context;
  return {
    createDisbursement: async ({ merchant, body }) => disbursementCreated(await disbursements.create(merchant, body)),
    verifyDisbursement: async ({ merchant, path }) =>
      disbursementView(await disbursements.verify(merchant, path.reference), merchant.name),
    createCheckout: async ({ merchant, body }) =>
      checkoutCreated(await checkouts.create(merchant, body), config.publicUrl),
    verifyCheckout: async ({ merchant, path }) =>
      checkoutView(await checkouts.verify(merchant, path.reference), merchant.name),

    readClock: async ({ merchant }) => clockView(merchant, clock.now()),
    advanceClock: async ({ merchant, body }) =>
      clockView(await merchantClock.advance(merchant.id, { by: body.seconds * 1_000 }), clock.now()),
    resetSandbox: async ({ merchant }) => clockView(await merchantClock.reset(merchant.id), clock.now()),
    finishCheckout: async ({ merchant, path, body }) =>
      checkoutView(await checkouts.finish(merchant, path.reference, body.outcome), merchant.name),
    listEvents: async ({ merchant, query: { before, ...filter } }) =>
      eventListView(await webhooks.listEvents(merchant, { ...filter, ...(before && { cursor: before }) })),
    listDeliveries: async ({ merchant, query: { before, ...filter } }) =>
      deliveryListView(await webhooks.listDeliveries(merchant, { ...filter, ...(before && { cursor: before }) })),
    replayDelivery: async ({ merchant, path }) => deliveryView(await webhooks.replay(merchant, path.id)),
    readWebhookSecret: async ({ merchant }) => secretView(await webhooks.readSecrets(merchant)),
    rotateWebhookSecret: async ({ merchant }) => secretView(await webhooks.rotateSecret(merchant)),
  };
}
