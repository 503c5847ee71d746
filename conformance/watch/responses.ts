// Judges what a single exchange shows: the rules for every response, and requests that the contract forbids.
import { titleOf } from "../check.ts";
import { createValidators } from "../contract/validate.ts";
import type { Profile } from "../results.ts";
import { watches } from "../topics/answers/watches.ts";
import {
  breaks,
  checkoutRules,
  decidedRule,
  isStatedOfCheckout,
  kindOf,
  payoutRules,
  statedBy,
  strict,
} from "../topics/invalid/rules.ts";
import { type Call, type Fields, isKnown, isObject, requestSchemas } from "./calls.ts";
import type { Tally } from "./tally.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

/** Rules that read headers which a log may leave out, and rules that read no body. */
const ofHeaders = new Set<RequirementId>([
  "json.content-type",
  "error-body.everywhere",
  "answers.exact",
  "answers.request-id",
  "limits.retry-after",
]);
const withoutBody = new Set<RequirementId>([
  "json.no-unasked-continue",
  "errors.no-5xx",
  "answers.request-id",
  "answers.headers",
  "limits.retry-after",
]);

/** A gateway sends these in place of a service that is away or overloaded. */
const ofGateways = new Set([502, 503, 504]);

const needsKey: Record<string, RequirementId> = {
  createDisbursement: "auth.create-needs-key",
  verifyDisbursement: "auth.verify-needs-key",
  createCheckout: "auth.checkout-needs-key",
  verifyCheckout: "checkout-record.needs-key",
  listDisbursements: "lists.needs-key",
  listCheckouts: "lists.needs-key",
};
const refusesKey: Record<string, RequirementId> = {
  createDisbursement: "auth.create-refuses-wrong-key",
  verifyDisbursement: "auth.verify-refuses-wrong-key",
  createCheckout: "auth.checkout-refuses-wrong-key",
};

type Forbidden = { id: RequirementId; what: string };

/** Returns the field and the defect that a line of a validator names. */
function defectIn(line: string) {
  const [, missing] = /required property '([^']+)'/.exec(line) ?? [];
  return { field: missing ?? line.split(" ")[0]!.split(".")[0]!, kind: kindOf([line]) };
}

/** Only addresses about which no two implementations disagree (§2.1). */
const isNoAddress = (value: unknown) =>
  typeof value === "string" && (!/^[a-z][a-z\d+.-]*:/i.test(value) || /^[a-z]+:\/\/[^/?#]*\s/i.test(value));

/** Returns the requirements that demand the refusal of this body. */
function forbiddenIn(operation: string, body: Fields, profile: Profile): Forbidden[] {
  const schema = requestSchemas[operation]!;
  const isPayout = operation === "createDisbursement";
  const stated = statedBy(schema)(body).map((line) => ({ ...defectIn(line), body, line }));
  const found = stated.flatMap((defect): Forbidden[] => {
    if (!isPayout && !isStatedOfCheckout(defect)) return [];
    const rule = (isPayout ? payoutRules : checkoutRules).find((each) => breaks(each, defect));
    return rule ? [{ id: rule.id, what: defect.line }] : [];
  });
  if (isPayout && isNoAddress(body["webhookURL"]))
    found.push({ id: "create.webhook-format", what: "webhookURL is no URI" });
  if (profile === "core" || found.length > 0) return found;
  return createValidators("extended")(schema)(body).map((line) => ({
    id: isPayout ? "create.generated-invalid-refused" : decidedRule(defectIn(line)),
    what: line,
  }));
}

export function createResponseRules(profile: Profile, tally: Tally) {
  const validator = createValidators(profile);
  let hasSeenKeys = false;

  function judge(id: RequirementId, ok: boolean, call: Call, actual: string) {
    if (ok) tally.held(id);
    else
      tally.contradicted(id, () => ({
        expected: titleOf(id),
        actual: `${actual}: ${call.status}`,
        evidence: [tally.evidence(call.exchange)],
      }));
  }

  function judgeResponse({ exchange, response, hasAllHeaders, status }: Call) {
    const hasBody = isKnown(exchange.response?.body);
    for (const { id, applies, faults } of watches) {
      if (ofHeaders.has(id) && !hasAllHeaders.response) continue;
      if (!withoutBody.has(id) && !hasBody) continue;
      if (id === "errors.no-5xx" && ofGateways.has(status)) continue;
      if (!applies(response!)) continue;
      const found = faults(response!, validator);
      if (found.length === 0) tally.held(id);
      else
        tally.contradicted(id, () => ({
          expected: titleOf(id),
          actual: `${status}: ${found.slice(0, 5).join(", ")}`,
          evidence: [tally.evidence(exchange)],
        }));
    }
  }

  /** Judges requests without a key. A log that leaves out keys, or names callers otherwise, says nothing about them. */
  function judgeKey(call: Call, isAccepted: boolean) {
    const { exchange, operation, status, hasAllHeaders } = call;
    const { headers, caller } = exchange;
    if (headers["x-api-key"] !== undefined) hasSeenKeys = true;
    const id = needsKey[operation] ?? (call.path.startsWith("/sandbox/") ? "sandbox.needs-key" : undefined);
    if (!id || caller !== undefined || !hasSeenKeys || !hasAllHeaders.request || (!isAccepted && status !== 401))
      return;
    if (headers["x-api-key"] === undefined) {
      judge(id, !isAccepted, call, "a request without x-api-key was accepted");
      if (headers["authorization"] !== undefined || headers["cookie"] !== undefined)
        judge("auth.key-only-in-header", !isAccepted, call, "a request without x-api-key was accepted");
    } else if (status === 401 && refusesKey[operation]) tally.held(refusesKey[operation]);
  }

  /** Judges the body of a create. */
  function judgeBody(call: Call, isAccepted: boolean) {
    const { exchange, operation, sent, status } = call;
    if (!(operation in requestSchemas) || !isKnown(exchange.body)) return;
    const isRefused = status >= 400 && status < 500;
    if (!isAccepted && !isRefused) return;
    const isPayout = operation === "createDisbursement";
    const malformed = isPayout ? "json.malformed-refused" : "checkout.malformed-refused";
    if (exchange.body === "") return judge(isPayout ? "json.body-required" : malformed, isRefused, call, "no body");
    if (sent === undefined) return judge(malformed, isRefused, call, "a body that is not JSON");
    if (!isObject(sent))
      return judge(isPayout ? "json.object-required" : malformed, isRefused, call, "a body that is no object");
    const forbidden = forbiddenIn(operation, sent, profile);
    for (const { id, what } of forbidden) judge(id, isRefused, call, what);
    if (forbidden.length > 0 && (status === 400 || status === 422)) judgeStrict(call, sent);
  }

  /** Judges which of 400 and 422 an invalid body gets (D1). */
  function judgeStrict(call: Call, body: Fields) {
    const kinds = createValidators("extended")(requestSchemas[call.operation]!)(body).map(
      (line) => defectIn(line).kind,
    );
    const kind = (["missing", "type", "value"] as const).find((each) => kinds.includes(each));
    if (!kind) return;
    const isMixed = kind !== "value" && kinds.includes("value");
    const { id, status } = strict[kind];
    judge(isMixed ? "refusal.mixed-400" : id, call.status === status, call, `a request with ${kinds.length} faults`);
  }

  return {
    validator,
    see(call: Call) {
      if (!call.response) return;
      judgeResponse(call);
      const isAccepted = call.status >= 200 && call.status < 300;
      judgeKey(call, isAccepted);
      judgeBody(call, isAccepted);
    },
  };
}

/** The requirements that these rules judge. */
export const ofResponses: readonly RequirementId[] = [
  ...watches.map(({ id }) => id),
  ...Object.values(needsKey),
  ...Object.values(refusesKey),
  "sandbox.needs-key",
  "auth.key-only-in-header",
  "json.malformed-refused",
  "json.object-required",
  "json.body-required",
  "checkout.malformed-refused",
  "create.webhook-format",
  "create.generated-invalid-refused",
  "checkout-request.amount",
  "checkout-request.patterns",
  "checkout-request.generated-refused",
  "refusal.mixed-400",
  ...Object.values(strict).map(({ id }) => id),
  ...[...payoutRules, ...checkoutRules].map(({ id }) => id),
];
