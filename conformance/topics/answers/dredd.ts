// Lets Dredd judge one example of each documented response. Dredd repeats a request that another check of the run has
// sent, and compares status and body with the OpenAPI document.
import { fittedReference } from "../../allowances/fit.ts";
import { responseSchema, routeOf } from "../../contract/contract.ts";
import { describeResponse, type Check, type Context } from "../../check.ts";
import { runDredd, type DreddResult, type Prepared } from "../../contract/dredd.ts";
import { catalogue, inProfile } from "../../contract/requirements.ts";
import { inlined } from "../../contract/validate.ts";
import type { TargetResponse } from "../../target/exchange.ts";
import { fieldsOf } from "../../target/ledger.ts";
import type { Effect, Profile } from "../../results.ts";
import { usualAmount } from "../../steps/requests.ts";

const disbursements = "POST /v1/disbursements";
const aDisbursement = "GET /v1/disbursements/{reference}";
const checkouts = "POST /v1/checkouts";
const aCheckout = "GET /v1/checkouts/{reference}";

/**
 * The documented responses that a run meets, with the requirement under which Dredd's verdict is reported. The list
 * leaves out responses that cannot be provoked (429, most 500). It leaves out the sandbox operations too, because some
 * of them delete the caller's data. The responses about an existing record follow the create that Dredd repeats, so
 * they have the effect of that create.
 */
const rows: readonly [operation: string, status: number, id: string, effect: Effect][] = [
  [disbursements, 200, "create.accepted", "moves-money"],
  [disbursements, 400, "create.amount-required", "must-be-rejected"],
  [disbursements, 401, "auth.create-needs-key", "must-be-rejected"],
  [disbursements, 409, "create.duplicate-refused", "moves-money"],
  [disbursements, 413, "limits.body-size", "must-be-rejected"],
  [disbursements, 415, "refusal.media-type-415", "must-be-rejected"],
  [disbursements, 422, "create.phone-pattern", "must-be-rejected"],
  [disbursements, 500, "forced.500-records-nothing", "moves-money"],
  [disbursements, 503, "forced.503-twice", "moves-money"],
  [aDisbursement, 200, "verify.record-shape", "moves-money"],
  [aDisbursement, 401, "auth.verify-needs-key", "none"],
  [aDisbursement, 404, "verify.unknown-404", "none"],
  [checkouts, 200, "checkout.accepted", "moves-money"],
  [checkouts, 400, "checkout.amount-required", "must-be-rejected"],
  [checkouts, 401, "auth.checkout-needs-key", "must-be-rejected"],
  [checkouts, 409, "checkout-request.reference-unique", "moves-money"],
  [checkouts, 415, "refusal.media-type-415", "must-be-rejected"],
  [checkouts, 422, "checkout-request.amount", "must-be-rejected"],
  [aCheckout, 200, "checkout-record.shape", "moves-money"],
  [aCheckout, 401, "checkout-record.needs-key", "none"],
  [aCheckout, 404, "checkout-record.unknown-404", "none"],
];

const requirements = new Map(catalogue.map((requirement) => [requirement.id, requirement]));

/**
 * Returns a predicate for the statuses that `core` accepts in place of the documented status; undefined if it accepts
 * no other status. For an invalid disbursement 400 and 422 are interchangeable. For a checkout any 2xx replaces a 2xx
 * and any 4xx replaces a 4xx, except for 401.
 */
function alike(operation: string, status: number): ((actual: number) => boolean) | undefined {
  if (operation === checkouts && status !== 401) {
    return (actual) => (status < 300 ? actual >= 200 && actual < 300 : actual >= 400 && actual < 500);
  }
  return status === 400 || status === 422 ? (actual) => actual === 400 || actual === 422 : undefined;
}

function schemaOf(operation: string, status: number, profile: Profile) {
  const [method = "", template = ""] = operation.split(" ");
  const route = routeOf(method, template);
  const name = route && responseSchema(route, status)?.$ref?.split("/").at(-1);
  // The interface leaves checkout responses open (§4.3).
  const open = profile === "core" && template.startsWith("/v1/checkouts");
  return name === undefined || open ? undefined : inlined(profile, name);
}

/**
 * Prepares the requests. Some transactions need the create that Dredd has repeated before.
 * @param responses the responses to Dredd's requests so far
 */
function createPreparation({ facts, limits, options, fresh }: Context, responses: readonly TargetResponse[]) {
  const accepts = (operation: string, status: number) =>
    options.profile === "core" ? alike(operation, status) : undefined;
  /** The last create of each kind that Dredd has repeated, and the number of its response. */
  const created = new Map<string, { body: string; index: number }>();

  /** Returns the body of a create with an unused reference. */
  function anew(operation: string, sent: Record<string, unknown>): string {
    // A checkout also has a reference, which is an addition to the interface (D6).
    const hasReference = operation === disbursements || options.profile === "extended" || "reference" in sent;
    const amount = Math.min(Number(sent["amount"]), usualAmount);
    const body = JSON.stringify({ ...sent, amount, ...(hasReference ? { reference: fresh() } : {}) });
    created.set(operation, { body, index: responses.length });
    return body;
  }

  /**
   * Gives a request that must be refused a reference that no record has, because a service may judge duplicates first. A
   * reference that a record has is valid, so the request is refused for another reason.
   */
  function unused(body: string | undefined, { reference }: Record<string, unknown>): string | undefined {
    const isUsed = [...facts.records, ...facts.uncertain].some(({ sent }) => sent["reference"] === reference);
    if (typeof reference !== "string" || !isUsed) return body;
    return body?.replaceAll(JSON.stringify(reference), JSON.stringify(fittedReference(limits.all, fresh())));
  }

  /** Returns the service's reference of the record that Dredd's create has made. */
  function madeBy(operation: string): string {
    const { index = -1 } = created.get(operation) ?? {};
    const json = responses[index]?.json as { data?: { reference?: unknown } } | undefined;
    return encodeURIComponent(String(json?.data?.reference));
  }

  /** Returns undefined if the run has not met such a response. */
  return (operation: string, status: number): Prepared | undefined => {
    const sample = facts.answered(operation, status, accepts(operation, status));
    if (!sample) return undefined;
    const { request } = sample;
    const { effect, key, forced } = request;
    const text = typeof request.body === "string" ? request.body : undefined;
    const body = request.json === undefined ? text : JSON.stringify(request.json);
    const type = request.json === undefined ? request.headers?.["content-type"] : "application/json";
    const prepared: Prepared = {
      path: request.path,
      passing: { effect, key, forced },
      headers: type === undefined ? {} : { "content-type": String(type) },
      ...(body === undefined ? {} : { body }),
      schema: schemaOf(operation, status, options.profile),
      accepts: accepts(operation, status),
    };
    if (operation.startsWith("GET") && status === 200) {
      const create = operation === aDisbursement ? disbursements : checkouts;
      return { ...prepared, path: `${create.split(" ")[1]}/${madeBy(create)}` };
    }
    if (status === 409) return { ...prepared, body: created.get(operation)?.body ?? body };
    if (status === 200 || status >= 500) return { ...prepared, body: anew(operation, fieldsOf(request)) };
    const changed = unused(body, fieldsOf(request));
    return changed === undefined ? prepared : { ...prepared, body: changed };
  };
}

type Row = (typeof rows)[number];

async function judge(those: readonly Row[], context: Context) {
  const all = those.filter(([, , id]) => inProfile(requirements.get(id)!, context.options.profile));
  const responses: TargetResponse[] = [];
  const prepare = createPreparation(context, responses);
  const find = (method: string, template: string, status: number) =>
    all.find((row) => row[0] === `${method} ${template}` && row[1] === status);
  const met = new Map<Row, true>();
  const report = ({ method, template, status, ok, message, response }: DreddResult) => {
    const [, , id] = find(method, template, status)!;
    context.noteDredd(`${method} ${template} → ${status}`, ok);
    const seen = response ? describeResponse(response) : "no response";
    const actual = ok ? seen : `${seen}; Dredd reports: ${message}`;
    const expected = `${method} ${template} returns ${status} as documented`;
    context.judge(id, ok, expected, actual, response ? [response] : []);
  };
  const isWanted = (...place: [string, string, number]) => find(...place) !== undefined;
  const results = await runDredd(context.target, responses, isWanted, (method, template, status) => {
    const prepared = prepare(`${method} ${template}`, status);
    if (prepared) met.set(find(method, template, status)!, true);
    return prepared;
  });
  for (const result of results) report(result);
  for (const row of all) if (!met.has(row)) context.couldNotRun(row[2], `no check has met ${row[0]} → ${row[1]}`);
}

const titles: Record<Effect, string> = {
  none: "read requests",
  "must-be-rejected": "invalid requests",
  "moves-money": "create requests",
};

/** Returns the check for the responses with this effect: a run selects checks by their effects and needs. */
function checkOf(effect: Effect, isForced: boolean): Check[] {
  const own = rows.filter((row) => row[3] === effect && row[1] >= 500 === isForced);
  if (own.length === 0) return [];
  const payouts = own.filter(([operation]) => operation === disbursements).length;
  return [
    {
      name: `Dredd: responses to ${titles[effect]}${isForced ? " in a sandbox" : ""} are as documented`,
      ids: [...new Set(own.map(([, , id]) => id))],
      effect,
      phase: "closing",
      ...(effect === "moves-money" ? { payouts, amount: payouts * usualAmount } : {}),
      ...(isForced ? { needs: ["forced-outcomes"] as const } : {}),
      run: (context) => judge(own, context),
    },
  ];
}

export const checks: Check[] = (["none", "must-be-rejected", "moves-money"] as const).flatMap((effect) => [
  ...checkOf(effect, false),
  ...checkOf(effect, true),
]);
