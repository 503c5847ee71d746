import { Router } from "express";
import { createMerchant, renameMerchant, type Merchant } from "../../domain/merchants.ts";
import { parseTerms, TERMS, termTexts, type Terms } from "../../domain/terms.ts";
import { parsePhoneNumber } from "../pages/phone-number.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { LIMIT_FORM, limitsIn } from "./limits-form.ts";
import { showPage } from "./show-page.ts";
import { queryOf } from "./payment-filter.ts";
import { actorIn, field, merchantFinder, PageError, requireOperator, rootOf, seeOther, visitOf } from "./visit.ts";
import type { English } from "./words.ts";

/** What the form with the terms needs. */
const TERM_LABELS: Record<keyof Terms, English> = {
  disbursementFee: "Fee of a payout",
  checkoutFee: "Fee of a checkout",
  rateLimit: "Requests per second",
};
const TERM_FORM = {
  termTexts,
  termFields: Object.entries(TERM_LABELS).map(([name, label]) => ({ name, label, ...TERMS[name as keyof Terms] })),
};

/** What an operator can do with a merchant, after a page that says what will happen. */
interface MerchantAction {
  state: Merchant["state"];
  title: English;
  question: English;
  button: English;
  effects: English[];
}
const ACTIONS: Record<string, MerchantAction> = {
  suspend: {
    state: "suspended",
    title: "Suspend",
    question: "Suspend <bdi>{name}</bdi>?",
    button: "Suspend {name}",
    effects: [
      "The merchant can create no payouts and no checkouts: its programs get 403 with merchant_suspended.",
      "Payments that exist go on, with their webhooks, and can be read.",
      "You can reopen the merchant at any time.",
    ],
  },
  reopen: {
    state: undefined,
    title: "Reopen",
    question: "Reopen <bdi>{name}</bdi>?",
    button: "Reopen {name}",
    effects: ["The merchant can create payouts and checkouts again."],
  },
  close: {
    state: "closed",
    title: "Close",
    question: "Close <bdi>{name}</bdi>?",
    button: "Close {name}",
    effects: [
      "The merchant can create no payouts and no checkouts, for good. A closed merchant cannot be reopened.",
      "All its API keys are revoked, for good.",
      "Its people are signed out, and their unused links end.",
      "Payments that exist go on, with their webhooks. You can still see them.",
    ],
  },
};

/** The most payouts, and the most checkouts, that a search shows. */
const MOST_FOUND = 25;
const looksLike = (name: string, part: string) => name.toLowerCase().includes(part.toLowerCase());

/** The first page: for an operator the list of merchants, for a merchant the payments. */
export function merchantPages(context: DashboardContext): Router {
  const { config, storage } = context;
  const router = Router({ caseSensitive: true, strict: true });
  const root = rootOf(config.publicUrl);

  router.get("/dashboard", async (req, res) => {
    const { merchantId } = visitOf(res).session;
    if (merchantId !== undefined) return seeOther(res, `${root}/m/${merchantId}/disbursements`);
    const page = { template: "merchants", title: "Merchants", section: "merchants" } as const;
    const search = field(req.query, "search");
    const merchants = await storage.listMerchants();
    const number = parsePhoneNumber(search);
    const query = { text: search, phoneNumber: "digits" in number ? number.digits : undefined, limit: MOST_FOUND };
    const found = search === "" ? [] : await storage.searchPayments(query);
    const names = new Map(merchants.map(({ id, name }) => [id, name]));
    showPage(
      context,
      res,
      { ...page, query: queryOf({ search }) },
      {
        search,
        merchants: merchants
          .filter(({ id, name }) => id === search || looksLike(name, search))
          .toSorted((a, b) => a.name.localeCompare(b.name)),
        payments: found.map((payment) => ({
          ...payment,
          of: names.get(payment.merchantId),
          kind: "locale" in payment ? "checkouts" : "disbursements",
        })),
      },
    );
  });
  router.post("/dashboard/merchants", requireOperator, async (req, res) => {
    const { id } = await createMerchant({ ...context, actor: actorIn(res) }, field(req.body, "name"));
    seeOther(res, `${root}/m/${id}/settings`);
  });

  const path = "/dashboard/merchants/:merchant";
  const find = merchantFinder(storage);
  router.use(path, requireOperator);
  router.get(path, async (req, res) => {
    const page = { template: "merchant", title: "Manage a merchant", section: "merchants" } as const;
    showPage(context, res, page, { managed: await find(req), ...LIMIT_FORM, ...TERM_FORM });
  });
  router.post(`${path}/limits`, async (req, res) => {
    const { id } = await find(req);
    await storage.setMerchantLimits(id, limitsIn(req.body), actorIn(res));
    seeOther(res, `${root}/merchants/${id}`);
  });
  router.post(`${path}/terms`, async (req, res) => {
    const { id } = await find(req);
    const texts = Object.keys(TERMS).map((name) => [name, field(req.body, name)]);
    await storage.setMerchantTerms(id, parseTerms(Object.fromEntries(texts)), actorIn(res));
    seeOther(res, `${root}/merchants/${id}`);
  });
  router.post(`${path}/rename`, async (req, res) => {
    const managed = await find(req);
    await renameMerchant({ ...context, actor: actorIn(res) }, managed, field(req.body, "name"));
    seeOther(res, `${root}/merchants/${managed.id}`);
  });
  for (const [action, { state, title, ...shown }] of Object.entries(ACTIONS)) {
    router.get(`${path}/${action}`, async (req, res) => {
      const page = { template: "merchant-action", title, section: "merchants" } as const;
      showPage(context, res, page, { managed: await find(req), action, ...shown });
    });
    router.post(`${path}/${action}`, async (req, res) => {
      const { id } = await find(req);
      const isDone = await storage.setMerchantState(id, state, actorIn(res));
      if (!isDone) throw new PageError(409, "The merchant is closed for good.");
      seeOther(res, `${root}/merchants/${id}`);
    });
  }
  return router;
}
