// Lets Dredd judge one example of each documented response. Dredd repeats a request that another check of the run has
// sent, and compares status and body with the OpenAPI document.
import { fittedReference } from "../../allowances/limits.ts";
import { judges, type Check, type Context } from "../../check.ts";
import { schemaName } from "../../contract/documented.ts";
import { runDredd, type Transaction } from "../../contract/dredd.ts";
import { catalogue, inProfile } from "../../contract/requirements.ts";
import { inlined } from "../../contract/validate.ts";
import type { Profile } from "../../results.ts";
import { usualAmount } from "../../generate/plan.ts";
import { describeResponse, type TargetRequest, type TargetResponse } from "../../target/exchange.ts";
import { fieldsOf } from "../../target/ledger.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

const disbursements = "POST /v1/disbursements";
const aDisbursement = "GET /v1/disbursements/{reference}";
const checkouts = "POST /v1/checkouts";
const aCheckout = "GET /v1/checkouts/{reference}";

/**
 * The documented responses that a run meets, with the requirement under which Dredd's verdict is reported. The list
 * leaves out responses that cannot be provoked (429, most 500). It leaves out the sandbox operations too, because some
 * of them delete the caller's data. The responses about an existing record need a create, so they have its effect.
 */
const rows: readonly [operation: string, status: number, id: RequirementId][] = [
  [disbursements, 200, "create.accepted"],
  [disbursements, 400, "create.amount-required"],
  [disbursements, 401, "auth.create-needs-key"],
  [disbursements, 409, "create.duplicate-refused"],
  [disbursements, 413, "limits.body-size"],
  [disbursements, 415, "refusal.media-type-415"],
  [disbursements, 422, "create.phone-pattern"],
  [disbursements, 500, "forced.500-records-nothing"],
  [disbursements, 503, "forced.503-twice"],
  [aDisbursement, 200, "verify.record-shape"],
  [aDisbursement, 401, "auth.verify-needs-key"],
  [aDisbursement, 404, "verify.unknown-404"],
  [checkouts, 200, "checkout.accepted"],
  [checkouts, 400, "checkout.amount-required"],
  [checkouts, 401, "auth.checkout-needs-key"],
  [checkouts, 409, "checkout-request.reference-unique"],
  [checkouts, 415, "refusal.media-type-415"],
  [checkouts, 422, "checkout-request.amount"],
  [aCheckout, 200, "checkout-record.shape"],
  [aCheckout, 401, "checkout-record.needs-key"],
  [aCheckout, 404, "checkout-record.unknown-404"],
];

const requirements = new Map(catalogue.map((requirement) => [requirement.id, requirement]));

/**
 * Returns a predicate for the statuses that `core` accepts in place of the documented status; undefined if `core`
 * accepts no other status. For an invalid disbursement 400 and 422 are interchangeable. For a checkout any 2xx replaces
 * a 2xx and any 4xx replaces a 4xx, except for 401.
 */
function alike(operation: string, status: number): ((actual: number) => boolean) | undefined {
  if (operation === checkouts && status !== 401) {
    return (actual) => (status < 300 ? actual >= 200 && actual < 300 : actual >= 400 && actual < 500);
  }
  return status === 400 || status === 422 ? (actual) => actual === 400 || actual === 422 : undefined;
}

function schemaOf(sample: TargetResponse, profile: Profile) {
  // The interface leaves checkout responses open (§4.3).
  const isOpen = profile === "core" && sample.request.path.startsWith("/v1/checkouts");
  const name = isOpen ? undefined : schemaName(sample);
  return name === undefined ? undefined : inlined(profile, name);
}

/**
 * Returns the request that provokes a documented response once more; undefined if the run has not met such a response. A
 * create gets an unused reference. So does an invalid request whose reference a record has, because a service may judge
 * duplicates first.
 */
function repeated({ facts, limits, options, fresh }: Context, [operation, status]: Row): Transaction | undefined {
  const accepts = options.profile === "core" ? alike(operation, status) : undefined;
  const sample = facts.answered(operation, status, accepts);
  if (!sample) return undefined;
  const { method, path, effect, key, forced, json, body, headers } = sample.request;
  const request: TargetRequest = { method, path, effect, key, forced, json, body, headers };
  const fields = fieldsOf(request);
  const { reference } = fields;
  if (method === "POST" && (status === 200 || status >= 500)) {
    // A checkout also has a reference, which is an addition to the interface (D6).
    const hasReference = operation === disbursements || options.profile === "extended" || reference !== undefined;
    const amount = Math.min(Number(fields["amount"]), usualAmount);
    request.json = { ...fields, amount, ...(hasReference ? { reference: fresh() } : {}) };
  } else if (status !== 409 && [...facts.records, ...facts.uncertain].some(({ sent }) => isSent(sent, reference))) {
    const unused = fittedReference(limits.all, fresh());
    if (json !== undefined) request.json = { ...fields, reference: unused };
    else request.body = String(body).replaceAll(JSON.stringify(reference), JSON.stringify(unused));
  }
  const expected = accepts?.(sample.status!) ? sample.status! : status;
  return { request, status: expected, schema: schemaOf(sample, options.profile) };
}

const isSent = (sent: Readonly<Record<string, unknown>>, reference: unknown) =>
  typeof reference === "string" && sent["reference"] === reference;

type Row = (typeof rows)[number];

async function judge(group: readonly Row[], context: Context) {
  const all = group.filter(([, , id]) => inProfile(requirements.get(id)!, context.options.profile));
  const met = all.flatMap((row) => {
    const transaction = repeated(context, row);
    if (transaction) return [{ row, transaction }];
    context.couldNotRun(row[2], `no check has met ${row[0]} → ${row[1]}`);
    return [];
  });
  const results = await runDredd(
    context.target,
    met.map(({ transaction }) => transaction),
  );
  for (const [index, { ok, message, response }] of results.entries()) {
    const [operation, status, id] = met[index]!.row;
    context.noteDredd(`${operation} → ${status}`, ok);
    const seen = response ? describeResponse(response) : "no response";
    const actual = ok ? seen : `${seen}; Dredd reports: ${message}`;
    context.judge(id, ok, `${operation} returns ${status} as documented`, actual, response ? [response] : []);
  }
}

function titleOf([operation, status]: Row): string {
  if (status >= 500) return "create requests in a sandbox";
  // Only a check that may pay can meet a 413.
  if (status === 200 || status === 409 || status === 413) return "create requests";
  return operation.startsWith("GET") ? "read requests" : "invalid requests";
}

const isPaid = ([operation, status]: Row) => operation === disbursements && status !== 413;

export const checks: readonly Check[] = [...Map.groupBy(rows, titleOf)].map(([title, group]) => {
  return judges(
    [...new Set(group.map(([, , id]) => id))],
    {
      // The rows are grouped by title, because a run selects a check by its effect and needs.
      name: `Dredd: responses to ${title} are as documented`,
      phase: "closing",
      pays: title.startsWith("create") ? group.filter(isPaid).length : 0,
      needs: title.endsWith("sandbox") ? ["forced-outcomes"] : [],
    },
    (context) => judge(group, context),
  );
});
