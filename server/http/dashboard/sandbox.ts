import { Router, type Response } from "express";
import type { AuditEntry } from "../../domain/audit.ts";
import { ConnectionDropped, ServiceError } from "../../domain/errors.ts";
import { FORCED_OUTCOMES, type ForcedOutcome } from "../../domain/outcomes.ts";
import { sandboxTime } from "../../domain/time.ts";
import { parsePhoneNumber } from "../pages/phone-number.ts";
import type { DashboardContext } from "./context.ts";
import { showPage } from "./render.ts";
import { actorIn, field, merchantIn, PageError, rootOf, seeOther } from "./visit.ts";

/** Where test payments take place. */
const PLACE = { country: "CI", currency: "XOF" } as const;
const UNITS_MS = { minutes: 60_000, hours: 3_600_000, days: 86_400_000 };
/** Responses that the sandbox holds back would hold back the page, too. */
const isHeld = (number: string) => FORCED_OUTCOMES[number.slice(-3)]?.response === "held";

/** Trying things out in the sandbox: test payments beside the table of outcomes, the clock, and the reset. */
export function sandboxPages(context: DashboardContext): Router {
  const { config, clock, storage, disbursements, checkouts, merchantClock } = context;
  const router = Router({ caseSensitive: true, strict: true });
  const path = "/dashboard/m/:merchant/sandbox";
  const area = (res: Response) => `${rootOf(config.publicUrl)}/m/${merchantIn(res).id}`;

  async function record(res: Response, action: AuditEntry["action"], details: Record<string, string> = {}) {
    await storage.recordAction({ actor: actorIn(res), action, merchantId: merchantIn(res).id, details });
  }

  router.get(path, (_req, res) => {
    const now = sandboxTime(merchantIn(res), clock.now());
    const data = { outcomes: outcomeTable(config.settleDelayMs), now, units: Object.keys(UNITS_MS) };
    showPage(context, res, { template: "sandbox", title: "Sandbox", section: "sandbox" }, data);
  });
  router.post(`${path}/disbursements`, async (req, res) => {
    const phoneNumber = phoneIn(field(req.body, "phoneNumber"));
    const amount = amountIn(field(req.body, "amount"));
    const reference = `test-${context.ids.record(clock.now())}`;
    await record(res, "sandbox.create", { disbursement: reference });
    try {
      await disbursements.create(merchantIn(res), { reference, amount, phoneNumber, ...PLACE });
    } catch (error) {
      // The program that sent this request would get no response; the payment exists.
      if (!(error instanceof ConnectionDropped)) throw error;
    }
    seeOther(res, `${area(res)}/disbursements?search=${reference}`);
  });
  router.post(`${path}/checkouts`, async (req, res) => {
    const amount = amountIn(field(req.body, "amount"));
    const reference = `test-${context.ids.record(clock.now())}`;
    await record(res, "sandbox.create", { checkout: reference });
    const created = await checkouts.create(merchantIn(res), { reference, amount, ...PLACE });
    seeOther(res, `${area(res)}/checkouts/${created.reference}`);
  });
  router.post(`${path}/advance`, async (req, res) => {
    const unit = field(req.body, "unit") as keyof typeof UNITS_MS;
    const count = Number(field(req.body, "amount"));
    if (!Object.hasOwn(UNITS_MS, unit) || !Number.isInteger(count) || count < 1 || count > 1_000) {
      throw new PageError(422, "Move the clock by 1 to 1,000 minutes, hours or days.");
    }
    await record(res, "sandbox.advance", { by: `${count} ${unit}` });
    await merchantClock.advance(merchantIn(res).id, { by: count * UNITS_MS[unit] });
    seeOther(res, `${area(res)}/sandbox`);
  });
  router.post(`${path}/reset`, async (_req, res) => {
    await record(res, "sandbox.reset");
    await merchantClock.reset(merchantIn(res).id);
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
function outcomeTable(settleDelayMs: number): { digits: string; text: string }[] {
  const later = `after ${settleDelayMs / 1_000} s`;
  const describe = ({ refuse, status, at, response }: ForcedOutcome) => {
    if (refuse === "always") return "is refused with 500";
    if (refuse === "at-first") return "is refused with 503 at first";
    const result =
      status === undefined ? "stays pending" : `becomes ${status} ${at === "once" ? "immediately" : later}`;
    return response === "sent" ? result : `${result}; the response is ${response === "held" ? "late" : "lost"}`;
  };
  const sorted = Object.entries(FORCED_OUTCOMES).toSorted(([a], [b]) => a.localeCompare(b));
  const forced = sorted.map(([digits, outcome]) => ({ digits, text: describe(outcome) }));
  return [...forced, { digits: "any other", text: `becomes success ${later}` }];
}
