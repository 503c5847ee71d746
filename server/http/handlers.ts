import { checkoutUrl, createCheckout, verifyCheckout } from "../domain/checkouts.ts";
import type { Handlers } from "./contract.ts";
import type { Deps } from "../deps.ts";
import { createDisbursement, verifyDisbursement } from "../domain/disbursements.ts";
import * as sandbox from "../domain/sandbox.ts";
import { checkoutCreated, checkoutView, disbursementCreated, disbursementView } from "./views.ts";

/** What answers each operation of the spec. */
export function createHandlers(deps: Deps): Handlers {
  return {
    async createDisbursement({ merchant, body }) {
      return disbursementCreated(await createDisbursement(deps, merchant, body));
    },
    async verifyDisbursement({ merchant, path }) {
      return disbursementView(await verifyDisbursement(deps, merchant, path.reference), merchant);
    },
    async createCheckout({ merchant, body }) {
      const checkout = await createCheckout(deps, merchant, body);
      return checkoutCreated(checkout, checkoutUrl(deps.config.publicUrl, checkout.reference));
    },
    async verifyCheckout({ merchant, path }) {
      return checkoutView(await verifyCheckout(deps, merchant, path.reference), merchant);
    },
    readClock: ({ merchant }) => sandbox.readClock(deps, merchant),
    advanceClock: ({ merchant, body }) => sandbox.advanceClock(deps, merchant, body.seconds),
    resetSandbox: ({ merchant }) => sandbox.reset(deps, merchant),
    listEvents: ({ merchant, query }) => sandbox.listEvents(deps, merchant, query),
    listDeliveries: ({ merchant, query }) => sandbox.listDeliveries(deps, merchant, query),
    replayDelivery: ({ merchant, path }) => sandbox.replayDelivery(deps, merchant, path.id),
    finishCheckout: ({ merchant, path, body }) => sandbox.finishCheckout(deps, merchant, path.reference, body.outcome),
    readWebhookSecret: ({ merchant }) => sandbox.readWebhookSecret(deps, merchant),
    rotateWebhookSecret: ({ merchant }) => sandbox.rotateWebhookSecret(deps, merchant),
  };
}
