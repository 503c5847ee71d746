import { Router, type Request, type Response } from "express";
import { ATTENTION_AFTER_MINUTES } from "../../domain/attention.ts";
import type { FailingReceiver, PaymentKind, PendingFigure } from "../../domain/figures.ts";
import { DAY_MS, MOST_AHEAD_MS, sandboxTime } from "../../domain/time.ts";
import { stateOf } from "../request-state.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { CHART, isoDay, summaryOf } from "./overview-figures.ts";
import { dayOf, queryOf } from "./payment-filter.ts";
import { showPage } from "./show-page.ts";
import { field, PageError, requireOperator } from "./visit.ts";
import { wordsIn } from "./words.ts";

/** The periods, in days. */
const RANGES = { day: 1, week: 7, quarter: 90 } as const;
const LONGEST = RANGES.quarter;
const KINDS = { payouts: "disbursement", checkouts: "checkout" } as const satisfies Record<string, PaymentKind>;
/** The number of receivers that the page names. */
const RECEIVERS_SHOWN = 10;

/** Figures of a merchant's payments, and of all merchants' payments, with what needs a person. */
export function overviewPages(context: DashboardContext): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get("/dashboard/overview", requireOperator, (req, res) => show(context, req, res));
  router.get("/dashboard/m/:merchant/overview", (req, res) => show(context, req, res));
  return router;
}

/** @throws PageError if a parameter is not one that a link sends */
function chosen(query: unknown, today: number) {
  const [range, of, until] = [field(query, "range") || "week", field(query, "of") || "payouts", field(query, "until")];
  if (!Object.hasOwn(RANGES, range) || !Object.hasOwn(KINDS, of))
    throw new PageError(422, "There is no such overview.");
  const to = until === "" ? today : Math.min(today, dayOf(until) / DAY_MS);
  const length = RANGES[range as keyof typeof RANGES];
  return {
    range,
    of: of as keyof typeof KINDS,
    kind: KINDS[of as keyof typeof KINDS],
    length,
    from: to - length + 1,
    to,
  };
}

async function show(context: DashboardContext, req: Request, res: Response): Promise<void> {
  const { storage, clock } = context;
  const { merchant } = stateOf(res);
  const today = Math.floor((merchant ? sandboxTime(merchant, clock.now()) : clock.now()) / DAY_MS);
  const { range, of, kind, length, from, to } = chosen(req.query, today);
  const merchantId = merchant?.id;
  const pendingFrom = Math.min(from, today - LONGEST + 1);
  const [figures, pending, attention] = await Promise.all([
    // The figures include the period before, for comparison.
    storage.readFigures({ merchantId, from: from - length, to }),
    // Other merchants' sandbox clocks may be ahead.
    storage.readPending({ merchantId, from: pendingFrom, to: today + MOST_AHEAD_MS / DAY_MS }),
    attentionOf(context, merchantId),
  ]);
  const late = latePayouts(pending, clock.now() - attention.minutes * 60_000, merchant?.clockOffset);
  const linkTo = (changes: { range?: string; of?: string; until?: number | undefined }) => {
    const { until = to, ...others } = { range, of, until: to, ...changes };
    return `?${new URLSearchParams({ ...others, ...(until < today && { until: isoDay(until) }) })}`;
  };
  const words = wordsIn(res);
  const data = {
    kind: of,
    ranges: Object.keys(RANGES).map((name) => ({ name, href: linkTo({ range: name }), current: name === range })),
    kinds: Object.keys(KINDS).map((name) => ({ name, href: linkTo({ of: name }), current: name === of })),
    earlier: linkTo({ until: from - 1 }),
    later: to < today ? linkTo({ until: Math.min(today, to + length) }) : undefined,
    first: words.day(isoDay(from)),
    last: words.day(isoDay(to)),
    isOneDay: length === 1,
    chart: CHART,
    summary: summaryOf(kind, { from, to }, figures, pending, words),
    ...attention,
    late,
    lateOf: merchant ?? (late && (await storage.findMerchant(late.oldestOf))),
    paymentsLink:
      merchant &&
      ((status: string, day?: string) => linkToPayments(of, status, day ?? isoDay(from), day ?? isoDay(to))),
  };
  showPage(context, res, { template: "overview", title: "Overview", section: "overview", query: linkTo({}) }, data);
}

const linkToPayments = (of: keyof typeof KINDS, status: string, from: string, to: string) =>
  `${of === "payouts" ? "disbursements" : "checkouts"}${queryOf({ status, from, to })}`;

/** The oldest of the payouts that are pending for too long, in the merchant's time. A checkout waits for its payer. */
function latePayouts(pending: readonly PendingFigure[], before: number, offset = 0) {
  const [oldest] = pending
    .filter(({ kind, oldestAt }) => kind === "disbursement" && oldestAt <= before)
    .toSorted((a, b) => a.oldestAt - b.oldestAt);
  return oldest && { oldestAt: offset + oldest.oldestAt, oldestOf: oldest.oldestOf };
}

/** What a person should look at. */
async function attentionOf({ storage, config, clock }: DashboardContext, merchantId: string | undefined) {
  const minutes = config.rails?.attentionAfterMinutes ?? ATTENTION_AFTER_MINUTES;
  const unknownBefore = clock.now() - minutes * 60_000;
  const which = merchantId === undefined ? {} : { merchantId };
  const [receivers, waiting, unclear, pauses] = await Promise.all([
    storage.listFailingReceivers({ merchantId, limit: RECEIVERS_SHOWN + 1 }),
    storage.listWaiting({ merchantId, limit: 1 }),
    config.sandbox ? [] : storage.listAttention({ ...which, unknownBefore, limit: 1 }),
    config.sandbox || merchantId !== undefined ? [] : storage.readPauses(),
  ]);
  return {
    minutes,
    receivers: await withMerchants(storage, receivers.slice(0, RECEIVERS_SHOWN)),
    moreReceivers: receivers.length > RECEIVERS_SHOWN,
    approvals: waiting.length > 0,
    unclear: unclear.length > 0,
    pauses,
  };
}

async function withMerchants(storage: DashboardContext["storage"], receivers: readonly FailingReceiver[]) {
  const ids = [...new Set(receivers.map(({ merchantId }) => merchantId))];
  const found = new Map(await Promise.all(ids.map(async (id) => [id, await storage.findMerchant(id)] as const)));
  return receivers.map((receiver) => ({
    ...receiver,
    name: found.get(receiver.merchantId)?.name ?? receiver.merchantId,
  }));
}
