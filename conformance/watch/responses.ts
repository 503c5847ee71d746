// Judges what a single exchange shows.
import { differences } from "../contract/documented.ts";
import { createValidators } from "../contract/validate.ts";
import type { Kind } from "../history/history.ts";
import type { Profile } from "../results.ts";
import { watches } from "../topics/answers/watches.ts";
import { compared, leastShown, unknownBits } from "../topics/references/checks.ts";
import { type Call, isKnown } from "./calls.ts";
import { keyRules, responseRules, shapeRules } from "./rules.ts";
import type { Tally } from "./tally.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

/** Rules that read headers which a log may leave out. */
const ofHeaders = new Set<RequirementId>([
  "json.content-type",
  "error-body.everywhere",
  "answers.exact",
  "answers.request-id",
  "limits.retry-after",
]);
/** Returns true for what a gateway sends in place of a service that is away, overloaded, or has no such path. */
export const isOfGateway = ({ status, response }: Call) =>
  (status >= 502 && status <= 504) ||
  (status >= 520 && status <= 530) ||
  ((status === 404 || status >= 500) && response.json === undefined);

/** @param clockMs by how much the clocks of two gateways may differ */
export function createResponseRules(profile: Profile, tally: Tally, clockMs: number) {
  const rules = watches.filter(({ id }) => tally.judges(id));
  const validator = createValidators(profile);
  let hasSeenKeys = false;
  let previous = { id: "", sentAt: 0 };
  const firstReferences: { readonly [kind in Kind]: string[] } = { disbursement: [], checkout: [] };
  /** True once a caller let the sandbox fail. */
  let hasChaos = false;

  function judge(ids: readonly RequirementId[], fault: string | undefined, { exchange, status }: Call) {
    if (fault === undefined) tally.held(ids);
    else tally.contradicted(ids, `${status}: ${fault}`, () => [exchange]);
  }

  const judgeFaults = (id: RequirementId, faults: readonly string[], call: Call) =>
    judge([id], faults.length === 0 ? undefined : faults.slice(0, 5).join(", "), call);

  /** Judges a response by the rules for every response of a run. */
  function judgeResponse(call: Call) {
    const { response, operation, sent } = call;
    // Every server sends a date. A log without it has a selection of the headers.
    const hasHeaders = response.headers["date"] !== undefined;
    for (const { id, applies, faults } of rules) {
      if (!hasHeaders && ofHeaders.has(id)) continue;
      if (id === "errors.no-5xx" && (operation === "" || hasChaos)) continue;
      if (id === "create.result-as-requested" && sent["reference"] === undefined) continue;
      if (applies(response)) judgeFaults(id, faults(response, validator), call);
    }
    const shape = shapeRules[operation];
    if (shape && call.isAccepted) judgeFaults(shape, differences(response, validator), call);
  }

  /** Judges that an exchange has an x-request-id of its own. Two gateways may log one exchange, a little apart. */
  function judgeRequestId(call: Call) {
    const { sentAt, headers, response } = call.exchange;
    const id = response!.headers["x-request-id"];
    if (id === undefined || sentAt <= previous.sentAt + clockMs) return;
    const isOwn = id !== previous.id && id !== headers["x-request-id"];
    previous = { id, sentAt };
    judge(
      ["answers.request-id-own"],
      isOwn ? undefined : "the x-request-id of the request or of another exchange",
      call,
    );
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
    if (status === 401) tally.held(hasKey ? (ids.wrong ?? []) : ids.missing);
    else if (isAccepted && !hasKey) judge(ids.missing, "a request without x-api-key was accepted", call);
  }

  /** Judges that the first references of each kind have nothing in common. */
  function judgeGuessable(call: Call) {
    const { does, kind, isAccepted, data } = call;
    if (does !== "create" || !isAccepted || typeof data["reference"] !== "string") return;
    const references = firstReferences[kind!];
    if (references.length === compared || references.includes(data["reference"])) return;
    references.push(data["reference"]);
    if (references.length === compared)
      judge(
        ["references.unguessable"],
        unknownBits(references) < leastShown ? `${references.join(", ")} are alike` : undefined,
        call,
      );
  }

  return {
    see(call: Call) {
      hasChaos ||= call.operation === "setChaos" && call.isAccepted;
      if (isOfGateway(call)) return;
      judgeKey(call);
      judgeRequestId(call);
      if (!isKnown(call.exchange.response!.body)) return;
      judgeResponse(call);
      judgeGuessable(call);
      if (!call.isAccepted || call.faults.length > 0) return;
      for (const [id, isTrue] of responseRules[call.operation] ?? [])
        if (tally.judges(id)) judge([id], isTrue(call) ? undefined : "not so in the response", call);
    },
  };
}
