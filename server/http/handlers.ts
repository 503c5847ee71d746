import type { Request, Response } from "express";
import type { components, operations } from "../../generated/openapi.ts";
import type { Config } from "../config.ts";
import type { Actor } from "../domain/audit.ts";
import type { Clock } from "../domain/clock.ts";
import type { Delivery } from "../domain/deliveries.ts";
import { ServiceError } from "../domain/errors.ts";
import type { Ids, Random } from "../domain/ids.ts";
import { newSecret } from "../domain/keys.ts";
import { readBalances, type StatementEntry } from "../domain/ledger.ts";
import type { LoadPayments } from "../domain/loading.ts";
import { createTestMerchant, type Merchant } from "../domain/merchants.ts";
import { chaosOf, NO_CHAOS } from "../domain/outcomes.ts";
import { DEFAULT_LIMIT, type Page } from "../domain/pages.ts";
import type { Checkouts, Disbursements } from "../domain/payments.ts";
import { existing, type Payment } from "../domain/records.ts";
import { csvLine, deliveryView, eventView, listView, paymentView, secretView, view } from "../domain/representation.ts";
import type { Storage } from "../domain/storage.ts";
import { sandboxTime, type ClockMove } from "../domain/time.ts";
import type { AdvanceClock } from "../workers/merchant-clock.ts";
import type { OperationId } from "./authentication.ts";

type Parameters<Op extends OperationId, In extends "path" | "query"> = NonNullable<operations[Op]["parameters"][In]>;
type Body<Op extends OperationId> = operations[Op] extends {
  requestBody: { content: { "application/json": infer B } };
}
  ? B
  : undefined;
type Data<Op extends OperationId> = operations[Op]["responses"][200]["content"]["application/json"]["data"];

/** A request that conforms to the contract. */
interface Call<Op extends OperationId> {
  merchant: Merchant;
  /** The key of the request, for the audit trail. */
  actor: Actor;
  /** The API key of the request. */
  keyId: string;
  /** Why the key may not make this create, unless its reference is known. */
  refusal: ServiceError | undefined;
  path: Parameters<Op, "path">;
  /** Only what the contract declares. */
  query: Parameters<Op, "query">;
  body: Body<Op>;
}

/** Sends a response in place of JSON. */
export type Send = (req: Request, res: Response) => void;

/** One handler per operationId of the spec; a missing handler does not compile. */
type Handlers = { [Op in OperationId]: (call: Call<Op>) => Promise<Data<Op> | Send> };

export interface HandlerContext {
  config: Config;
  clock: Clock;
  disbursements: Disbursements;
  checkouts: Checkouts;
  loadPayments: LoadPayments;
  random: Random;
  /** Makes a delivery ready, and waits a while for its attempt. */
  replay(merchantId: string, id: string, actor: Actor): Promise<Delivery>;
  advanceClock: AdvanceClock;
  storage: Storage;
  ids: Ids;
}

/** The handler of each operation of the spec. */
export function createHandlers(context: HandlerContext): Handlers {
  const { config, clock, disbursements, checkouts, replay, ids, random, advanceClock, storage } = context;
  const balancesOf = async ({ id }: Merchant) => view("Balances", { items: await readBalances(context, id) });
  const clockOf = (merchant: Pick<Merchant, "clockOffset">) =>
    view("Clock", { now: sandboxTime(merchant, clock.now()) });
  return {
    createDisbursement: async ({ merchant, keyId, body, refusal }) =>
      view("DisbursementCreated", await disbursements.create(merchant, body, { keyId, refusal })),
    verifyDisbursement: async ({ merchant, path }) =>
      paymentView(existing("disbursement", await storage.findDisbursement(merchant.id, path.reference)), merchant.name),
    listDisbursements: async ({ merchant, query }) =>
      payments(merchant, await storage.listDisbursements({ ...firstPage(merchant), ...query, ...createdIn(query) })),
    async createCheckout({ merchant, keyId, body, refusal }) {
      const record = await checkouts.create(merchant, body, { keyId, refusal });
      // The base of the URL is a setting, and never a request's Host header.
      return view("CheckoutCreated", { ...record, url: `${config.publicUrl}/checkouts/${record.reference}` });
    },
    verifyCheckout: async ({ merchant, path }) =>
      paymentView(existing("checkout", await storage.findCheckout(merchant.id, path.reference)), merchant.name),
    listCheckouts: async ({ merchant, query }) =>
      payments(merchant, await storage.listCheckouts({ ...firstPage(merchant), ...query, ...createdIn(query) })),
    listBalances: async ({ merchant }) => balancesOf(merchant),
    async listStatements({ merchant, query: { format, ...query } }) {
      const period = { from: timeOf(query.from), to: timeOf(query.to) };
      const page = await storage.listStatement({ ...firstPage(merchant), ...query, ...period });
      return format === "csv" ? statementTable(page) : listView(page, (entry) => view("StatementEntry", entry));
    },

    readClock: async ({ merchant }) => clockOf(merchant),
    advanceClock: async ({ merchant, actor, body }) => clockOf(await advanceClock(merchant.id, clockMove(body), actor)),
    async resetSandbox({ merchant, actor }) {
      await storage.reset(merchant.id, actor);
      return clockOf({ clockOffset: 0 });
    },
    loadPayments: ({ merchant, actor, body }) => context.loadPayments(merchant, body, actor),
    finishDisbursement: async ({ merchant, path, body }) =>
      paymentView(await disbursements.finish(merchant, path.reference, body.status, body.failure), merchant.name),
    finishCheckout: async ({ merchant, path, body }) =>
      paymentView(await checkouts.finish(merchant, path.reference, body.outcome), merchant.name),
    listEvents: async ({ merchant, query }) =>
      listView(await storage.listEvents({ ...firstPage(merchant), ...query }), eventView),
    listDeliveries: async ({ merchant, query }) =>
      listView(await storage.listDeliveries({ ...firstPage(merchant), ...query }), deliveryView),
    replayDelivery: async ({ merchant, actor, path }) => deliveryView(await replay(merchant.id, path.id, actor)),
    readWebhookSecret: async ({ merchant }) => secretView(await storage.readSecrets(merchant.id)),
    rotateWebhookSecret: async ({ merchant, actor }) =>
      secretView(await storage.rotateSecret(merchant.id, newSecret(random), actor)),
    createMerchant: ({ merchant, actor, body }) => createTestMerchant({ ...context, actor }, merchant, body.name),
    async deleteMerchant({ merchant, actor, path: { id } }) {
      if ((await storage.findCreatorOf(id)) !== merchant.id)
        throw new ServiceError("not_found", "You have created no merchant with this id.");
      // First, so that nothing new is recorded behind the reset.
      await storage.setMerchantState(id, "closed", actor);
      await storage.reset(id, actor);
      return { id };
    },
    readChaos: async ({ merchant }) => ({ ...NO_CHAOS, ...merchant.chaos }),
    async setBalance({ merchant, actor, body }) {
      await storage.setBalance(merchant.id, ids.record(clock.now()), body, actor);
      return balancesOf(merchant);
    },
    async setChaos({ merchant, actor, body }) {
      const chaos = { ...NO_CHAOS, ...body };
      await storage.setChaos(merchant.id, chaosOf(chaos), actor);
      return chaos;
    },
  };
}

/** The contract requires exactly one of the two fields. */
function clockMove({ seconds, to }: components["schemas"]["ClockAdvance"]): ClockMove {
  return to === undefined ? { by: seconds! * 1_000 } : { to: Date.parse(to) };
}

const timeOf = (timestamp: string | undefined) => (timestamp === undefined ? undefined : Date.parse(timestamp));

const createdIn = ({ createdAfter, createdBefore }: { createdAfter?: string; createdBefore?: string }) => ({
  createdAfter: timeOf(createdAfter),
  createdBefore: timeOf(createdBefore),
});

/** What is listed if the query says nothing else. */
const firstPage = ({ id: merchantId }: Merchant) => ({ merchantId, limit: DEFAULT_LIMIT });

/** A page of payments as verify shows them. */
const payments = <T extends Payment>({ name }: Merchant, page: Page<T>) =>
  listView(page, (payment) => paymentView(payment, name));

const STATEMENT_COLUMNS = ["createdAt", "kind", "reference", "currency", "amount", "balance"] as const;

/** Sends a page of a statement as a table. */
const statementTable =
  ({ items, cursor }: Page<StatementEntry>): Send =>
  ({ originalUrl }, res) => {
    if (cursor !== undefined) {
      const next = new URL(originalUrl, "http://service");
      next.searchParams.set("cursor", cursor);
      res.set("Link", `<${next.pathname}${next.search}>; rel="next"`);
    }
    const entries = items.map((item) => view("StatementEntry", item));
    const lines = entries.map((entry) => STATEMENT_COLUMNS.map((column) => entry[column]));
    res.type("text/csv").send([STATEMENT_COLUMNS, ...lines].map(csvLine).join(""));
  };
