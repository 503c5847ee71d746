import { Router, type Request, type Response } from "express";
import { UNDECIDED, type Decided } from "../../domain/approvals.ts";
import { checkedReason } from "../../domain/attention.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import { stateOf } from "../request-state.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { showPage } from "./show-page.ts";
import { actorIn, field, PageError, requireOperator, rootOf } from "./visit.ts";
import { wordsIn, type English } from "./words.ts";

const ON_A_PAGE = 100;

const ACTIONS = {
  approve: {
    done: ["{count} payout approved.", "{count} payouts approved."],
    effects: ["Each payout goes its way now, and a live service gives it to its rail. This cannot be taken back."],
  },
  reject: {
    done: ["{count} payout rejected.", "{count} payouts rejected."],
    effects: [
      "Each payout fails with the code not_approved. Amount and fee go back to the balance.",
      "The merchant's program gets the webhook. This cannot be taken back.",
    ],
  },
} as const satisfies Record<string, { done: readonly [English, English]; effects: readonly English[] }>;
type Action = keyof typeof ACTIONS;

/** The value of a payout's field in the forms. */
const idOf = ({ merchantId, reference }: Disbursement) => `${merchantId}/${reference}`;

/** The sum of the payouts in each currency. */
function totalsOf(payouts: readonly Pick<Disbursement, "currency" | "amount">[]) {
  const groups = [...Map.groupBy(payouts, ({ currency }) => currency)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return groups.map(([currency, each]) => {
    const amount = each.reduce((sum, payout) => sum + BigInt(payout.amount), 0n);
    return { currency, count: each.length, amount };
  });
}

/** Payouts that wait for approval (D93): of a merchant or, for operators, of all. */
export function approvalPages(context: DashboardContext): Router {
  const { config, storage } = context;
  const router = Router({ caseSensitive: true, strict: true });
  const page = { title: "Approvals", section: "approvals" } as const;

  const listAddress = (res: Response) => {
    const { merchant } = stateOf(res);
    return `${rootOf(config.publicUrl)}${merchant ? `/m/${merchant.id}` : ""}/approvals`;
  };

  async function showList(res: Response, results: readonly string[] = []) {
    const payouts = await storage.listWaiting({ merchantId: stateOf(res).merchant?.id, limit: ON_A_PAGE });
    const ids = [...new Set(payouts.map(({ merchantId }) => merchantId))];
    const merchants = await Promise.all(ids.map((id) => storage.findMerchant(id)));
    const data = {
      payouts: payouts.map((payout) => ({
        ...payout,
        id: idOf(payout),
        of: merchants.find((merchant) => merchant?.id === payout.merchantId)?.name,
      })),
      totals: totalsOf(payouts),
      address: listAddress(res),
      isWhole: payouts.length < ON_A_PAGE,
      results,
    };
    showPage(context, res, { template: "approvals", ...page }, data);
  }

  async function showConfirmation(req: Request, res: Response) {
    const action = actionIn(field(req.query, "action"));
    const found = await Promise.all(chosenIn(req.query, res).map((ids) => storage.findDisbursement(...ids)));
    const payouts = found.flatMap((payout) => (payout?.approval && payout.status === "pending" ? [payout] : []));
    if (payouts.length === 0) throw new PageError(422, "Choose payouts that wait for approval.");
    const data = {
      action,
      ...ACTIONS[action],
      ids: payouts.map(idOf),
      payouts,
      totals: totalsOf(payouts),
      address: listAddress(res),
    };
    const query = `?${new URLSearchParams([["action", action], ...data.ids.map((id) => ["payment", id])])}`;
    showPage(context, res, { template: "approval", ...page, query }, data);
  }

  async function decide(req: Request, res: Response) {
    const action = actionIn(String(req.params.action));
    const rejection = action === "reject" ? checkedReason(field(req.body, "reason")) : undefined;
    const results = new Map<Decided, number>();
    for (const [merchantId, reference] of chosenIn(req.body, res)) {
      const result = await storage.decideApproval(merchantId, reference, actorIn(res), rejection);
      results.set(result, (results.get(result) ?? 0) + 1);
    }
    await showDecided(res, action, results);
  }

  async function showDecided(res: Response, action: Action, results: ReadonlyMap<Decided, number>) {
    const { plural, said } = wordsIn(res);
    const lines = [...results].map(([result, count]) => {
      const [one, other] = ACTIONS[action].done;
      if (result === "decided") return plural(count, one, other);
      return plural(count, "{count} payout not: {why}", "{count} payouts not: {why}", { why: said(UNDECIDED[result]) });
    });
    return showList(res, lines);
  }

  for (const path of ["/dashboard/approvals", "/dashboard/m/:merchant/approvals"]) {
    if (path === "/dashboard/approvals") router.use(path, requireOperator);
    router.get(path, (_req, res) => showList(res));
    router.get(`${path}/confirm`, showConfirmation);
    router.post(`${path}/:action`, decide);
  }
  return router;
}

function actionIn(text: string): Action {
  if (Object.hasOwn(ACTIONS, text)) return text as Action;
  throw new PageError(422, "Choose whether to approve or to reject.");
}

/**
 * The payouts that a person has ticked: merchant and reference. A merchant's person can tick only payouts of the
 * merchant.
 */
function chosenIn(form: unknown, res: Response): [merchantId: string, reference: string][] {
  const value = (form as { payment?: unknown } | undefined)?.payment;
  const ids = new Set(Array.isArray(value) ? value : [value]);
  const { merchant } = stateOf(res);
  return [...ids].slice(0, ON_A_PAGE).flatMap((id): [string, string][] => {
    const [, merchantId, reference] = /^([\w-]+)\/(\w+)$/.exec(String(id)) ?? [];
    const isHere = merchantId !== undefined && (merchant === undefined || merchant.id === merchantId);
    return isHere ? [[merchantId, reference!]] : [];
  });
}
