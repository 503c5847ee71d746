// Judges what a single exchange shows.
import { createValidators } from "../contract/validate.ts";
import type { Profile } from "../results.ts";
import { textOf } from "../target/values.ts";
import { watches } from "../topics/answers/watches.ts";
import { type Call, isKnown } from "./calls.ts";
import { keyRules, requiredFields, responseRules } from "./rules.ts";
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

/** Returns true for what a gateway sends in place of a service that is away, overloaded, or has no such path. */
export const isOfGateway = ({ status, response }: Call) =>
  (status >= 502 && status <= 504) ||
  (status >= 520 && status <= 530) ||
  ((status === 404 || status >= 500) && response.json === undefined);

export function createResponseRules(profile: Profile, tally: Tally) {
  const judged = new Set(tally.requirements.map(({ id }) => id));
  const rules = watches.filter(({ id }) => judged.has(id));
  const validator = createValidators(profile);
  let hasSeenKeys = false;
  /** True once a caller let the sandbox fail. */
  let hasChaos = false;

  function judge(ids: readonly RequirementId[], fault: string | undefined, { exchange, status }: Call) {
    if (fault === undefined) tally.held(ids);
    else tally.contradicted(ids, `${status}: ${fault}`, () => [exchange]);
  }

  /** Judges a response by the rules for every response of a run. */
  function judgeResponse(call: Call) {
    const { exchange, response, operation, sent } = call;
    const hasBody = isKnown(exchange.response!.body);
    // Every server sends a date. A log without it has a selection of the headers.
    const hasHeaders = response.headers["date"] !== undefined;
    for (const { id, applies, faults } of rules) {
      if ((!hasHeaders && ofHeaders.has(id)) || (!hasBody && !withoutBody.has(id))) continue;
      if (id === "errors.no-5xx" && (operation === "" || hasChaos)) continue;
      if (id === "create.result-as-requested" && sent["reference"] === undefined) continue;
      if (!applies(response)) continue;
      const found = faults(response, validator);
      judge([id], found.length === 0 ? undefined : found.slice(0, 5).join(", "), call);
    }
  }

  /** Judges requests without a key. A log that leaves out keys, or names callers otherwise, says nothing about them. */
  function judgeKey(call: Call) {
    const { exchange, operation, status, isAccepted } = call;
    const { headers, caller } = exchange;
    const hasKey = headers["x-api-key"] !== undefined;
    hasSeenKeys ||= hasKey;
    const ids = keyRules[operation];
    const hasAllHeaders = headers["host"] !== undefined;
    if (!ids || caller !== undefined || !hasSeenKeys || !hasAllHeaders) return;
    if (status === 401) tally.held(hasKey ? ids.wrong : ids.missing);
    else if (isAccepted && !hasKey) judge(ids.missing, "a request without x-api-key was accepted", call);
  }

  /** Judges what an accepted request gets. */
  function judgeAccepted(call: Call) {
    const { operation, faults, exchange } = call;
    if (faults.length > 0) return;
    if (!isKnown(exchange.response!.body)) return;
    for (const [id, isTrue] of responseRules[operation] ?? []) {
      const ok = isTrue(call);
      if (ok !== undefined) judge([id], ok ? undefined : `not so in ${textOf(Object.keys(call.data))}`, call);
    }
  }

  /** Judges a create that lacks one of its fields. */
  function judgeRequired(call: Call) {
    const { operation, faults, isAccepted, status } = call;
    const isRefused = status >= 400 && status < 500;
    for (const [field, id] of Object.entries(requiredFields[operation] ?? {})) {
      if (!faults.some((fault) => fault.endsWith(`required property '${field}'`))) continue;
      if (isRefused || isAccepted) judge([id], isRefused ? undefined : `accepted without ${field}`, call);
    }
  }

  return {
    see(call: Call) {
      hasChaos ||= call.operation === "setChaos" && call.isAccepted;
      if (isOfGateway(call)) return;
      judgeResponse(call);
      judgeKey(call);
      if (call.faults.length > 0) judgeRequired(call);
      else if (call.isAccepted) judgeAccepted(call);
    },
  };
}
