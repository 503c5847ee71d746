// Checks that verify and the lists compare whole references (§4.2, D19, D42).
import { given, type Check, type Context } from "../../check.ts";
import type { TargetResponse } from "../../target/exchange.ts";
import { started } from "../checkout-request/checkout-record.ts";
import { expectStatus, shows } from "../../steps/expect.ts";
import { dataOf, get, is2xx, paid, pays, verified } from "../../steps/requests.ts";
import { listed } from "../../steps/sandbox-controls.ts";

type Variant = [what: string, change: (reference: string) => string];

/** Other references. Wildcards of SQL and of shells are among them. */
const others: Variant[] = [
  ["without its last character", (reference) => reference.slice(0, -1)],
  ["without its first character", (reference) => reference.slice(1)],
  ["cut in half", (reference) => reference.slice(0, reference.length / 2)],
  ["with another character at the end", (reference) => `${reference}x`],
  ["with a digit at the end", (reference) => `${reference}0`],
  ["with another character at the start", (reference) => `x${reference}`],
  ["with _ as last character", (reference) => `${reference.slice(0, -1)}_`],
  ["with % as last character", (reference) => `${reference.slice(0, -1)}%`],
  ["with * as last character", (reference) => `${reference.slice(0, -1)}*`],
  ["followed by NUL", (reference) => `${reference}\0`],
  ["followed by NUL and text", (reference) => `${reference}\0x`],
  ["followed by a comma and text", (reference) => `${reference},x`],
];

const otherCase = (reference: string) =>
  reference === reference.toUpperCase() ? reference.toLowerCase() : reference.toUpperCase();

/** Spellings that a router or a database may treat as the same reference. The interface does not forbid this. */
const spellings: Variant[] = [
  ["in another case", otherCase],
  ["followed by a space", (reference) => `${reference} `],
  ["after a space", (reference) => ` ${reference}`],
  ["followed by a line break", (reference) => `${reference}\n`],
  ["followed by a dot", (reference) => `${reference}.`],
  ["followed by .json", (reference) => `${reference}.json`],
];

const getRecord = (context: Context, kind: string, reference: string, after = "") =>
  get(context, `/v1/${kind}/${encodeURIComponent(reference)}${after}`);

/** Returns the responses to each variant of a reference that differs from it. */
async function ask(context: Context, kind: string, reference: string, variants: readonly Variant[]) {
  const responses: [what: string, response: TargetResponse][] = [];
  for (const [what, change] of variants) {
    const changed = change(reference);
    if (changed !== reference) responses.push([what, await getRecord(context, kind, changed)]);
  }
  return responses;
}

const askSpellings = async (context: Context, kind: string, reference: string) => [
  ...(await ask(context, kind, reference, spellings)),
  ["followed by a slash", await getRecord(context, kind, reference, "/")] as const,
];

export const checks: Check[] = [
  {
    name: "Verify finds a record by its whole reference only",
    ids: ["access.whole-reference"],
    ...pays(1),
    async run(context) {
      const { reference, body } = await paid(context);
      await verified(context, reference);
      const responses = await ask(context, "disbursements", reference, others);
      responses.push(["with a further path segment", await getRecord(context, "disbursements", reference, "/x")]);
      for (const [what, response] of responses) {
        // A shorter reference may belong to another disbursement.
        const found = is2xx(response) && dataOf(response)["merchantsReference"] === body["reference"];
        const expected = `no record for its reference ${what}`;
        shows(context, "access.whole-reference", response, !found, expected);
      }
    },
  },
  {
    name: "Records the response to other spellings of a reference",
    ids: ["access.reference-spelling"],
    ...pays(1),
    async run(context) {
      const { reference } = await paid(context);
      for (const [what, { status }] of await askSpellings(context, "disbursements", reference)) {
        context.observe("access.reference-spelling", what, status ?? "no response");
      }
    },
  },
  {
    name: "Reference must be spelled exactly as the service returned it",
    ids: ["access.exact-reference"],
    ...pays(1),
    async run(context) {
      const { reference } = await paid(context);
      const { reference: checkout } = await started(context);
      const asked = [
        ...(await askSpellings(context, "disbursements", reference)),
        ...(await askSpellings(context, "checkouts", checkout)),
        ...(await ask(context, "checkouts", checkout, others)),
      ];
      for (const [what, response] of asked) {
        const when = `at GET ${response.request.path.slice(0, 80)}, a reference ${what}`;
        expectStatus(context, "access.exact-reference", response, 404, when);
      }
    },
  },
  {
    name: "Lists find a merchant's reference only if it is exact",
    ids: ["access.exact-filter"],
    ...pays(1),
    async run(context) {
      // No reference of another check is the start of this one.
      const fresh = `${context.fresh()}-ex`;
      await paid(context, { reference: fresh });
      await started(context, { reference: fresh });
      for (const kind of ["disbursements", "checkouts"]) {
        const list = (reference: string) =>
          get(context, `/v1/${kind}?merchantsReference=${encodeURIComponent(reference)}`);
        const own = await list(fresh);
        given(listed(own).length === 1, "one record in the list", own);
        for (const [what, change] of [...others, ...spellings]) {
          const response = await list(change(fresh));
          const found = listed(response).some(({ merchantsReference }) => merchantsReference === fresh);
          const expected = `no record of ${fresh} in the list of ${kind} for that reference ${what}`;
          shows(context, "access.exact-filter", response, !found, expected);
        }
      }
    },
  },
];
