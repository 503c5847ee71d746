// Compares what a client reported with what the service recorded, and judges every request that it sent.
import { Prerequisite } from "../../check.ts";
import { counted } from "../../report/words.ts";
import type { Exchange } from "../../results.ts";
import type { Finding } from "../../run/verdicts.ts";
import { createRedactor, redactHeaders, type Redact } from "../../target/redact.ts";
import type { ScenarioRun } from "../run.ts";
import { asInput, type PlannedEntry } from "./entries.ts";
import type { Ended } from "./launch.ts";
import type { Payout } from "./ledger.ts";
import type { Claim, Outcome } from "./protocol.ts";
import { idsOf, type Scenario } from "./scenario.ts";
import type { Call, HostileService } from "./service.ts";

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
 * How a requirement is judged: what is expected, the faults, one line each, and the requests that show them, by default
 * all.
 */
type Judgement = { expected: string; good: string; faults: string[]; shownBy?: readonly Call[] };

/**
 * What fails if a program reports outcomes as unknown. On a busy machine a sound program also reports unknown outcomes,
 * because the time limit of its requests continues while it waits for a processor.
 */
const failsIfUnknown: ReadonlySet<string> = new Set(["client.finds-out", "client.loses-nothing"]);

const mostRequests = 40;
/**
 * A client that waits between its attempts sends fewer requests than this for an entry while the service fails for a
 * second.
 */
const mostInASecond = 9;
/** A client may give up if it is asked to wait longer than this. */
const longestWaitMs = 5000;
const longestLine = 120;

const secondsOf = (ms: number) => `${Math.round(ms / 1000)} s`;

const quote = (text: string) => JSON.stringify(text.length > longestLine ? `${text.slice(0, longestLine)}…` : text);

const nameOf = ({ reference, story }: Pick<PlannedEntry, "reference" | "story">) =>
  quote(reference) + (story ? ` (${story.about})` : "");

const paymentsOf = ({ service }: Trial, planned: PlannedEntry): Payout[] =>
  service.ledger.payouts.filter(({ entry }) => entry === planned);

/** Returns the requests for some entries. */
const callsFor = ({ service }: Trial, about: readonly { reference: string }[]): Call[] =>
  service.calls.filter(({ entry }) => about.some(({ reference }) => reference === entry?.reference));

const overdueOf = ({ runs }: Trial) => runs.filter(({ stopped }) => stopped === "overdue");

/** Judges the reports of one outcome. `isWrong` says of which payouts it must not be reported. */
const claims =
  (outcome: Outcome, expected: string, isWrong: (payout: Payout | undefined, run: Run) => boolean) =>
  (trial: Trial): Judgement => {
    const untrue = trial.runs.flatMap((run) =>
      run.claims.flatMap(({ reference, outcome: claimed }) => {
        const planned = trial.planned.find((each) => each.reference === reference);
        if (claimed !== outcome || !planned) return [];
        const [payout] = paymentsOf(trial, planned);
        return isWrong(payout, run)
          ? [{ planned, truth: payout ? `recorded, ${payout.record.status}` : "not recorded" }]
          : [];
      }),
    );
    return {
      expected,
      good: "every such report is true",
      faults: untrue.map(({ planned, truth }) => `${nameOf(planned)} is reported as ${outcome}, but it is ${truth}`),
      shownBy: callsFor(
        trial,
        untrue.map(({ planned }) => planned),
      ),
    };
  };

function paysOnce(trial: Trial): Judgement {
  const repeated = trial.planned.filter((planned) => paymentsOf(trial, planned).length > 1);
  const faults = repeated.map((planned) => {
    const references = paymentsOf(trial, planned).map(({ record }) => quote(record.merchantsReference));
    return `${nameOf(planned)} is paid ${references.length} times: ${references.join(", ")}`;
  });
  const shownBy = callsFor(trial, repeated);
  return { expected: "at most one payout per entry", good: "no entry has more", faults, shownBy };
}

function losesNothing(trial: Trial): Judgement {
  const payable = trial.planned.filter(
    ({ fate, exists = {}, story }) => fate !== "refused" && Object.keys(exists).length === 0 && !story?.mayGiveUp,
  );
  const lost = payable.filter((planned) => paymentsOf(trial, planned).length === 0);
  // A failure of the program explains why it left entries undone.
  const failures = trial.runs.flatMap(({ stopped, code }) =>
    stopped === undefined && code !== 0 ? [`the program ended with exit code ${code}`] : [],
  );
  return {
    expected: "a payout for every entry that the service accepts",
    good: `${payable.length} of ${payable.length} are recorded`,
    faults: [
      ...(lost.length > 0 ? new Set(failures) : []),
      ...lost.map((planned) => `${nameOf(planned)} was never recorded`),
    ],
    shownBy: callsFor(trial, lost),
  };
}

function sameReference(trial: Trial): Judgement {
  const creates = trial.service.calls.flatMap((call) => (call.body ? { ...call, reference: call.body.reference } : []));
  const wrong = creates.flatMap(
    ({ entry, number, reference }): { entry?: PlannedEntry | undefined; fault: string }[] => {
      const first = creates.find((each) => each.entry === entry)!;
      const other = creates.find((each) => each.entry !== entry && each.reference === reference);
      const what = `request ${number} has the reference ${quote(reference)}`;
      if (!entry) return [{ fault: `${what}, and pays no entry` }];
      if (first.reference !== reference) {
        const fault = `${what}, but request ${first.number} for the same entry has ${quote(first.reference)}`;
        return [{ entry, fault }];
      }
      return other ? [{ entry, fault: `${what}, as request ${other.number} for another entry` }] : [];
    },
  );
  return {
    expected: "one reference for each entry, in every request and after every restart",
    good: "no entry has two references, and no two entries have the same",
    faults: wrong.map(({ fault }) => fault),
    shownBy: callsFor(
      trial,
      wrong.flatMap(({ entry }) => entry ?? []),
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
    .map((run) => run.claims.filter((claim) => claim.outcome === "unknown" && !entryOf(claim)?.story?.mayBeUnknown))
    .filter((all) => all.length > most);
  return {
    expected: `at most ${most} of ${planned.filter(({ story }) => !story?.mayBeUnknown).length} entries unknown`,
    good: "no more are unknown",
    faults: unknown.map((all) => `unknown: ${all.map((claim) => nameOf(entryOf(claim) ?? claim)).join(", ")}`),
    shownBy: callsFor(trial, unknown.flat()),
  };
}

function reportsAll({ runs, planned, scenario }: Trial, redact: Redact): Judgement {
  // An entry that is twice in the input may have a line for each.
  const most = scenario.repeated ? 2 : 1;
  const faults = runs.flatMap(({ strayLines, stopped, claims: all, code, stderr }) => {
    const stray = strayLines.slice(0, 1).map((line) => `stdout has a line that is no report: ${quote(redact(line))}`);
    if (stopped !== undefined) return stray;
    const lastLine = redact(stderr.trim().split("\n").at(-1) ?? "");
    const counts = planned.map(({ reference }) => ({
      reference,
      count: all.filter((claim) => claim.reference === reference).length,
    }));
    const strange = all.filter(({ reference }) => !planned.some((each) => each.reference === reference));
    return [
      ...stray,
      ...(code === 0 ? [] : [`exit code ${code}${lastLine === "" ? "" : `; last line of stderr: ${quote(lastLine)}`}`]),
      ...counts.flatMap(({ reference, count }) =>
        count === 0 || count > most
          ? `${count === 0 ? "no outcome" : `${count} outcomes`} for ${quote(reference)}`
          : [],
      ),
      ...strange.map(({ reference }) => `an outcome for ${quote(reference)}, which is not in the input`),
    ];
  });
  return { expected: "one line for each entry on stdout, and exit code 0", good: "complete", faults };
}

const contract = ({ service }: Trial): Judgement => ({
  expected: "requests as the OpenAPI document describes them",
  good: `${counted(service.calls.length, "request")} as described`,
  faults: service.calls.flatMap(({ faults, number }) => faults.map((fault) => `request ${number}: ${fault}`)),
  shownBy: service.calls.filter(({ faults }) => faults.length > 0),
});

const hidden =
  (what: string, secretsOf: (trial: Trial) => readonly string[]) =>
  (trial: Trial): Judgement => {
    const faults = trial.runs.flatMap(({ stdout, stderr }) =>
      Object.entries({ stdout, stderr })
        .filter(([, text]) => secretsOf(trial).some((secret) => text.includes(secret)))
        .map(([name]) => `${name} contains ${what}`),
    );
    return { expected: `output without ${what}`, good: `the output does not contain ${what}`, faults };
  };

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

function boundedTime(trial: Trial): Judgement {
  const limit = secondsOf(trial.settings.limitMs);
  const longest = Math.max(...trial.runs.map(({ durationMs }) => durationMs));
  const fault = `too slow: still running after ${limit}, so the suite ended it. --time-limit allows more`;
  return {
    expected: `the program ends within ${limit}`,
    good: `after ${(longest / 1000).toFixed(1)} s at most`,
    faults: overdueOf(trial).map(() => fault),
  };
}

const foreign = ({ service }: Trial): Judgement => ({
  expected: "no request to another address than the service's",
  good: "there was none",
  faults: service.foreignCalls.map((call) => `another server received ${call}`),
});

function noRedirect({ service }: Trial): Judgement {
  const elsewhere = service.calls.filter(({ path }) => path.startsWith("/elsewhere"));
  const followed = [...service.foreignCalls, ...elsewhere.map(({ method, path }) => `${method} ${path}`)];
  const faults = followed.map((call) => `a redirect was followed: ${call}`);
  return { expected: "no request to the target of a redirect", good: "there was none", faults };
}

/**
 * Returns the time until the request may be repeated, in ms; undefined if the response does not say so in a valid form,
 * or asks for so long that a client may give up.
 */
function waitAfter({ sent }: Call): number | undefined {
  const { "retry-after": text, date } = sent?.headers ?? {};
  if (text === undefined) return undefined;
  // The Date header has whole seconds, so the wait may be up to a second shorter than the difference.
  const fromDate = date === undefined ? NaN : Date.parse(text) - Date.parse(date) - 1000;
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : fromDate;
  return wait > 0 && wait <= longestWaitMs ? wait : undefined;
}

function waitsAsTold({ service }: Trial): Judgement {
  const creates = service.calls.filter(({ body }) => body);
  const faults = creates.flatMap((call, index) => {
    const next = creates
      .slice(index + 1)
      .find(({ body, start }) => body!.reference === call.body!.reference && start === call.start);
    const wait = waitAfter(call);
    const waited = next && next.at - call.at;
    // Timers are not exact to the millisecond.
    if (wait === undefined || waited === undefined || waited >= wait * 0.95) return [];
    const [asked, actual] = [wait, waited].map((ms) => `${Math.round(ms)} ms`);
    return [`request ${next!.number} came ${actual} after request ${call.number}, which asked to wait ${asked}`];
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

/** How each requirement is judged, by its id. */
const judges: Readonly<Record<string, (trial: Trial, redact: Redact) => Judgement>> = {
  "client.pays-once": paysOnce,
  "client.loses-nothing": losesNothing,
  "client.same-reference": sameReference,
  "client.exact-request": exactRequest,
  "client.paid-is-true": claims(
    "paid",
    "paid only for payouts that succeeded",
    (payout) => payout?.record.status !== "success",
  ),
  "client.failed-is-true": claims(
    "failed",
    "failed only for payouts that were recorded and failed",
    (payout) => payout?.record.status !== "failed",
  ),
  "client.refused-is-true": claims("refused", "refused only for entries that are not recorded", Boolean),
  "client.pending-is-true": claims(
    "pending",
    "pending only for recorded payouts whose outcome the service did not report",
    (payout, { start }) => payout === undefined || payout.toldIn.has(start),
  ),
  "client.finds-out": findsOut,
  "client.reports-all": reportsAll,
  "client.contract": contract,
  "client.no-redirect": noRedirect,
  "client.key-stays": foreign,
  "client.key-hidden": hidden("the API key", ({ key }) => [key]),
  "client.phone-hidden": hidden("a phone number", ({ planned }) => planned.map(({ phoneNumber }) => phoneNumber)),
  "client.bounded-requests": boundedRequests,
  "client.bounded-time": boundedTime,
  "client.waits-as-told": waitsAsTold,
  "client.backs-off": backsOff,
};

/** The exchanges of a report have no real time, so that a repeated run has the same. */
const began = Date.UTC(2026, 0, 1);

/** Returns a request of the client as a report shows it. */
function exchangeOf(call: Call, redact: Redact): Exchange {
  const { number, at, method, path, headers, text, sent = {}, endedAt = at } = call;
  const { status, headers: sentHeaders = {}, body = "", failure = "the client closed the connection" } = sent;
  return {
    id: number,
    at: new Date(began + at).toISOString(),
    method,
    url: redact(path),
    requestHeaders: redactHeaders(headers, redact),
    ...(text === "" ? {} : { requestBody: redact(text) }),
    ...(status === undefined
      ? { failure }
      : { status, responseHeaders: redactHeaders(sentHeaders, redact), responseBody: redact(body) }),
    durationMs: endedAt - at,
    curl: `# request ${number} of the client under test`,
  };
}

/** Judges a scenario by everything that the service and the program left behind. */
export function judge(trial: Trial): ScenarioRun {
  const { scenario, planned, service, runs, key, settings, durationMs, heldUpMs } = trial;
  const redact = createRedactor(
    [key],
    planned.map(({ phoneNumber }) => phoneNumber),
  );
  const ids = idsOf(scenario);
  const notRun: Record<string, string> = {};
  if (overdueOf(trial).length > 0) {
    // If the suite ended the program, the program may have been about to pay the other entries.
    notRun["client.loses-nothing"] =
      `the suite ended the program after ${secondsOf(settings.limitMs)}; see client.bounded-time`;
  }
  const exchanges = new Map(service.calls.map((call) => [call, exchangeOf(call, redact)]));
  const all = ids
    .filter((id) => !(id in notRun))
    .map((id): Finding => {
      const { expected, good, faults, shownBy = [] } = judges[id]!(trial, redact);
      if (faults.length === 0) return { id, ok: true, expected, actual: good };
      const actual = faults.slice(0, 3).join("; ") + (faults.length > 3 ? `; and ${faults.length - 3} more` : "");
      const evidence = shownBy.map((call) => exchanges.get(call)!);
      return { id, ok: false, expected, actual, ...(evidence.length > 0 ? { exchanges: evidence } : {}) };
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
  const isIdle = service.calls.length === 0 && runs.every((run) => run.claims.length === 0);
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
