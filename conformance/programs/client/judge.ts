// Compares what a client reported with what the service recorded, and judges every request that it sent.
import { Prerequisite } from "../../check.ts";
import { createRedactor, redactHeaders } from "../../target/redact.ts";
import { counted } from "../../report/words.ts";
import type { Exchange } from "../../results.ts";
import type { Finding } from "../../run/verdicts.ts";
import type { ScenarioRun } from "../run.ts";
import { asInput, type PlannedEntry } from "./entries.ts";
import type { Ended } from "./launch.ts";
import type { Payout } from "./ledger.ts";
import type { Claim, Outcome } from "./protocol.ts";
import { idsOf, type Scenario } from "./scenario.ts";
import type { Call, HostileService } from "./service.ts";
import { waitAfter } from "./waits.ts";

/** One start of one copy of the program. */
export type Run = Ended & {
  /** The number of the start, from 0. */
  start: number;
  /** Why the suite ended the program; undefined if it ended by itself. */
  stopped: "killed" | "overdue" | undefined;
  durationMs: number;
  claims: Claim[];
  /** The lines of stdout that are not part of the protocol. */
  strayLines: string[];
};

type Trial = {
  scenario: Scenario;
  planned: readonly PlannedEntry[];
  service: Pick<HostileService, "ledger" | "calls" | "foreignCalls">;
  runs: readonly Run[];
  key: string;
  settings: { limitMs: number; timeoutMs: number };
  durationMs: number;
  /** The longest time in which the suite did not run although it could have, in ms. */
  heldUpMs: number;
};

/**
 * What fails if a program reports outcomes as unknown. On a busy machine a sound program also reports unknown outcomes,
 * because the time limit of its requests continues while it waits for a processor.
 */
const failsIfUnknown: ReadonlySet<string> = new Set(["client.finds-out", "client.loses-nothing"]);

/**
 * How a requirement is judged: what is expected, the faults, one line each, and the requests that show them, by default
 * all.
 */
export type Judgement = { expected: string; good: string; faults: string[]; shownBy?: readonly Call[] };

const mostRequests = 40;
/**
 * A client that waits between its attempts sends fewer requests than this for an entry while the service fails for a
 * second.
 */
const mostInASecond = 9;
const longestLine = 120;

const secondsOf = (ms: number) => `${Math.round(ms / 1000)} s`;

export const quote = (text: string) =>
  JSON.stringify(text.length > longestLine ? `${text.slice(0, longestLine)}…` : text);

const nameOf = ({ reference, story }: Pick<PlannedEntry, "reference" | "story">) =>
  quote(reference) + (story ? ` (${story.about})` : "");

const paymentsOf = ({ service }: Trial, planned: PlannedEntry): Payout[] =>
  service.ledger.payouts.filter(({ entry }) => entry === planned);

const payoutOf = (trial: Trial, planned: PlannedEntry): Payout | undefined => paymentsOf(trial, planned)[0];

/** Returns the requests for some entries. */
const callsFor = ({ service }: Pick<Trial, "service">, about: readonly { reference: string }[]): Call[] =>
  service.calls.filter(({ entry }) => about.some(({ reference }) => reference === entry?.reference));

const truthOf = (payout: Payout | undefined) => (payout ? `recorded, ${payout.status}` : "not recorded");

/** Judges the reports of one outcome. `wrong` returns what is wrong with a report, or undefined. */
function judgeClaims(
  trial: Trial,
  outcome: Outcome,
  wrong: (payout: Payout | undefined, run: Run) => boolean,
  expected: string,
): Judgement {
  const untrue = trial.runs.flatMap((run) =>
    run.claims.flatMap(({ reference, outcome: claimed }) => {
      const planned = trial.planned.find((each) => each.reference === reference);
      const payout = planned && payoutOf(trial, planned);
      return claimed !== outcome || !planned || !wrong(payout, run) ? [] : [{ reference, planned, payout }];
    }),
  );
  return {
    expected,
    good: "every such report is true",
    faults: untrue.map(
      ({ planned, payout }) => `${nameOf(planned)} is reported as ${outcome}, but it is ${truthOf(payout)}`,
    ),
    shownBy: callsFor(trial, untrue),
  };
}

function paysOnce(trial: Trial): Judgement {
  const repeated = trial.planned.filter((planned) => paymentsOf(trial, planned).length > 1);
  const faults = repeated.map((planned) => {
    const payments = paymentsOf(trial, planned);
    const references = payments.map(({ request }) => quote(request.reference)).join(", ");
    return `${nameOf(planned)} is paid ${payments.length} times: ${references}`;
  });
  const shownBy = callsFor(trial, repeated);
  return { expected: "at most one payout per entry", good: "no entry has more", faults, shownBy };
}

/** Returns how the program failed, if it did. This end explains why it left entries undone. */
const badEnds = ({ runs }: Trial): string[] => [
  ...new Set(
    runs.flatMap(({ stopped, code }) =>
      stopped === undefined && code !== 0 ? [`the program ended with exit code ${code}`] : [],
    ),
  ),
];

function losesNothing(trial: Trial): Judgement {
  const payable = trial.planned.filter(
    ({ fate, exists = {}, story }) => fate !== "refused" && Object.keys(exists).length === 0 && !story?.mayGiveUp,
  );
  const lost = payable.filter((planned) => paymentsOf(trial, planned).length === 0);
  return {
    expected: "a payout for every entry that the service accepts",
    good: `${payable.length} of ${payable.length} are recorded`,
    faults: [
      ...(lost.length > 0 ? badEnds(trial) : []),
      ...lost.map((planned) => `${nameOf(planned)} was never recorded`),
    ],
    shownBy: callsFor(trial, lost),
  };
}

const referenceOf = ({ body }: Call) => body!.reference;

function sameReference({ service }: Trial): Judgement {
  const creates = service.calls.filter(({ body }) => body);
  const wrong = creates.flatMap((call) => {
    const { entry, number } = call;
    const first = creates.find((each) => each.entry === entry)!;
    const other = creates.find((each) => each.entry !== entry && referenceOf(each) === referenceOf(call));
    const what = `request ${number} has the reference ${quote(referenceOf(call))}`;
    if (!entry) return [{ call, fault: `${what}, and pays no entry` }];
    if (referenceOf(first) !== referenceOf(call)) {
      return [
        { call, fault: `${what}, but request ${first.number} for the same entry has ${quote(referenceOf(first))}` },
      ];
    }
    return other ? [{ call, fault: `${what}, as request ${other.number} for another entry` }] : [];
  });
  return {
    expected: "one reference for each entry, in every request and after every restart",
    good: "no entry has two references, and no two entries have the same",
    faults: wrong.map(({ fault }) => fault),
    shownBy: callsFor(
      { service },
      wrong.flatMap(({ call }) => call.entry ?? []),
    ),
  };
}

function exactRequest({ service }: Trial): Judgement {
  const faults = service.calls.flatMap(({ body, entry, number }) => {
    if (!body || !entry) return [];
    const input = asInput(entry);
    const changed = (Object.keys(input) as (keyof typeof input)[]).filter(
      (name) => name !== "reference" && body[name] !== input[name],
    );
    if (changed.length === 0) return [];
    return [`request ${number} for ${quote(entry.reference)} has another ${changed.join(" and ")}`];
  });
  return { expected: "amount, recipient, country and currency of the entry", good: "every request has them", faults };
}

function findsOut(trial: Trial): Judgement {
  const { runs, planned, scenario } = trial;
  const { mayBeUnknown = 0 } = scenario;
  const most = Math.floor((planned.length * mayBeUnknown) / 100);
  const entryOf = ({ reference }: Claim) => planned.find((each) => each.reference === reference);
  const unknown = runs
    .filter(({ stopped }) => stopped !== "killed")
    .map(({ claims }) => claims.filter((claim) => claim.outcome === "unknown" && !entryOf(claim)?.story?.mayBeUnknown))
    .filter((claims) => claims.length > most);
  return {
    expected: `at most ${most} of ${planned.filter(({ story }) => !story?.mayBeUnknown).length} entries unknown`,
    good: "no more are unknown",
    faults: unknown.map((claims) => `unknown: ${claims.map((claim) => nameOf(entryOf(claim) ?? claim)).join(", ")}`),
    shownBy: callsFor(trial, unknown.flat()),
  };
}

/** Returns what is wrong with the output of a start that ended by itself. */
function outputFaults(
  { claims, code, stderr }: Run,
  planned: readonly PlannedEntry[],
  most: number,
  redact: (text: string) => string,
) {
  const countOf = (reference: string) => claims.filter((claim) => claim.reference === reference).length;
  const strange = claims.filter(({ reference }) => !planned.some((each) => each.reference === reference));
  const missing = planned.filter(({ reference }) => countOf(reference) === 0);
  const repeated = planned.filter(({ reference }) => countOf(reference) > most);
  const lastLine = redact(stderr.trim().split("\n").at(-1) ?? "");
  return [
    ...(code === 0 ? [] : [`exit code ${code}${lastLine === "" ? "" : `; last line of stderr: ${quote(lastLine)}`}`]),
    ...missing.map(({ reference }) => `no outcome for ${quote(reference)}`),
    ...repeated.map(({ reference }) => `${countOf(reference)} outcomes for ${quote(reference)}`),
    ...strange.map(({ reference }) => `an outcome for ${quote(reference)}, which is not in the input`),
  ];
}

function reportsAll({ runs, planned, scenario }: Trial, redact: (text: string) => string): Judgement {
  // An entry that is twice in the input may have a line for each.
  const most = scenario.repeated ? 2 : 1;
  const faults = runs.flatMap((run) => [
    ...run.strayLines.slice(0, 1).map((line) => `stdout has a line that is no report: ${quote(redact(line))}`),
    ...(run.stopped === undefined ? outputFaults(run, planned, most, redact) : []),
  ]);
  return { expected: "one line for each entry on stdout, and exit code 0", good: "complete", faults };
}

export const contract = ({ service }: Pick<Trial, "service">): Judgement => ({
  expected: "requests as the OpenAPI document describes them",
  good: `${counted(service.calls.length, "request")} as described`,
  faults: service.calls.flatMap(({ faults, number }) => faults.map((fault) => `request ${number}: ${fault}`)),
  shownBy: service.calls.filter(({ faults }) => faults.length > 0),
});

function hidden({ runs }: Trial, what: string, secrets: readonly string[]): Judgement {
  const faults = runs.flatMap(({ stdout, stderr }) =>
    Object.entries({ stdout, stderr })
      .filter(([, text]) => secrets.some((secret) => text.includes(secret)))
      .map(([name]) => `${name} contains ${what}`),
  );
  return { expected: `output without ${what}`, good: `the output does not contain ${what}`, faults };
}

function boundedRequests({ service, planned, scenario }: Trial): Judgement {
  const starts = (scenario.starts ?? [{}]).reduce((sum, { workers = 1 }) => sum + workers, 0);
  const most = mostRequests * starts;
  const counts = planned.map((each) => ({ each, count: service.calls.filter(({ entry }) => entry === each).length }));
  const total = service.calls.length;
  return {
    expected: `at most ${most} requests per entry`,
    good: `at most ${Math.max(...counts.map(({ count }) => count))} per entry`,
    faults: [
      ...counts
        .filter(({ count }) => count > most)
        .map(({ each, count }) => `${count} requests for ${quote(each.reference)}`),
      ...(total > most * planned.length ? [`${total} requests for ${counted(planned.length, "entry")}`] : []),
    ],
  };
}

const overdueOf = ({ runs }: Trial) => runs.filter(({ stopped }) => stopped === "overdue");

function boundedTime(trial: Trial): Judgement {
  const { runs, settings } = trial;
  const limit = secondsOf(settings.limitMs);
  return {
    expected: `the program ends within ${limit}`,
    good: `after ${(Math.max(...runs.map(({ durationMs }) => durationMs)) / 1000).toFixed(1)} s at most`,
    faults: overdueOf(trial).map(
      () => `too slow: still running after ${limit}, so the suite ended it. --time-limit allows more`,
    ),
  };
}

const foreign = (trial: Trial): Judgement => ({
  expected: "no request to another address than the service's",
  good: "there was none",
  faults: trial.service.foreignCalls.map((call) => `another server received ${call}`),
});

const noRedirect = ({ service }: Trial): Judgement => {
  const followed = [
    ...service.foreignCalls,
    ...service.calls.filter(({ path }) => path.startsWith("/elsewhere")).map(({ method, path }) => `${method} ${path}`),
  ];
  const faults = followed.map((call) => `a redirect was followed: ${call}`);
  return { expected: "no request to the target of a redirect", good: "there was none", faults };
};

/** Pairs each create of an entry with the entry's next create in the same start. */
function successive(calls: readonly Call[]): [Call, Call][] {
  const creates = calls.filter(({ body }) => body);
  return creates.flatMap((call, index): [Call, Call][] => {
    const next = creates
      .slice(index + 1)
      .find(({ body, start }) => body!.reference === call.body!.reference && start === call.start);
    return next ? [[call, next]] : [];
  });
}

function waitsAsTold({ service }: Trial): Judgement {
  const faults = successive(service.calls).flatMap(([call, next]) => {
    const wait = waitAfter(call);
    const waited = next.at - call.at;
    // Timers are not exact to the millisecond.
    if (wait === undefined || waited >= wait * 0.95) return [];
    const [asked, actual] = [wait, waited].map((ms) => `${Math.round(ms)} ms`);
    return [`request ${next.number} came ${actual} after request ${call.number}, which asked to wait ${asked}`];
  });
  return { expected: "no repetition before the time in Retry-After", good: "every repetition waited", faults };
}

function backsOff({ service, planned }: Trial): Judgement {
  const faults = planned.flatMap((each) => {
    const own = service.calls.filter(({ entry, kind }) => entry === each && kind === "create");
    const hasty = own.find((call, index) => (own[index + mostInASecond]?.at ?? Infinity) - call.at < 1000);
    return hasty ? [`${mostInASecond + 1} requests for ${quote(each.reference)} within a second`] : [];
  });
  return { expected: `at most ${mostInASecond} attempts per second`, good: "no more", faults };
}

/** Returns how each requirement is judged, by its id. */
function judgesOf(trial: Trial, redact: (text: string) => string): Record<string, () => Judgement> {
  const claims =
    (outcome: Outcome, isWrong: (payout: Payout | undefined, run: Run) => boolean, expected: string) => () =>
      judgeClaims(trial, outcome, isWrong, expected);
  const phones = trial.planned.map(({ phoneNumber }) => phoneNumber);
  return {
    "client.pays-once": () => paysOnce(trial),
    "client.loses-nothing": () => losesNothing(trial),
    "client.same-reference": () => sameReference(trial),
    "client.exact-request": () => exactRequest(trial),
    "client.paid-is-true": claims(
      "paid",
      (payout) => payout?.status !== "success",
      "paid only for payouts that succeeded",
    ),
    "client.failed-is-true": claims(
      "failed",
      (payout) => payout?.status !== "failed",
      "failed only for payouts that were recorded and failed",
    ),
    "client.refused-is-true": claims(
      "refused",
      (payout) => payout !== undefined,
      "refused only for entries that are not recorded",
    ),
    "client.pending-is-true": claims(
      "pending",
      (payout, { start }) => payout === undefined || payout.toldIn.has(start),
      "pending only for recorded payouts whose outcome the service did not report",
    ),
    "client.finds-out": () => findsOut(trial),
    "client.reports-all": () => reportsAll(trial, redact),
    "client.contract": () => contract(trial),
    "client.no-redirect": () => noRedirect(trial),
    "client.key-stays": () => foreign(trial),
    "client.key-hidden": () => hidden(trial, "the API key", [trial.key]),
    "client.phone-hidden": () => hidden(trial, "a phone number", phones),
    "client.bounded-requests": () => boundedRequests(trial),
    "client.bounded-time": () => boundedTime(trial),
    "client.waits-as-told": () => waitsAsTold(trial),
    "client.backs-off": () => backsOff(trial),
  };
}

const began = Date.UTC(2026, 0, 1);

export function exchangeOf(
  { number, at, method, path, headers, text, sent = {}, endedAt }: Call,
  redact: (text: string) => string,
) {
  const { status, headers: sentHeaders = {}, body = "", failure } = sent;
  const exchange: Exchange = {
    id: number,
    at: new Date(began + at).toISOString(),
    method,
    url: redact(path),
    requestHeaders: redactHeaders(headers, Object.assign(redact, { learn: () => undefined })),
    ...(text === "" ? {} : { requestBody: redact(text) }),
    ...(status === undefined
      ? { failure: failure ?? "the client closed the connection" }
      : { status, responseHeaders: sentHeaders, responseBody: redact(body) }),
    durationMs: (endedAt ?? at) - at,
    curl: `# request ${number} of the client under test`,
  };
  return exchange;
}

/** Turns a judgement into a finding. @param evidence the exchanges that show the faults; none for all */
export function findingOf(id: string, judgement: Judgement, evidence: Exchange[]): Finding {
  const { expected, good, faults } = judgement;
  if (faults.length === 0) return { id, ok: true, expected, actual: good };
  const actual = faults.slice(0, 3).join("; ") + (faults.length > 3 ? `; and ${faults.length - 3} more` : "");
  return { id, ok: false, expected, actual, ...(evidence.length > 0 ? { exchanges: evidence } : {}) };
}

/** Judges a scenario by everything that the service and the program left behind. */
export function judge(trial: Trial): ScenarioRun {
  const { scenario, planned, service, runs, key, settings, durationMs, heldUpMs } = trial;
  const redact = createRedactor(
    [key],
    planned.map(({ phoneNumber }) => phoneNumber),
  );
  const judges = judgesOf(trial, redact);
  const ids = idsOf(scenario);
  // If the suite ended the program, the program may have been about to pay the other entries.
  const why = `the suite ended the program after ${secondsOf(settings.limitMs)}; see client.bounded-time`;
  const notRun: Record<string, string> = overdueOf(trial).length > 0 ? { "client.loses-nothing": why } : {};
  const exchanges = new Map(service.calls.map((call) => [call, exchangeOf(call, redact)]));
  const judged = ids.filter((id) => !(id in notRun));
  const all = judged.map((id) => {
    const judgement = judges[id]!();
    return findingOf(id, judgement, judgement.shownBy?.map((call) => exchanges.get(call)!) ?? []);
  });
  const isUnknown = all.some(({ id, ok }) => id === "client.finds-out" && !ok);
  const mayBeLate = isUnknown && heldUpMs > settings.timeoutMs / 8;
  const isDoubtful = ({ id, ok }: Finding) => mayBeLate && !ok && failsIfUnknown.has(id);
  for (const { id } of all.filter(isDoubtful)) {
    notRun[id] =
      `the machine was too busy: the suite waited ${Math.round(heldUpMs)} ms for a processor, and the program has ` +
      `${settings.timeoutMs} ms for a request. Run it again with fewer --jobs`;
  }
  const findings = all.filter((finding) => !isDoubtful(finding));
  // An idle client would pass most requirements by doing nothing.
  const isIdle = service.calls.length === 0 && runs.every(({ claims }) => claims.length === 0);
  const silent = new Prerequisite(
    "the client sends requests and reports outcomes",
    `it did neither; ${findings.find(({ id }) => id === "client.reports-all")?.actual}`,
  );
  return {
    name: scenario.name,
    ids,
    findings: isIdle ? findings.filter(({ ok }) => !ok) : findings,
    notRun,
    exchanges: [...exchanges.values()],
    durationMs,
    ...(isIdle ? { thrown: silent } : {}),
    selectFlags: ["--scenario", scenario.id],
  };
}
