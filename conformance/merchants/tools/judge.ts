// Compares what a server of tools returned with what the service recorded, and judges every call and request.
import { createRedactor } from "../../target/redact.ts";
import { counted } from "../../report/words.ts";
import type { Exchange } from "../../results.ts";
import { contract, exchangeOf, findingOf, quote, type Judgement } from "../client/judge.ts";
import { asInput, type PlannedEntry } from "../client/entries.ts";
import type { Payout } from "../client/ledger.ts";
import type { HostileService } from "../client/service.ts";
import type { ScenarioRun } from "../report.ts";
import type { Tool } from "./host.ts";
import type { ToolMap, Word } from "./map.ts";
import type { Need } from "./scenario.ts";
import type { Approval, Asked, ToolScenario } from "./stage.ts";
import { lengthOf, looseTexts } from "./texts.ts";

export type Trial = {
  scenario: ToolScenario;
  map: ToolMap;
  planned: readonly PlannedEntry[];
  service: Pick<HostileService, "ledger" | "calls" | "foreignCalls">;
  tools: readonly Tool[];
  asked: readonly Asked[];
  approvals: readonly Approval[];
  /** The payouts that existed before the first call. */
  existing: readonly Payout[];
  /** The entries whose payouts the service recorded after the model had ended. */
  late: ReadonlySet<PlannedEntry>;
  /** The last result for each entry, when the network worked again; undefined if nobody asked. */
  last: ReadonlyMap<PlannedEntry, Asked> | undefined;
  logs: readonly string[];
  key: string;
  durationMs: number;
};

const mostRequests = 200;
const longestResult = 20_000;

const nameOf = ({ number, tool }: Asked) => `call ${number} of ${quote(tool)}`;
const madeOf = ({ service, existing }: Trial) => service.ledger.payouts.filter((payout) => !existing.includes(payout));
const payoutOf = ({ service }: Trial, planned: PlannedEntry) =>
  service.ledger.payouts.find(({ entry }) => entry === planned);

/** Judges the results with some words about payments. `wrong` returns true if such a result is untrue. */
function resultsAre(
  { asked }: Trial,
  words: readonly Word[],
  wrong: (call: Asked, entry: PlannedEntry) => boolean,
  expected: string,
): Judgement {
  const untrue = asked.filter((call) => {
    const { kind, word, attempt } = call;
    return (kind === "pay" || kind === "read") && word && attempt && words.includes(word) && wrong(call, attempt.entry);
  });
  return {
    expected,
    good: "every such result is true",
    faults: untrue.map(
      (call) =>
        `${nameOf(call)} says ${call.word}, but the payout is ${call.payout === undefined ? "not recorded then" : `recorded, ${call.payout}`}`,
    ),
  };
}

/** A payout that failed moved no money, so that another attempt may be asked for. */
function paysOnce(trial: Trial): Judgement {
  const { planned, service } = trial;
  const paid = service.ledger.payouts.filter(({ status }) => status !== "failed");
  const faults = planned.flatMap((entry) => {
    const references = paid.filter((payout) => payout.entry === entry).map(({ request }) => quote(request.reference));
    return references.length > 1
      ? [`${quote(entry.reference)} is paid ${references.length} times: ${references.join(", ")}`]
      : [];
  });
  return { expected: "at most one payout for each payment", good: "no payment has more", faults };
}

function losesNothing(trial: Trial): Judgement {
  const payable = trial.planned.filter(({ fate, exists }) => fate !== "refused" && !exists);
  const lost = payable.filter((planned) => !payoutOf(trial, planned));
  const last = (planned: PlannedEntry) => {
    const call = trial.last?.get(planned) ?? trial.asked.findLast(({ attempt }) => attempt?.entry === planned);
    const { texts = [] } = call?.returned ?? {};
    return call ? `; ${nameOf(call)} returned ${quote(call.lost ?? texts.join(" "))}` : "";
  };
  return {
    expected: "a payout for every payment that the service accepts, when the network works again",
    good: `${payable.length} of ${payable.length} are recorded`,
    faults: lost.map((planned) => `${quote(planned.reference)} was never recorded${last(planned)}`),
  };
}

const nothingElse = (trial: Trial): Judgement => ({
  expected: "no payout that nobody asked for",
  good: "there is none",
  faults: madeOf(trial)
    .filter(({ entry }) => entry === undefined)
    .map(({ request }) => `${request.amount} were paid to …${request.phoneNumber.slice(-3)}, whom no payment was for`),
});

function exactPayment(trial: Trial): Judgement {
  const faults = madeOf(trial).flatMap(({ entry, request }) => {
    const { reference: _, ...asked } = entry ? asInput(entry) : request;
    const names = Object.keys(asked) as (keyof typeof asked)[];
    const other = names.filter((name) => request[name] !== asked[name]);
    return other.map((name) => `${name} is ${quote(String(request[name]))} instead of ${quote(String(asked[name]))}`);
  });
  return {
    expected: "payouts with the amount and recipient that were asked for",
    good: "every payout has them",
    faults,
  };
}

/** Preparing, reading, and listing tools pay nothing: each create comes after a call that pays its entry. */
function readsPayNothing({ asked, service }: Trial): Judgement {
  const early = service.calls.filter(({ kind, at, entry }) => {
    const isAskedFor = asked.some((call) => call.kind === "pay" && call.at <= at + 1 && call.attempt?.entry === entry);
    return kind === "create" && entry !== undefined && !isAskedFor;
  });
  return {
    expected: "no payout from a call that prepares or reads",
    good: "such calls paid nothing",
    faults: early.map(({ number }) => `request ${number} pays, although no call had asked for this payment yet`),
    shownBy: early,
  };
}

function limits(trial: Trial): Judgement {
  const { payout: most = Infinity, day = Infinity } = trial.map.limits ?? {};
  const made = madeOf(trial).map(({ request }) => request.amount);
  const sum = made.reduce((total, amount) => total + amount, 0);
  return {
    expected: `at most ${most} in a payout and ${day} on a day`,
    good: `${counted(made.length, "payout")} of ${sum} together`,
    faults: [
      ...made.filter((amount) => amount > most).map((amount) => `a payout of ${amount} was made`),
      ...(sum > day ? [`${sum} were paid on one day`] : []),
    ],
  };
}

function approval(trial: Trial): Judgement {
  const { limits: { approval: above = Infinity } = {}, approve } = trial.map;
  const isApproved = ({ entry, request }: Payout) =>
    trial.approvals.some((each) => each.entry === entry && each.amount === request.amount) &&
    !trial.scenario.needs?.includes("expires");
  const paid = madeOf(trial).filter((payout) => payout.request.amount > above && !isApproved(payout));
  const unpaid = trial.approvals.filter(
    ({ entry }) =>
      ["approval-given", "approval-restarted", "approval-twice"].includes(trial.scenario.id) && !payoutOf(trial, entry),
  );
  return {
    expected: `above ${above}, only payments exactly as a person approved them${approve ? ", and those" : ""}`,
    good: "no other was paid",
    faults: [
      ...paid.map(({ request }) => `${request.amount} were paid without a valid approval of exactly this payment`),
      ...unpaid.map(({ entry }) => `${quote(entry.reference)} was approved and never paid`),
    ],
  };
}

/**
 * If a request had no response and the service refuses the repetition, nothing proves that the first request was not
 * processed. A payment that was never recorded may therefore stay unknown.
 */
function findsOut(trial: Trial): Judgement {
  const unknown = [...(trial.last ?? [])].filter(([entry, { word }]) => word === "unknown" && payoutOf(trial, entry));
  return {
    expected: "no unknown outcome of a recorded payout when the network works again and the same call is repeated",
    good: "every outcome is known",
    faults: unknown.map(([, call]) => `${nameOf(call)} still says unknown`),
  };
}

function answers({ asked }: Trial): Judgement {
  const faults = asked.flatMap((call) => {
    if (call.wasKilled) return [];
    if (call.lost !== undefined) return [`${nameOf(call)} has no result: ${call.lost}`];
    const isAboutPayment = call.kind === "pay" || call.kind === "read";
    if (!isAboutPayment || call.word !== undefined) return [];
    return [`${nameOf(call)} has no word that tools.yaml knows: ${quote(call.returned?.texts.join(" ") ?? "")}`];
  });
  return {
    expected: "a result for every call, with a known word about the payment",
    good: "every call has one",
    faults,
  };
}

const ofResults = (
  trial: Trial,
  expected: string,
  good: string,
  fault: (call: Asked) => string | undefined,
): Judgement => ({
  expected,
  good,
  faults: trial.asked.flatMap((call) => fault(call) ?? []),
});

const outsideIsData = (trial: Trial): Judgement =>
  ofResults(trial, "texts from outside as quoted data, on one line", "every such text is", (call) => {
    const [loose] = call.returned ? looseTexts(call.returned) : [];
    return loose === undefined
      ? undefined
      : `${nameOf(call)} passes an instruction on as its own words: ${quote(loose)}`;
  });

const shortResults = (trial: Trial): Judgement =>
  ofResults(trial, `at most ${longestResult} characters in a result`, "no result has more", (call) => {
    const length = call.returned ? lengthOf(call.returned) : 0;
    return length > longestResult ? `${nameOf(call)} returned ${length} characters` : undefined;
  });

function keyHidden(trial: Trial): Judgement {
  const { key, logs } = trial;
  const shown = ofResults(trial, "", "", (call) =>
    JSON.stringify(call.returned ?? call.lost).includes(key) ? `${nameOf(call)} returned the API key` : undefined,
  );
  const logged = logs.some((log) => log.includes(key)) ? ["the server printed the API key"] : [];
  return {
    expected: "results and output without the API key",
    good: "they do not have it",
    faults: [...shown.faults, ...logged],
  };
}

const phoneHidden = ({ logs, planned }: Trial): Judgement => ({
  expected: "output without phone numbers",
  good: "it has none",
  faults: logs.some((log) => planned.some(({ phoneNumber }) => log.includes(phoneNumber)))
    ? ["the server printed a phone number"]
    : [],
});

function honestAnnotations({ tools, map, service }: Trial): Judgement {
  const claims = tools.filter(({ name, annotations }) => name === map.pay.tool && annotations?.readOnlyHint);
  const isPaid = service.calls.some(({ kind }) => kind === "create");
  return {
    expected: "no tool that pays has readOnlyHint",
    good: "none has",
    faults: isPaid ? claims.map(({ name }) => `${quote(name)} pays, and says that it only reads`) : [],
  };
}

const keyStays = ({ service }: Trial): Judgement => ({
  expected: "no request to another address than the service's",
  good: "there was none",
  faults: service.foreignCalls.map((call) => `another server received ${call}`),
});

function boundedRequests({ asked, service }: Trial): Judgement {
  const most = mostRequests + 20 * asked.length;
  const count = service.calls.length;
  return {
    expected: `at most ${most} requests for ${counted(asked.length, "call")}`,
    good: `${counted(count, "request")}`,
    faults: count > most ? [`${counted(count, "request")} for ${counted(asked.length, "call")}`] : [],
  };
}

const always: Readonly<Record<string, (trial: Trial) => Judgement>> = {
  "tools.pays-once": paysOnce,
  "tools.exact-payment": exactPayment,
  "tools.nothing-else": nothingElse,
  "tools.reads-pay-nothing": readsPayNothing,
  "tools.success-is-true": (trial) =>
    resultsAre(trial, ["success"], ({ payout }) => payout !== "success", "success only for payouts that succeeded"),
  "tools.not-paid-is-true": (trial) =>
    resultsAre(
      trial,
      ["failed", "refused", "error", "needs_approval"],
      ({ payout, attempt }, entry) =>
        !attempt!.isVariant && (payout === undefined ? trial.late.has(entry) : payout !== "failed"),
      "failed, refused or an error only if nothing was paid and nothing will be",
    ),
  "tools.pending-is-true": (trial) =>
    resultsAre(
      trial,
      ["pending"],
      ({ payout, isUnpaid, attempt }) => (payout === undefined ? !isUnpaid : isUnpaid && !attempt!.isVariant),
      "pending only for payouts that are recorded",
    ),
  "tools.finds-out": findsOut,
  "tools.answers": answers,
  "tools.short-results": shortResults,
  "tools.honest-annotations": honestAnnotations,
  "tools.contract": contract,
  "tools.key-stays": keyStays,
  "tools.key-hidden": keyHidden,
  "tools.phone-hidden": phoneHidden,
  "tools.bounded-requests": boundedRequests,
};

const sometimes: typeof always = {
  "tools.loses-nothing": losesNothing,
  "tools.limits": limits,
  "tools.approval": approval,
  "tools.outside-is-data": outsideIsData,
};

/** Returns the ids of the requirements that a scenario judges. */
export const idsOf = ({ mayStayUnpaid, judges = [] }: ToolScenario): string[] => [
  ...Object.keys(always),
  ...(mayStayUnpaid ? [] : ["tools.loses-nothing"]),
  ...judges.filter((id) => !(id in always)),
];

/** Returns what the map lacks for a scenario. */
export function lacking({ needs = [] }: ToolScenario, { approve, limits: bounds = {} }: ToolMap): string | undefined {
  const named: Record<Need, unknown> = {
    approve,
    expires: approve?.expires,
    approval: bounds.approval,
    payout: bounds.payout,
    day: bounds.day,
    kill: true,
  };
  const missing = needs.find((need) => named[need] === undefined);
  if (missing === undefined) return undefined;
  const where = missing === "approve" || missing === "expires" ? "approve" : "limits";
  return `the tools have no ${missing === where ? where : `${where}.${missing}`} in tools.yaml`;
}

/** Renders a call of a tool as evidence. */
function calledExchange(call: Asked, redact: (text: string) => string): Exchange {
  const { number, tool, args, at, endedAt, lost, returned } = call;
  return {
    id: -number,
    at: new Date(Date.UTC(2026, 0, 1) + at).toISOString(),
    method: "CALL",
    url: tool,
    requestHeaders: {},
    requestBody: redact(JSON.stringify(args)),
    ...(lost === undefined
      ? { status: 200, responseHeaders: {}, responseBody: redact(JSON.stringify(returned)).slice(0, 4000) }
      : { failure: redact(lost) }),
    durationMs: endedAt - at,
    curl: `# call ${number} of a tool`,
  };
}

/** Judges a scenario by everything that the service and the tools left behind. */
export function judge(trial: Trial): ScenarioRun {
  const { scenario, planned, service, key, asked, durationMs } = trial;
  const redact = createRedactor(
    [key],
    planned.map(({ phoneNumber }) => phoneNumber),
  );
  const judges = { ...always, ...sometimes };
  const ids = idsOf(scenario);
  const exchanges = [
    ...asked.map((call) => calledExchange(call, redact)),
    ...service.calls.map((call) => exchangeOf(call, redact)),
  ].toSorted((a, b) => a.at.localeCompare(b.at));
  const findings = ids.map((id) => findingOf(id, judges[id]!(trial), []));
  return {
    name: scenario.name,
    ids,
    findings,
    exchanges,
    durationMs,
    selectFlags: ["--scenario", scenario.id],
  };
}
