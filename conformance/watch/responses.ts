// Judges what a single exchange shows: the rules for every response, and requests that the contract forbids.
import { titleOf } from "../check.ts";
import { openapi } from "../contract/contract.ts";
import { differences } from "../contract/documented.ts";
import { isExact, type Kind, lastSegment, meaningOf } from "../history/history.ts";
import { linkOf, referencesOf } from "../steps/checkouts.ts";
import { textOf } from "../target/values.ts";
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

const rules = watches.map((watch) => ({
  ...watch,
  readsHeaders: ofHeaders.has(watch.id),
  readsBody: !withoutBody.has(watch.id),
}));

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
  return createValidators("extended")(schema)(body).flatMap((line) => {
    const defect = defectIn(line);
    const id = isPayout ? "create.generated-invalid-refused" : decidedRule(defect);
    return [id, ...decidedIn(defect.field, body[defect.field])].map((each) => ({ id: each, what: line }));
  });
}

/** Returns what decisions say about a value that the interface does not forbid (D7, D7a, D15). */
function decidedIn(field: string, value: unknown): RequirementId[] {
  const text = textOf(value);
  if (field.endsWith("URL")) return [text.length > 2048 ? "limits.address-length" : "addresses.refused"];
  if (field === "locale") return ["checkout-request.locale"];
  if (field === "amount" && Number(value) > Number.MAX_SAFE_INTEGER) return ["limits.amount-maximum"];
  if (field !== "reference") return [];
  if (!text.isWellFormed()) return ["json-values.lone-surrogate"];
  return [text === "" || [...text].length > 64 ? "limits.reference-length" : "limits.reference-characters"];
}

const statuses = (schema: string) => openapi.components.schemas[schema]!["enum"] as unknown[];
const ofStatus: { [operation: string]: [id: RequirementId, known: unknown[]] } = {
  createDisbursement: ["create.status-known", statuses("DisbursementStatus")],
  verifyDisbursement: ["verify.status-known", statuses("DisbursementStatus")],
  verifyCheckout: ["checkout-states.outcomes", statuses("CheckoutStatus")],
};
const ofStatus200: { [operation: string]: RequirementId } = {
  createDisbursement: "create.accepted",
  verifyDisbursement: "verify.found",
  createCheckout: "checkout-body.shape",
};
const ofShape: { [operation: string]: RequirementId } = {
  createCheckout: "checkout-body.shape",
  verifyCheckout: "checkout-record.shape",
};
const isTimestamp = (value: unknown) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(textOf(value));
const mostBytes = 16_384;

/** @param isShown says whether an owner has seen a record with this reference */
export function createResponseRules(
  profile: Profile,
  tally: Tally,
  isShown: (kind: Kind, reference: string) => boolean,
) {
  const validator = createValidators(profile);
  let hasSeenKeys = false;
  let previous: { id?: string; sentAt?: number } = {};

  function judge(id: RequirementId, ok: boolean, call: Call, actual: string) {
    if (ok) tally.held(id);
    else
      tally.contradicted(id, () => ({
        expected: titleOf(id),
        actual: `${actual}: ${call.status}`,
        exchanges: [tally.evidence(call.exchange)],
      }));
  }

  function judgeResponse({ exchange, response, hasAllHeaders, status }: Call) {
    const hasBody = isKnown(exchange.response?.body);
    for (const { id, applies, faults, readsHeaders, readsBody } of rules) {
      if ((readsHeaders && !hasAllHeaders.response) || (readsBody && !hasBody)) continue;
      if (id === "errors.no-5xx" && ofGateways.has(status)) continue;
      if (id === "create.result-as-requested" && !isKnown(exchange.body)) continue;
      if (!applies(response!)) continue;
      const found = faults(response!, validator);
      if (found.length === 0) tally.held(id);
      else
        tally.contradicted(id, () => ({
          expected: titleOf(id),
          actual: `${status}: ${found.slice(0, 5).join(", ")}`,
          exchanges: [tally.evidence(exchange)],
        }));
    }
  }

  /** Returns what a request without a key meets if it is about a record that its owner has seen. */
  function hiddenIds(call: Call): RequirementId[] {
    const { does, kind } = meaningOf(call.operation) ?? {};
    const reference = does === "verify" ? lastSegment(call.response!) : textOf(call.data["reference"]);
    if (kind === undefined || !isShown(kind, reference)) return [];
    if (kind === "checkout") return ["access.others-hidden-after-owner"];
    return does === "verify"
      ? ["auth.record-hidden-without-key", "access.record-hidden-after-owner"]
      : ["access.create-refused-after-owner"];
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
      const isElsewhere =
        headers["authorization"] !== undefined ||
        headers["cookie"] !== undefined ||
        /key|token/i.test(exchange.path.split("?")[1] ?? "");
      for (const each of [id, ...(isElsewhere ? (["auth.key-only-in-header"] as const) : []), ...hiddenIds(call)])
        judge(each, !isAccepted, call, "a request without x-api-key was accepted");
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
    if (!isObject(sent) && isRefused && [400, 422].includes(status))
      judge("refusal.malformed-400", status === 400, call, "a body that is not a JSON object");
    if (sent === undefined) return judge(malformed, isRefused, call, "a body that is not JSON");
    if (!isObject(sent))
      return judge(isPayout ? "json.object-required" : malformed, isRefused, call, "a body that is no object");
    const isValid = call.response!.request.effect === "moves-money" && !isNoAddress(sent["webhookURL"]);
    const forbidden = isValid ? [] : forbiddenIn(operation, sent, profile);
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

  /** Judges the items of a list by the filters of the request, and their order. */
  function judgeList(call: Call) {
    const { items } = call.data;
    if (!Array.isArray(items) || !items.every(isObject)) return;
    const query = new URLSearchParams(call.response!.request.path.split("?")[1] ?? "");
    const filters: [name: string, isIn: (item: Fields, value: string) => boolean][] = [
      ["status", (item, value) => item["status"] === value],
      ["merchantsReference", (item, value) => item["merchantsReference"] === value],
      ["createdAfter", (item, value) => Date.parse(textOf(item["createdAt"])) >= Date.parse(value)],
      ["createdBefore", (item, value) => Date.parse(textOf(item["createdAt"])) < Date.parse(value)],
    ];
    for (const [name, isIn] of filters) {
      const value = query.get(name);
      if (value === null) continue;
      const isFiltered = items.every((item) => isIn(item, value));
      judge("lists.filters", isFiltered, call, `an item that the filter ${name} excludes`);
    }
    const times = items.map((item) => textOf(item["createdAt"]));
    judge(
      "lists.newest-first",
      times.every((time, at) => at === 0 || time <= times[at - 1]!),
      call,
      "another order",
    );
  }

  /** Judges that each exchange has an x-request-id of its own. */
  function judgeRequestId({ exchange }: Call) {
    const id = exchange.response!.headers["x-request-id"];
    if (id === undefined || exchange.sentAt === previous.sentAt) return;
    const isOwn = id !== previous.id && id !== exchange.headers["x-request-id"];
    previous = { id, sentAt: exchange.sentAt };
    if (isOwn) tally.held("answers.request-id-own");
    else
      tally.contradicted("answers.request-id-own", () => ({
        expected: titleOf("answers.request-id-own"),
        actual: "the x-request-id of the request, or of the exchange before",
        exchanges: [tally.evidence(exchange)],
      }));
  }

  /** Judges what an accepted request gets. */
  function judgeAccepted(call: Call) {
    const { exchange, operation, status, data, sent, response } = call;
    const ok = ofStatus200[operation];
    if (ok) judge(ok, status === 200, call, "another status than 200");
    if (!isKnown(exchange.response!.body)) return;
    const shape = ofShape[operation];
    if (shape && status === 200) judge(shape, differences(response!, validator).length === 0, call, "another shape");
    if (data["webhookURL"] === null) judge("addresses.left-out", false, call, "webhookURL is null");
    const [ofWord, known] = ofStatus[operation] ?? [];
    if (ofWord && data["status"] !== undefined) {
      const isOk = known!.includes(data["status"]);
      judge(ofWord, isOk, call, `status ${textOf(data["status"]).slice(0, 40)}`);
      if (!isOk && operation.endsWith("Disbursement"))
        judge("status.settles", false, call, `status ${textOf(data["status"]).slice(0, 40)}`);
    }
    if (operation.startsWith("list")) judgeList(call);
    if (operation === "verifyDisbursement")
      judge(
        "verify.timestamps",
        [data["createdAt"], data["updatedAt"]].every(isTimestamp),
        call,
        "another form of time",
      );
    if (!(operation in requestSchemas) || !isObject(sent)) return;
    const { amount, reference } = sent;
    const isPayout = operation === "createDisbursement";
    const isValid = response!.request.effect === "moves-money";
    const isEchoed = data["merchantsReference"] === (reference ?? data["reference"]);
    const echoes: [RequirementId, boolean][] = isPayout
      ? [
          ["create.amount-echoed", data["amount"] === amount || !isExact(amount)],
          ["create.reference-echoed", isEchoed || !isExact(reference)],
        ]
      : [
          ["checkout.link", linkOf(response!, Object.values(sent).map(textOf)) !== undefined],
          ["checkout.reference", referencesOf(response!).length > 0],
          ["checkout-body.echo", data["amount"] === amount && isEchoed],
        ];
    for (const [id, isOk] of isValid ? echoes : []) judge(id, isOk, call, "not so in the response");
    const type = exchange.headers["content-type"];
    const isJson = /^application\/json\s*(;|$)/i.test(type ?? "");
    if (call.hasAllHeaders.request) judge("refusal.media-type-415", isJson, call, `Content-Type ${type ?? "missing"}`);
    judge("limits.body-size", Buffer.byteLength(exchange.body as string) <= mostBytes, call, "a larger body");
  }

  return {
    see(call: Call) {
      if (!call.response) return;
      judgeResponse(call);
      judgeRequestId(call);
      const isAccepted = call.status >= 200 && call.status < 300;
      judgeKey(call, isAccepted);
      judgeBody(call, isAccepted);
      if (isAccepted) judgeAccepted(call);
    },
  };
}

/** The requirements that these rules judge. */
export const ofResponses: readonly RequirementId[] = [
  ...watches.map(({ id }) => id),
  ...Object.values(needsKey),
  ...Object.values(refusesKey),
  ...Object.values(ofStatus200),
  ...Object.values(ofShape),
  "addresses.left-out",
  ...Object.values(ofStatus).map(([id]) => id),
  "sandbox.needs-key",
  "auth.key-only-in-header",
  "auth.record-hidden-without-key",
  "access.record-hidden-after-owner",
  "access.create-refused-after-owner",
  "access.others-hidden-after-owner",
  "verify.timestamps",
  "status.settles",
  "create.amount-echoed",
  "create.reference-echoed",
  "checkout.link",
  "checkout.reference",
  "checkout-body.echo",
  "checkout-request.locale",
  "addresses.refused",
  "json-values.lone-surrogate",
  "limits.address-length",
  "limits.amount-maximum",
  "limits.body-size",
  "limits.reference-characters",
  "limits.reference-length",
  "refusal.malformed-400",
  "refusal.media-type-415",
  "lists.filters",
  "lists.newest-first",
  "answers.request-id-own",
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
