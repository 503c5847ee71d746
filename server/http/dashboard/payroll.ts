import express, { Router, type RequestHandler, type Response } from "express";
import { actorName } from "../../domain/audit.ts";
import { ConnectionDropped, ServiceError } from "../../domain/errors.ts";
import { stateOf } from "../request-state.ts";
import { totalsOf } from "./approvals.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { COLUMNS, MOST_ROWS, payrollText, readPayroll, type Payroll, type PayrollRow } from "./payroll-file.ts";
import { showPage } from "./show-page.ts";
import { actorIn, field, merchantIn, PageError } from "./visit.ts";
import { wordsIn } from "./words.ts";

const LARGEST_FILE = 262_144;
/** The payouts that are looked up or created at a time. */
const AT_A_TIME = 20;
/** The most problems that a page shows. */
const MOST_SHOWN = 50;

const readText = express.urlencoded({ extended: false, limit: 3 * LARGEST_FILE, parameterLimit: 128 });
const readBytes = express.raw({ type: "multipart/form-data", limit: LARGEST_FILE });

/**
 * Reads the forms of this page, which are larger than others, also with a file. Only a person who is signed in can send
 * them.
 */
export const readUpload: RequestHandler[] = [
  (_req, res, next) => next(stateOf(res).visit ? undefined : "router"),
  readText,
  readBytes,
  async (req, _res, next) => {
    const { body } = req as { body?: unknown };
    if (!Buffer.isBuffer(body)) return next();
    const headers = { "content-type": req.get("content-type")! };
    const form = await new Response(new Uint8Array(body), { headers }).formData().catch(() => {
      throw new PageError(422, "The form could not be read. Choose the file again.");
    });
    const fields = [...form].map(async ([name, value]) => [
      name,
      typeof value === "string" ? value : textOf(await value.arrayBuffer()),
    ]);
    req.body = Object.fromEntries(await Promise.all(fields)) as Record<string, string>;
    next();
  },
];

/** @throws PageError if the bytes are in another encoding, in which references would become other references */
function textOf(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new PageError(422, "The file is not in UTF-8. Save it as “CSV UTF-8”, then choose it again.");
  }
}

/** Payouts of a file, which somebody else must approve (D105). */
export function payrollPages(context: DashboardContext): Router {
  const { storage, disbursements } = context;
  const router = Router({ caseSensitive: true, strict: true });
  const path = "/dashboard/m/:merchant/payroll";
  const page = { template: "payroll", title: "Payroll", section: "approvals" } as const;

  function show(res: Response, data: { problems?: string[]; rows?: PayrollRow[]; results?: string[] } = {}) {
    const { problems = [], rows = [], results = [] } = data;
    showPage(context, res, page, {
      columns: COLUMNS,
      most: MOST_ROWS,
      problems: problems.slice(0, MOST_SHOWN),
      more: Math.max(0, problems.length - MOST_SHOWN),
      rows,
      text: payrollText(rows),
      totals: totalsOf(rows),
      results,
    });
  }

  /** The payouts of a file that can be created, and why others cannot. */
  async function checked(text: string, res: Response): Promise<Payroll> {
    const payroll = await readPayroll(text);
    if (payroll.problems.length > 0) return payroll;
    const { id } = merchantIn(res);
    const taken = await inTurn(payroll.rows, async ({ reference }) =>
      (await storage.findDisbursementByMerchantsReference(id, reference)) ? [reference] : [],
    );
    return { ...payroll, problems: taken.flat().map((reference) => `The reference ${reference} was used before.`) };
  }

  router.get(path, (_req, res) => show(res));
  router.post(`${path}/check`, async (req, res) => {
    const { rows, problems } = await checked(field(req.body, "file"), res);
    show(res, problems.length > 0 ? { problems } : { rows });
  });
  router.post(path, async (req, res) => {
    const { rows, problems } = await readPayroll(field(req.body, "file"));
    if (problems.length > 0) return show(res, { problems });
    const merchant = merchantIn(res);
    const actor = actorIn(res);
    const totals = totalsOf(rows).map(({ currency, amount }) => `${currency} ${amount}`);
    const details = { payouts: String(rows.length), totals: totals.join(", ") };
    await storage.recordAction({ actor, action: "payroll.upload", merchantId: merchant.id, details });
    const origin = { madeBy: actorName(actor), needsApproval: true };
    const { t, said } = wordsIn(res);
    const outcomes = await inTurn(rows, async (row) => {
      try {
        await disbursements.create(merchant, row, origin);
        return t("created");
      } catch (error) {
        // This is a test number of the sandbox. A program that sent this request would get no response, but the payout
        // exists.
        if (error instanceof ConnectionDropped) return t("created");
        if (!(error instanceof ServiceError)) throw error;
        if (error.code === "duplicate_reference") return t("was there already");
        return t("not created: {why}", { why: said(error.message) });
      }
    });
    const counts = [...Map.groupBy(outcomes, (outcome) => outcome)].map(
      ([outcome, { length }]) => `${length} ${outcome}`,
    );
    show(res, { results: counts });
  });
  return router;
}

/** Applies a function to all items, a few at a time, in order. */
async function inTurn<Item, Result>(items: readonly Item[], work: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += AT_A_TIME)
    results.push(...(await Promise.all(items.slice(at, at + AT_A_TIME).map(work))));
  return results;
}
