import type { Checkouts } from "../domain/checkouts.ts";
import { NO_CHAOS } from "../domain/outcomes.ts";
import { setChaos, type Merchant } from "../domain/merchants.ts";
import type { Clock } from "../domain/clock.ts";
import type { Disbursements } from "../domain/disbursements.ts";
import { checkoutView, disbursementView } from "../domain/representation.ts";
import type { ClockMove } from "../domain/time.ts";
import type { MerchantBalances } from "../domain/ledger.ts";
import { DEFAULT_LIMIT } from "../domain/pages.ts";
import type { RecordQuery } from "../domain/records.ts";
import type { Storage } from "../domain/storage.ts";
import type { Webhooks } from "../domain/webhooks.ts";
import type { components } from "../../generated/openapi.ts";
import type { MerchantClock } from "../workers/merchant-clock.ts";
import type { Handlers } from "./contract.ts";
import {
  balancesView,
  checkoutCreated,
  clockView,
  deliveryView,
  disbursementCreated,
  eventView,
  listView,
  secretView,
  statementEntryView,
  statementTable,
} from "./views.ts";

export interface HandlerContext {
  config: { publicUrl: string };
  clock: Clock;
  disbursements: Disbursements;
  checkouts: Checkouts;
  webhooks: Webhooks;
  merchantClock: MerchantClock;
  storage: Pick<Storage, `list${"Disbursements" | "Checkouts" | "Statement" | "Events" | "Deliveries"}` | "setChaos">;
  balances: MerchantBalances;
}

/** The handler of each operation of the spec. */
export function createHandlers(context: HandlerContext): Handlers {
  const { config, clock, disbursements, checkouts, webhooks, merchantClock, storage, balances } = context;
  return {
    createDisbursement: async ({ merchant, keyId, body, traceparent, refusal }) =>
      disbursementCreated(await disbursements.create(merchant, body, { keyId, traceparent, refusal })),
    verifyDisbursement: async ({ merchant, path }) =>
      disbursementView(await disbursements.verify(merchant, path.reference), merchant.name),
    listDisbursements: async ({ merchant, query }) =>
      listView(await storage.listDisbursements(recordQuery(merchant, query)), (one) =>
        disbursementView(one, merchant.name),
      ),
    createCheckout: async ({ merchant, keyId, body, traceparent, refusal }) =>
      checkoutCreated(await checkouts.create(merchant, body, { keyId, traceparent, refusal }), config.publicUrl),
    verifyCheckout: async ({ merchant, path }) =>
      checkoutView(await checkouts.verify(merchant, path.reference), merchant.name),
    listCheckouts: async ({ merchant, query }) =>
      listView(await storage.listCheckouts(recordQuery(merchant, query)), (one) => checkoutView(one, merchant.name)),
    listBalances: async ({ merchant }) => balancesView(await balances.list(merchant)),
    async listStatements({ merchant: { id: merchantId }, query: { from, to, format, limit = DEFAULT_LIMIT, cursor } }) {
      const page = await storage.listStatement({ merchantId, from: timeOf(from), to: timeOf(to), limit, cursor });
      return format === "csv" ? statementTable(page) : listView(page, statementEntryView);
    },

    readClock: async ({ merchant }) => clockView(merchant, clock.now()),
    advanceClock: async ({ merchant, actor, body }) =>
      clockView(await merchantClock.advance(merchant.id, clockMove(body), actor), clock.now()),
    resetSandbox: async ({ merchant, actor }) => clockView(await merchantClock.reset(merchant.id, actor), clock.now()),
    finishCheckout: async ({ merchant, path, body }) =>
      checkoutView(await checkouts.finish(merchant, path.reference, body.outcome), merchant.name),
    listEvents: async ({ merchant: { id: merchantId }, query: { reference, limit = DEFAULT_LIMIT, cursor } }) =>
      listView(await storage.listEvents({ merchantId, reference, limit, cursor }), eventView),
    listDeliveries: async ({
      merchant: { id: merchantId },
      query: { reference, status, limit = DEFAULT_LIMIT, cursor },
    }) => listView(await storage.listDeliveries({ merchantId, reference, status, limit, cursor }), deliveryView),
    replayDelivery: async ({ merchant, actor, path }) => deliveryView(await webhooks.replay(merchant, path.id, actor)),
    readWebhookSecret: async ({ merchant }) => secretView(await webhooks.readSecrets(merchant)),
    rotateWebhookSecret: async ({ merchant, actor }) => secretView(await webhooks.rotateSecret(merchant, actor)),
    readChaos: async ({ merchant }) => merchant.chaos ?? NO_CHAOS,
    setBalance: async ({ merchant, actor, body }) => balancesView(await balances.set(merchant, body, actor)),
    setChaos: async ({ merchant, actor, body }) => setChaos(storage, merchant, body, actor),
  };
}

/** The contract requires exactly one of the two fields. */
function clockMove({ seconds, to }: components["schemas"]["ClockAdvance"]): ClockMove {
  return to === undefined ? { by: seconds! * 1_000 } : { to: Date.parse(to) };
}

const timeOf = (timestamp: string | undefined) => (timestamp === undefined ? undefined : Date.parse(timestamp));

interface RecordListQuery<Status extends string> {
  merchantsReference?: string;
  status?: Status;
  createdAfter?: string;
  createdBefore?: string;
  limit?: number;
  cursor?: string;
}

/** What to list, with the timestamps of the request as milliseconds. */
function recordQuery<Status extends string>(
  { id: merchantId }: Merchant,
  query: RecordListQuery<Status>,
): RecordQuery<Status> {
  const { merchantsReference, status, createdAfter, createdBefore, limit = DEFAULT_LIMIT, cursor } = query;
  const period = { createdAfter: timeOf(createdAfter), createdBefore: timeOf(createdBefore) };
  return { merchantId, merchantsReference, status, ...period, limit, cursor };
}
