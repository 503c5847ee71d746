// Checks the lists of records: their order, pages and filters, and that they leave out no status (D1, D6, D42).
import { define, type Context, describeResponse, given } from "../../check.ts";
import { expectStatus, same, shows } from "../../steps/expect.ts";
import { atOnce, get, verifyCheckout } from "../../steps/requests.ts";
import { dataOf, isPage, listed } from "../../steps/responses.ts";
import { disbursementBody } from "../../steps/bodies.ts";
import { paid, started } from "../../steps/records.ts";
import { advance, finishCheckout, forcing } from "../../steps/sandbox-controls.ts";
import type { TargetRequest, TargetResponse } from "../../target/exchange.ts";
import { equal, textOf } from "../../target/values.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

type Kind = "disbursements" | "checkouts";

const kinds: readonly Kind[] = ["disbursements", "checkouts"];
const lists = ["/v1/disbursements", "/v1/checkouts", "/sandbox/events", "/sandbox/deliveries"];

/** A record as the verify operation returns it. */
type Made = Record<string, unknown> & { reference: string; createdAt: string; merchantsReference: string };

const list = (context: Context, path: string, query: string, key: TargetRequest["key"] = "own") =>
  get(context, `${path}?${query}`, { key });

/** Creates a record with a final status, so that it does not change while the check reads the list. */
async function make(context: Context, kind: Kind, outcome: "success" | "failed" = "success"): Promise<Made> {
  // Wait, so that no two records are created in the same millisecond. The order of such records is not defined.
  await context.sleep(5);
  const fresh = context.fresh();
  const { reference } =
    kind === "disbursements"
      ? await paid(context, { reference: fresh, phoneNumber: forcing(outcome === "success" ? "001" : "002") })
      : await started(context, { reference: fresh });
  if (kind === "checkouts") await finishCheckout(context, reference, outcome);
  return dataOf(await get(context, `/v1/${kind}/${reference}`)) as Made;
}

/** Returns the cursor of the next page, for a query. Throws `Prerequisite` if the page has no cursor. */
function cursorOf(page: TargetResponse): string {
  const { nextCursor } = dataOf(page);
  given(typeof nextCursor === "string", "a page with nextCursor", page);
  return encodeURIComponent(nextCursor);
}

const referencesOf = (response: TargetResponse) => listed(response).map(({ reference }) => reference);
const since = ({ createdAt }: Made) => `createdAfter=${encodeURIComponent(createdAt)}`;

/** Judges that a list response contains exactly the expected records, in this order. */
function judgeItems(context: Context, id: RequirementId, response: TargetResponse, expected: Made[], what: string) {
  const wanted = expected.map(({ reference }) => reference);
  const ok = isPage(response) && equal(referencesOf(response), wanted);
  shows(context, id, response, ok, what);
}

/**
 * Requests a list page by page, at most `mostPages`. Returns the references in order. `between` runs after the first
 * page.
 */
async function follow(
  context: Context,
  path: string,
  query: string,
  between = async (): Promise<unknown> => undefined,
) {
  const seen: unknown[] = [];
  const responses: TargetResponse[] = [];
  let cursor: unknown;
  for (let page = 0; page < mostPages; page += 1) {
    const more = cursor === undefined ? "" : `&cursor=${encodeURIComponent(textOf(cursor))}`;
    const response = await list(context, path, query + more);
    responses.push(response);
    seen.push(...referencesOf(response));
    cursor = dataOf(response)["nextCursor"];
    if (response.status !== 200 || cursor === undefined) break;
    if (page === 0) await between();
  }
  return { seen, responses };
}

const needs = ["forced-outcomes", "finish"] as const;

/** The number of records created at once, enough for some to have the same millisecond. */
const simultaneous = 8;

/** How often records are created at once, until two of them have the same millisecond. */
const rounds = 3;

/** The largest number of records of one millisecond that ten pages with one record each can list. */
const mostPages = 10;

/**
 * Returns the references of some records with the same millisecond and of the next older records, and a query for these
 * records.
 */
async function coinciding(context: Context) {
  const { responses } = await follow(context, "/v1/disbursements", "limit=100");
  const records = (responses.flatMap(listed) as Made[]).filter(({ createdAt }) => !Number.isNaN(Date.parse(createdAt)));
  // The records of a millisecond may continue after the last page.
  const groups = [...Map.groupBy(records, ({ createdAt }) => createdAt).values()].slice(0, -1);
  const start = groups.findIndex(
    ({ length }, index) => length > 1 && length + (groups[index + 1]?.length ?? mostPages) < mostPages,
  );
  if (start < 0) return undefined;
  const [newest, oldest] = [groups[start]![0]!, groups[start + 1]![0]!];
  const next = new Date(Date.parse(newest.createdAt) + 1).toISOString();
  return {
    references: groups
      .slice(start, start + 2)
      .flat()
      .map(({ reference }) => reference)
      .toSorted(),
    query: `limit=1&${since(oldest)}&createdBefore=${encodeURIComponent(next)}`,
  };
}

/** Creates records at once. Returns their references, and the query that lists them. */
async function createdAtOnce(context: Context) {
  const oldest = await make(context, "disbursements");
  const settled = { phoneNumber: forcing("001") };
  const bodies = Array.from({ length: simultaneous }, () => disbursementBody(context, settled));
  const made = (await atOnce(context, bodies)).map((response) => textOf(dataOf(response)["reference"]));
  return { references: [oldest.reference, ...made].toSorted(), query: `limit=1&${since(oldest)}` };
}

/** The status of payouts to each forced number (D17). */
const payouts = { "129": "pending", "001": "success", "002": "failed" };
const checkouts = ["pending", "success", "failed", "cancelled"];

const invalid = ({ target: { merchant } }: Context): [query: string, status: number][] => [
  ["limit=0", 422],
  ["limit=101", 422],
  ["limit=ten", 400],
  [`status=${merchant.name}`, 422],
  // Lenient parsers read 30 February as a day in March.
  ["createdAfter=2026-02-30T00%3A00%3A00.000Z", 422],
  ["createdBefore=2026-02-30T00%3A00%3A00.000Z", 422],
  ["createdBefore=2026-11-20", 422],
  ["createdAfter=yesterday", 422],
  ["merchantsReference=", 422],
  [`merchantsReference=${"x".repeat(65)}`, 422],
  // A reserved character that is not percent-encoded (D2).
  ["status=a:b", 400],
  [`cursor=${merchant.unknown}`, 422],
];

export const checks = define([
  {
    name: "Records are listed newest first, as verify returns them",
    ids: ["lists.newest-first"],
    pays: 3,
    needs,
    async run(context) {
      for (const kind of kinds) {
        const oldest = await make(context, kind);
        const all = [await make(context, kind, "failed"), oldest];
        all.unshift(await make(context, kind));
        const response = await list(context, `/v1/${kind}`, since(oldest));
        judgeItems(context, "lists.newest-first", response, all, `the three newest ${kind}, newest first`);
        const isSame = equal(listed(response), all);
        shows(context, "lists.newest-first", response, isSame, "each item equal to the record from verify");
      }
    },
  },
  {
    name: "Pages of records have no gap and no repeat",
    ids: ["lists.pages"],
    pays: 4,
    needs,
    async run(context) {
      for (const kind of kinds) {
        const oldest = await make(context, kind);
        const middle = await make(context, kind);
        const all = [await make(context, kind), middle, oldest].map(({ reference }) => reference);
        const query = `limit=1&${since(oldest)}`;
        const { seen, responses } = await follow(context, `/v1/${kind}`, query, () => make(context, kind));
        const ok = equal(seen, all) && responses.length === all.length;
        const expected = `three pages with one record each, although a fourth of the ${kind} was created meanwhile`;
        context.judge("lists.pages", ok, expected, responses.map(describeResponse).join("; "), responses);
      }
    },
  },
  {
    name: "Pages of records that were created at once have no gap and no repeat",
    ids: ["lists.pages"],
    pays: rounds * (1 + simultaneous),
    needs,
    async run(context) {
      // In most runs, earlier checks have created such records.
      let found = await coinciding(context);
      for (let round = 0, made; !found; round += 1) {
        made = await createdAtOnce(context);
        found = (await coinciding(context)) ?? (round + 1 < rounds ? undefined : made);
      }
      const { seen, responses } = await follow(context, "/v1/disbursements", found.query);
      const expected = "each record once, also those of the same millisecond";
      const actual = responses.map(describeResponse).join("; ");
      context.judge("lists.pages", equal(seen.toSorted(), found.references), expected, actual, responses);
    },
  },
  {
    name: "Lists of records can be filtered",
    ids: ["lists.filters"],
    pays: 2,
    needs,
    async run(context) {
      for (const kind of kinds) {
        const older = await make(context, kind, "failed");
        const newer = await make(context, kind, "success");
        const before = `createdBefore=${encodeURIComponent(newer.createdAt)}`;
        const of = (record: Made) => `merchantsReference=${encodeURIComponent(record.merchantsReference)}`;
        const cases: [query: string, expected: Made[]][] = [
          [`${since(older)}&status=failed`, [older]],
          [`${since(older)}&status=success`, [newer]],
          [of(older), [older]],
          [`${of(older)}x`, []],
          [`${of(older)}&status=success`, []],
          [since(newer), [newer]],
          [`${since(older)}&${before}`, [older]],
        ];
        for (const [query, expected] of cases) {
          const what = `${expected.length} of the ${kind} created by this check, for ${query}`;
          judgeItems(context, "lists.filters", await list(context, `/v1/${kind}`, query), expected, what);
        }
      }
    },
  },
  {
    name: "Unknown cursors are refused with 422",
    ids: ["lists.cursor-422"],
    pays: 2,
    needs,
    async run(context) {
      const judge = (response: TargetResponse, what: string) =>
        expectStatus(context, "lists.cursor-422", response, 422, `for ${what}`);
      for (const path of lists) {
        judge(
          await list(context, path, `cursor=${context.target.merchant.unknown}`),
          `a cursor that GET ${path} never returned`,
        );
      }
      for (const kind of kinds) {
        for (let count = 0; count < 2; count += 1) await make(context, kind);
        const page = await list(context, `/v1/${kind}`, "limit=1");
        const cursor = cursorOf(page);
        for (const path of lists.filter((other) => other !== `/v1/${kind}`)) {
          judge(await list(context, path, `cursor=${cursor}`), `a cursor of GET /v1/${kind} at GET ${path}`);
        }
        const altered = (cursor.startsWith("1") ? "2" : "1") + cursor.slice(1);
        judge(
          await list(context, `/v1/${kind}`, `cursor=${altered}`),
          `a cursor of GET /v1/${kind} with another start`,
        );
      }
    },
  },
  {
    name: "Lists are of one merchant",
    ids: ["lists.merchants-apart"],
    pays: 2,
    needs: ["forced-outcomes", "finish", "second-key"],
    async run(context) {
      for (const kind of kinds) {
        await make(context, kind);
        const { reference, merchantsReference } = await make(context, kind);
        const all = await list(context, `/v1/${kind}`, "limit=2");
        given(referencesOf(all).includes(reference), `the newest of the ${kind} in the owner's list`, all);
        for (const query of ["", `merchantsReference=${encodeURIComponent(merchantsReference)}`]) {
          const response = await list(context, `/v1/${kind}`, query, "second");
          const isApart = isPage(response) && !response.text.includes(reference);
          const expected = `no record of another merchant in the list of ${kind}`;
          shows(context, "lists.merchants-apart", response, isApart, expected);
        }
        const own = await list(context, `/v1/${kind}`, "limit=1");
        const cursor = cursorOf(own);
        const foreign = await list(context, `/v1/${kind}`, `cursor=${cursor}`, "second");
        expectStatus(context, "lists.merchants-apart", foreign, 422, "for a cursor of another merchant");
      }
    },
  },

  {
    name: "Lists without a status filter contain records of every status",
    ids: ["lists.every-status"],
    pays: 3,
    needs: ["forced-outcomes", "finish"],
    async run(context) {
      const expectListed = async (kind: string, reference: string, status: string) => {
        const path = `/v1/${kind}?limit=100&merchantsReference=${reference}`;
        const response = await get(context, path);
        const actual = listed(response).map((record) => record["status"]);
        same(context, "lists.every-status", { what: `statuses of the ${kind}:`, actual, expected: [status] }, response);
      };
      for (const [suffix, status] of Object.entries(payouts)) {
        const reference = context.fresh();
        await paid(context, { reference, phoneNumber: forcing(suffix) });
        await expectListed("disbursements", reference, status);
      }
      for (const status of checkouts) {
        const reference = context.fresh();
        const made = await started(context, { reference });
        if (status !== "pending") await finishCheckout(context, made.reference, status);
        await expectListed("checkouts", reference, status);
      }
    },
  },
  {
    name: "Checkout is dated when it ends",
    ids: ["checkout-states.updated-at"],
    needs: ["clock", "finish"],
    async run(context) {
      const { reference } = await started(context);
      await advance(context, 60);
      await finishCheckout(context, reference, "success");
      const response = await verifyCheckout(context, reference);
      const { createdAt, updatedAt } = dataOf(response);
      const seconds = (Date.parse(textOf(updatedAt)) - Date.parse(textOf(createdAt))) / 1000;
      const expected = "updatedAt at least 60 s after createdAt";
      context.judge("checkout-states.updated-at", seconds >= 60, expected, `${seconds} s after it`, response);
    },
  },

  {
    name: "Invalid filters are refused",
    ids: ["lists.invalid-filters", "error-code.fields"],
    async run(context) {
      for (const path of ["/v1/disbursements", "/v1/checkouts"]) {
        for (const [query, status] of invalid(context)) {
          const response = await get(context, `${path}?${query}`);
          expectStatus(context, "lists.invalid-filters", response, status, `for GET ${path}?${query}`);
          const { fields } = (response.json ?? {}) as { fields?: { path?: unknown }[] };
          const actual = Array.isArray(fields) ? fields.map((field) => field.path) : [];
          const expected = query.split("=", 1);
          same(context, "error-code.fields", { what: `fields for GET ${path}?${query}:`, actual, expected }, response);
        }
      }
    },
  },
]);
