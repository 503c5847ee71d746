// Checks the lists of records: their order, pages and filters, and that they leave out no status (D1, D6, D42).
import { judges, type Check, type Context, given } from "../../check.ts";
import { expectFields, expectStatus, same } from "../../steps/expect.ts";
import { atOnce, get, pages, verifyCheckout } from "../../steps/requests.ts";
import { cursorOf, isPage, listed } from "../../steps/responses.ts";
import { dataOf, describeResponse, type TargetResponse } from "../../target/exchange.ts";
import { disbursementBody } from "../../steps/bodies.ts";
import { existingPayout, paid, started } from "../../steps/records.ts";
import { advance, finishCheckout, forcing } from "../../steps/sandbox-controls.ts";
import { equal, textOf } from "../../target/values.ts";

type Kind = "disbursements" | "checkouts";

const kinds: readonly Kind[] = ["disbursements", "checkouts"];
const lists = ["/v1/disbursements", "/v1/checkouts", "/sandbox/events", "/sandbox/deliveries"];
const needs = ["forced-outcomes", "finish"] as const;

/** A record as the verify operation returns it. */
type Made = Record<string, unknown> & { reference: string; createdAt: string; merchantsReference: string };

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

const referencesOf = (response: TargetResponse) => listed(response).map(({ reference }) => reference);
const since = ({ createdAt }: Made) => `createdAfter=${encodeURIComponent(createdAt)}`;
const named = ({ merchantsReference }: Made) => `merchantsReference=${encodeURIComponent(merchantsReference)}`;

/** How many pages with one record each are read. */
const mostPages = 10;
/** The number of records created at once, enough for some to have the same millisecond, and how often to try this. */
const simultaneous = 8;
const rounds = 3;

/** Reads a list page by page. Returns the references in order. `between` runs after the first page. */
async function follow(context: Context, path: string, between = async (): Promise<unknown> => undefined) {
  const responses: TargetResponse[] = [];
  for await (const page of pages(context, path, mostPages)) {
    if (responses.push(page) === 1) await between();
  }
  const actual = responses.map(describeResponse).join("; ");
  return { seen: responses.flatMap(referencesOf), responses, actual };
}

/** Returns as many records of one millisecond as possible, and the next older ones, if the pages can show both. */
async function coinciding(context: Context) {
  const { responses } = await follow(context, "/v1/disbursements?limit=100");
  const dated = (responses.flatMap(listed) as Made[]).filter(({ createdAt }) => !Number.isNaN(Date.parse(createdAt)));
  const groups = [...Map.groupBy(dated, ({ createdAt }) => createdAt).values()];
  // The records of the last millisecond may continue after the last page that was read.
  const isCut = dataOf(responses.at(-1)!)["nextCursor"] !== undefined;
  const pairs = groups.slice(1, isCut ? -1 : undefined).map((older, index) => ({ same: groups[index]!, older }));
  const shown = pairs.filter(({ same: { length }, older }) => length + older.length < mostPages);
  return shown.toSorted((one, other) => other.same.length - one.same.length)[0];
}

/** The status of payouts to each forced number (D17). */
const payouts = { "129": "pending", "001": "success", "002": "failed" };

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

export const checks: readonly Check[] = [
  judges(["lists.newest-first", "lists.pages"], { pays: 4, needs }, async (context, id) => {
    for (const kind of kinds) {
      const oldest = await make(context, kind);
      const all = [await make(context, kind, "failed"), oldest];
      all.unshift(await make(context, kind));
      const response = await get(context, `/v1/${kind}?${since(oldest)}`);
      const expected = `the three newest ${kind}, newest first, each equal to the record from verify`;
      context.judge(id, equal(listed(response), all), expected, response);
      const path = `/v1/${kind}?limit=1&${since(oldest)}`;
      const { seen, responses, actual } = await follow(context, path, () => make(context, kind));
      const references = all.map(({ reference }) => reference);
      const isPaged = equal(seen, references) && responses.length === all.length;
      const paged = `three pages with one record each, although a fourth of the ${kind} was created meanwhile`;
      context.judge("lists.pages", isPaged, paged, actual, responses);
    }
  }),
  judges("lists.pages", { pays: rounds * (1 + simultaneous), needs }, async (context, id) => {
    // In most runs, earlier checks have created several records in one millisecond.
    let found = await coinciding(context);
    for (let round = 0; (found?.same.length ?? 0) < 2 && round < rounds; round += 1) {
      await make(context, "disbursements");
      const body = () => disbursementBody(context, { phoneNumber: forcing("001") });
      await atOnce(context, Array.from({ length: simultaneous }, body));
      found = await coinciding(context);
    }
    given(found, "a list with the disbursements that were created", context.responses.at(-1)!);
    const [newest, oldest] = [found.same[0]!, found.older[0]!];
    const next = new Date(Date.parse(newest.createdAt) + 1).toISOString();
    const path = `/v1/disbursements?limit=1&${since(oldest)}&createdBefore=${encodeURIComponent(next)}`;
    const { seen, responses, actual } = await follow(context, path);
    const all = [...found.same, ...found.older].map(({ reference }) => reference);
    const expected = "each record of a millisecond once, and each of the next older ones";
    context.judge(id, equal(seen.toSorted(), all.toSorted()), expected, actual, responses);
  }),
  judges("lists.filters", { pays: 2, needs }, async (context, id) => {
    for (const kind of kinds) {
      const older = await make(context, kind, "failed");
      const newer = await make(context, kind, "success");
      const cases: [query: string, expected: Made[]][] = [
        [`${since(older)}&status=failed`, [older]],
        [`${since(older)}&status=success`, [newer]],
        [named(older), [older]],
        [`${named(older)}x`, []],
        [`${named(older)}&status=success`, []],
        [since(newer), [newer]],
        [`${since(older)}&createdBefore=${encodeURIComponent(newer.createdAt)}`, [older]],
      ];
      for (const [query, expected] of cases) {
        const response = await get(context, `/v1/${kind}?${query}`);
        const references = expected.map(({ reference }) => reference);
        const ok = isPage(response) && equal(referencesOf(response), references);
        context.judge(id, ok, `${references.join() || `no ${kind}`} for ${query}`, response);
      }
    }
  }),
  judges("lists.filters", { existing: true }, async (context, id) => {
    const { reference, data } = await existingPayout(context);
    const own = named({ ...data });
    const response = await get(context, `/v1/disbursements?${own}`);
    const isListed = isPage(response) && equal(referencesOf(response), [reference]);
    context.judge(id, isListed, `${reference} alone for ${own}`, response);
  }),
  judges("lists.cursor-422", { pays: 2, needs }, async (context, id) => {
    const expectRefused = async (path: string, cursor: string, what: string) =>
      expectStatus(context, id, await get(context, `${path}?cursor=${cursor}`), 422, `for ${what} at GET ${path}`);
    for (const path of lists)
      await expectRefused(path, context.target.merchant.unknown, "a cursor that was never returned");
    for (const kind of kinds) {
      const own = `/v1/${kind}`;
      for (let count = 0; count < 2; count += 1) await make(context, kind);
      const cursor = cursorOf(await get(context, `${own}?limit=1`));
      for (const path of lists.filter((other) => other !== own))
        await expectRefused(path, cursor, `a cursor of ${own}`);
      await expectRefused(own, (cursor.startsWith("1") ? "2" : "1") + cursor.slice(1), "a cursor with another start");
    }
  }),
  judges("lists.merchants-apart", { pays: 2, needs: [...needs, "second-key"] }, async (context, id) => {
    for (const kind of kinds) {
      await make(context, kind);
      const record = await make(context, kind);
      const all = await get(context, `/v1/${kind}?limit=2`);
      given(referencesOf(all).includes(record.reference), `the newest of the ${kind} in the owner's list`, all);
      for (const query of ["", named(record)]) {
        const response = await get(context, `/v1/${kind}?${query}`, { key: "second" });
        const isApart = isPage(response) && !response.text.includes(record.reference);
        context.judge(id, isApart, `no record of another merchant in the list of ${kind}`, response);
      }
      const cursor = cursorOf(await get(context, `/v1/${kind}?limit=1`));
      const foreign = await get(context, `/v1/${kind}?cursor=${cursor}`, { key: "second" });
      expectStatus(context, id, foreign, 422, "for a cursor of another merchant");
    }
  }),
  judges("lists.every-status", { pays: 3, needs }, async (context, id) => {
    const expectListed = async (kind: Kind, reference: string, status: string) => {
      const response = await get(context, `/v1/${kind}?limit=100&merchantsReference=${reference}`);
      const actual = listed(response).map((record) => record["status"]);
      same(context, id, `statuses of the ${kind}:`, actual, [status], response);
    };
    for (const [suffix, status] of Object.entries(payouts)) {
      const reference = context.fresh();
      await paid(context, { reference, phoneNumber: forcing(suffix) });
      await expectListed("disbursements", reference, status);
    }
    for (const status of ["pending", "success", "failed", "cancelled"]) {
      const reference = context.fresh();
      const checkout = await started(context, { reference });
      if (status !== "pending") await finishCheckout(context, checkout.reference, status);
      await expectListed("checkouts", reference, status);
    }
  }),
  judges("checkout-states.updated-at", { needs: ["clock", "finish"] }, async (context, id) => {
    const { reference } = await started(context);
    await advance(context, 60);
    await finishCheckout(context, reference, "success");
    const response = await verifyCheckout(context, reference);
    const { createdAt, updatedAt } = dataOf(response);
    const seconds = (Date.parse(textOf(updatedAt)) - Date.parse(textOf(createdAt))) / 1000;
    context.judge(id, seconds >= 60, "updatedAt at least 60 s after createdAt", `${seconds} s after it`, response);
  }),
  judges(["lists.invalid-filters", "error-code.fields", "error-body.names-fields"], {}, async (context, id) => {
    for (const kind of kinds) {
      for (const [query, status] of invalid(context)) {
        const path = `/v1/${kind}?${query}`;
        const response = await get(context, path);
        expectStatus(context, id, response, status, `for GET ${path}`);
        expectFields(context, response, query.split("=", 1), `for GET ${path}`);
      }
    }
  }),
];
