import { Router, type Response } from "express";
import { ATTENTION_AFTER_MINUTES, checkedReason, decide, describeConflict } from "../../domain/attention.ts";
import type { Handover, StoredExchange } from "../../domain/handovers.ts";
import type { Merchant } from "../../domain/merchants.ts";
import { stateOf } from "../request-state.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { showPage } from "./show-page.ts";
import { alike, type Moment } from "./timeline.ts";
import { actorIn, field, merchantIn, PageError, requireOperator, rootOf, seeOther, visitOf } from "./visit.ts";
import { wordsIn, type English, type Words } from "./words.ts";

const ON_A_PAGE = 100;

/**
 * Payments that need a person: their outcome is unknown for too long, or their rail contradicts a final status (D74). An
 * operator asks the rail again, ends a payment by hand, or closes a conflict. The forms are on the payment's own page.
 */
export function attentionPages(context: DashboardContext): Router {
  const { config, storage } = context;
  const router = Router({ caseSensitive: true, strict: true });
  const root = rootOf(config.publicUrl);

  router.get("/dashboard/attention", (_req, res) => {
    const { merchantId } = visitOf(res).session;
    return merchantId === undefined ? showList(context, res) : seeOther(res, `${root}/m/${merchantId}/attention`);
  });
  router.get("/dashboard/m/:merchant/attention", (_req, res) => showList(context, res));

  /** Acts on a payment of the merchant in the path, then shows the payment. */
  function act(action: string, work: (found: Handover, form: unknown, res: Response) => Promise<unknown>) {
    const path = `/dashboard/m/:merchant/payments/:reference/${action}`;
    router.post(path, requireOperator, async (req, res) => {
      const found = await storage.findHandover(String(req.params.reference));
      const { id } = merchantIn(res);
      if (found?.merchantId !== id) throw new PageError(404, "There is no payment with this reference.");
      await work(found, req.body, res);
      seeOther(res, `${root}/m/${id}/${listOf(found)}/${found.payment.reference}`);
    });
  }
  act("ask", async ({ payment }, _form, res) => {
    if (await storage.askRailAgain(payment.reference, actorIn(res))) return;
    throw new PageError(409, "The payment has ended already, so the rail is not asked.");
  });
  act("decide", async ({ payment }, form, res) => {
    const status = field(form, "status");
    if (status !== "success" && status !== "failed") throw new PageError(422, "Choose how the payment has ended.");
    const decision = { status, reason: field(form, "reason") } as const;
    const result = await decide(context, payment.reference, decision, actorIn(res));
    if (result === "in-progress")
      throw new PageError(409, "The rail is being asked at this moment. Try again in a minute.");
    if (result === "not-pending") throw new PageError(409, "The payment has ended already.");
  });
  act("close", async ({ payment }, form, res) => {
    const reason = checkedReason(field(form, "reason"));
    if (await storage.closeConflict(payment.reference, reason, actorIn(res))) return;
    throw new PageError(409, "Nothing is left to close. Another person may have closed the conflict.");
  });
  return router;
}

const listOf = ({ payment }: Handover) => (payment.kind === "checkout" ? "checkouts" : "disbursements");

async function showList(context: DashboardContext, res: Response): Promise<void> {
  const { config, storage, clock } = context;
  const { merchant } = stateOf(res);
  const minutes = config.rails?.attentionAfterMinutes ?? ATTENTION_AFTER_MINUTES;
  const found = await storage.listAttention({
    ...(merchant && { merchantId: merchant.id }),
    unknownBefore: clock.now() - minutes * 60_000,
    limit: ON_A_PAGE,
  });
  const merchants = merchant ? [merchant] : await merchantsOf(context, found);
  const words = wordsIn(res);
  const data = {
    payments: found.map((each) => ({
      ...each,
      list: listOf(each),
      since: each.conflict?.at ?? each.unknownSince,
      conflictText: conflictText(each, words),
      unknownText: each.state === "accepted" ? words.t("It is not known how it stands at the rail.") : words.t(UNKNOWN),
      of: merchants.find(({ id }) => id === each.merchantId),
    })),
    minutes,
    isWhole: found.length < ON_A_PAGE,
  };
  showPage(context, res, { template: "attention", title: "Needs attention", section: "attention" }, data);
}

async function merchantsOf({ storage }: DashboardContext, found: readonly Handover[]): Promise<Merchant[]> {
  const ids = [...new Set(found.map(({ merchantId }) => merchantId))];
  return (await Promise.all(ids.map((id) => storage.findMerchant(id)))).filter((each) => each !== undefined);
}

function conflictText(handover: Handover, words: Words): string | undefined {
  const { amount, currency } = handover.payment;
  return handover.conflict && words.said(describeConflict(handover, words.amount(amount, currency)));
}

const UNKNOWN = "It is not known whether the rail has it." satisfies English;
const STATES = {
  waiting: "Not yet given to the rail",
  accepted: "The rail has it, and has not ended it",
  closed: "Ended",
} as const satisfies Record<Handover["state"], English>;

/** A payment's way over its rail, for its own page. Undefined for a payment from before the service had rails. */
export async function railOf({ config, storage }: DashboardContext, reference: string, res: Response) {
  const found = await storage.findHandover(reference);
  if (!found) return undefined;
  const isOperator = visitOf(res).session.merchantId === undefined;
  const words = wordsIn(res);
  const pauses = await storage.readPauses();
  return {
    ...found,
    stateText: found.state === "waiting" && found.unknownSince !== undefined ? UNKNOWN : STATES[found.state],
    pausedAt: found.state === "closed" ? undefined : pauses.find(({ rail }) => rail === found.rail)?.at,
    conflictText: conflictText(found, words),
    moments: alike(await storage.listExchanges(reference), ({ action, result, detail = "" }) =>
      [action, result, detail].join(" "),
    ).map((run) => momentOf(run, words)),
    isOperator,
    needsTwo: !config.oneOperatorDecides,
  };
}

const ACTIONS = {
  pay: "Sent the payout to the rail",
  collect: "Opened the checkout at the rail",
  find: "Looked the payment up at the rail",
  notification: "The rail sent a notification",
  decision: "Decided by hand",
} as const satisfies Record<StoredExchange["action"], English>;
const RESULTS = {
  pending: ["the rail has it", ""],
  success: ["paid", "good"],
  failed: ["not paid", "bad"],
  cancelled: ["not paid", "bad"],
  missing: ["the rail does not have it", ""],
  unknown: ["no result is known", "bad"],
  "not-sent": ["the rail did not take it", "bad"],
} as const satisfies Record<StoredExchange["result"], readonly [English, Moment["tone"]]>;

/** @param run equal exchanges in a row, of which the last stands for all */
function momentOf(run: readonly StoredExchange[], { t, time }: Words): Moment {
  const { at, action, result, latencyMs, detail = "" } = run.at(-1)!;
  const [become, tone] = RESULTS[result];
  const isCall = action === "pay" || action === "collect" || action === "find";
  const values = { action: t(ACTIONS[action]), result: t(become), latencyMs, count: run.length };
  if (run.length > 1) {
    const since = t("Since {since} UTC. The last is shown.", { since: time(run[0]!.at) });
    return { at, tone, text: t("{action}, {count} times: {result}", values), note: `${since} ${detail}` };
  }
  const text = isCall ? t("{action}: {result} after {latencyMs} ms", values) : t("{action}: {result}", values);
  return { at, tone, text, ...(detail !== "" && { note: detail }) };
}
