import { Router, type Response } from "express";
import { actorName, type AuditEntry } from "../../domain/audit.ts";
import { NO_CHAOS } from "../../domain/chaos.ts";
import { requireActive, setChaos, type Merchant } from "../../domain/merchants.ts";
import { ConnectionDropped, ServiceError } from "../../domain/errors.ts";
import { FORCED_OUTCOMES, type ForcedOutcome } from "../../domain/outcomes.ts";
import { sandboxTime } from "../../domain/time.ts";
import { parsePhoneNumber } from "../pages/phone-number.ts";
import { CHAOS_FIELDS, chaosIn } from "./chaos-form.ts";
import { clockChoice, SHOWN, storyOf, storySince, timeIn, type ClockChoice, type Story } from "./clock.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { showPage } from "./show-page.ts";
import { OUTCOMES } from "./timeline.ts";
import { actorIn, field, merchantIn, PageError, rootOf, seeOther } from "./visit.ts";
import { wordsIn, type Words } from "./words.ts";

/** The country and currency of test payments. */
const PLACE = { country: "CI", currency: "XOF" } as const;
/** The first digits of the numbers that the form suggests. The last three decide the outcome. */
const TEST_NUMBER = "2250700000";
/** True if the sandbox delays the response for this number: the delay would hold up the page too. */
const isHeld = (number: string) => FORCED_OUTCOMES[number.slice(-3)]?.response === "held";

/** The pages of the sandbox: test payments the table of outcomes, the clock, chaos, and the reset. */
export function sandboxPages(context: DashboardContext): Router {
  const { config, clock, storage, disbursements, checkouts, merchantClock } = context;
  const router = Router({ caseSensitive: true, strict: true });
  const path = "/dashboard/m/:merchant/sandbox";
  const area = (res: Response) => `${rootOf(config.publicUrl)}/m/${merchantIn(res).id}`;

  async function record(res: Response, action: AuditEntry["action"], details: Record<string, string>) {
    await storage.recordAction({ actor: actorIn(res), action, merchantId: merchantIn(res).id, details });
  }

  /** @param moved what happened during the move, if the clock has just been moved */
  async function show(res: Response, merchant: Merchant, choice: ClockChoice, moved?: Story) {
    const now = sandboxTime(merchant, clock.now());
    const to = now + choice.byMs;
    const words = wordsIn(res);
    const next = storyOf(await storage.listUpcoming(merchant.id, to, SHOWN), words);
    const data = {
      outcomes: outcomeTable(config.settleDelayMs, words),
      settings: merchant.chaos ?? NO_CHAOS,
      fields: CHAOS_FIELDS,
      now,
      to,
      choice,
      next,
      moved,
    };
    showPage(context, res, { template: "sandbox", title: "Sandbox", section: "sandbox" }, data);
  }

  router.get(path, (req, res) => show(res, merchantIn(res), clockChoice(req.query)));
  // This check comes before the entry in the audit trail, which comes before the payment.
  router.post([`${path}/disbursements`, `${path}/checkouts`], (_req, res, next) => {
    requireActive(merchantIn(res));
    next();
  });
  router.post(`${path}/disbursements`, async (req, res) => {
    const phoneNumber = phoneIn(field(req.body, "phoneNumber"));
    const amount = amountIn(field(req.body, "amount"));
    const reference = `test-${context.ids.record(clock.now())}`;
    try {
      const origin = { madeBy: actorName(actorIn(res)) };
      await disbursements.create(merchantIn(res), { reference, amount, phoneNumber, ...PLACE }, origin);
    } catch (error) {
      // A program that sent this request would get no response, but the payment exists.
      if (!(error instanceof ConnectionDropped)) throw error;
    }
    await record(res, "sandbox.create", { disbursement: reference });
    const created = await storage.findDisbursementByMerchantsReference(merchantIn(res).id, reference);
    seeOther(res, `${area(res)}/disbursements/${created!.reference}`);
  });
  router.post(`${path}/checkouts`, async (req, res) => {
    const amount = amountIn(field(req.body, "amount"));
    const reference = `test-${context.ids.record(clock.now())}`;
    const created = await checkouts.create(merchantIn(res), { reference, amount, ...PLACE });
    await record(res, "sandbox.create", { checkout: reference });
    seeOther(res, `${area(res)}/checkouts/${created.reference}`);
  });
  router.post(`${path}/advance`, async (req, res) => {
    const to = timeIn(field(req.body, "to"));
    const merchant = merchantIn(res);
    const from = sandboxTime(merchant, clock.now());
    const { items } = await storage.listUpcoming(merchant.id, to, SHOWN);
    // The form has a target time and not a duration, so that loading the page again does not move the clock again.
    const moved = await merchantClock.advance(merchant.id, { to }, actorIn(res));
    await show(res, moved, clockChoice(undefined), await storySince(storage, wordsIn(res), merchant.id, from, items));
  });
  router.post(`${path}/chaos`, async (req, res) => {
    await setChaos(storage, merchantIn(res), chaosIn(req.body), actorIn(res));
    seeOther(res, `${area(res)}/sandbox#chaos`);
  });
  router.post(`${path}/reset`, async (_req, res) => {
    await merchantClock.reset(merchantIn(res).id, actorIn(res));
    seeOther(res, `${area(res)}/sandbox`);
  });
  return router;
}

function phoneIn(typed: string): string {
  const number = parsePhoneNumber(typed);
  if ("fault" in number)
    throw new PageError(422, "A phone number has 10 to 15 digits and begins with the country code.");
  if (isHeld(number.digits)) {
    throw new PageError(422, "The sandbox holds back the response to this number. Try it from a program.");
  }
  return number.digits;
}

/** @throws ServiceError unless it is an amount of the interface, in the lowest denomination */
function amountIn(typed: string): number {
  const amount = Number(typed);
  if (/^\d+$/.test(typed) && Number.isSafeInteger(amount) && amount > 0) return amount;
  throw new ServiceError("invalid_value", "An amount is a whole number in the lowest denomination: 10000 is 100.00.");
}

/** What a payout to a number with each ending does, in words. */
function outcomeTable(settleDelayMs: number, { t }: Words): { digits: string; text: string; number?: string }[] {
  const seconds = settleDelayMs / 1_000;
  const describe = ({ refuse, status, failure, at, response }: ForcedOutcome) => {
    if (refuse === "always") return t("is refused with 500");
    if (refuse === "at-first") return t("is refused with 503 at first");
    const result =
      status === undefined
        ? t("stays pending")
        : t(at === "once" ? "{outcome} immediately" : "{outcome} after {seconds} s", {
            outcome: t(OUTCOMES[status].within),
            seconds,
          });
    if (failure) return t("{label}: {value}", { label: result, value: failure });
    if (response === "sent") return result;
    return response === "held"
      ? t("{result}; the response is late", { result })
      : t("{result}; the response is lost", { result });
  };
  const sorted = Object.entries(FORCED_OUTCOMES).toSorted(([a], [b]) => a.localeCompare(b));
  const forced = sorted.map(([digits, outcome]) => ({ digits, text: describe(outcome), number: TEST_NUMBER + digits }));
  return [
    ...forced,
    { digits: t("any other"), text: t("{outcome} after {seconds} s", { outcome: t("succeeds"), seconds }) },
  ];
}
