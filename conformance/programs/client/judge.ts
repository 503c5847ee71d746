// Compares what a client reported with what the service recorded, and judges every request that it sent.
import { Prerequisite } from "../../check.ts";
import { counted, joinedFirst } from "../../report/words.ts";
import type { Exchange } from "../../results.ts";
import type { Finding } from "../../run/verdicts.ts";
import { createRedactor, type Redact } from "../../target/redact.ts";
import { exchangeOf } from "../exchange.ts";
import type { ScenarioRun } from "../run.ts";
import { asInput, type PlannedEntry } from "./entries.ts";
import type { Ended } from "../process-group.ts";
import type { Payout } from "./ledger.ts";
import type { Claim, Outcome } from "./protocol.ts";
import type { Scenario } from "./scenario.ts";
import type { Call, HostileService } from "./service.ts";

/** One start of one copy of the program. */
export type Run = Ended & {
  /** The number of the start, from 0. */
  start: number;
  /** Why the suite ended the program; undefined if it ended by itself. */
  stopped: "killed" | "overdue" | undefined;
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
  /** The longest time in which the suite did not run although it could have, in ms. */
  heldUpMs: number;
};

/** What is wrong, in one line, and which requests show it; by default all. */
type Fault = { text: string; isShownBy?: (call: Call) => boolean };

/** How a requirement is judged. */
type Judge = { expected: string; faultsIn(trial: Trial, redact: Redact): readonly Fault[] };

/** A fault that the requests for some entries show. */
const about = (text: string, ...planned: readonly ({ reference: string } | undefined)[]): Fault => ({
  text,
  isShownBy: ({ entry }) => planned.some((each) => each !== undefined && each.reference === entry?.reference),
});

/**
 * What fails if a program reports outcomes as unknown. On a busy machine a sound program also reports unknown outcomes,
 * because the time limit of its requests continues while it waits for a processor.
 */
const failsIfUnknown: ReadonlySet<string> = new Set(["client.finds-out", "client.loses-nothing"]);

const mostRequests = 40;
/** A client that waits between its attempts sends at most this many creates for an entry within a second. */
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

const overdueOf = ({ runs }: Trial) => runs.filter(({ stopped }) => stopped === "overdue");

/** Judges the reports of one outcome. `isWrong` returns true if the outcome must not be reported of the payout. */
const claims = (
  outcome: Outcome,
  expected: string,
  isWrong: (payout: Payout | undefined, run: Run) => boolean,
): Judge => ({
  expected,
  faultsIn: (trial) =>
    trial.runs.flatMap((run) =>
      run.claims.flatMap(({ reference, outcome: claimed }) => {
        const planned = trial.planned.find((each) => each.reference === reference);
        if (claimed !== outcome || !planned) return [];
        const [payout] = paymentsOf(trial, planned);
        if (!isWrong(payout, run)) return [];
        const truth = payout ? `recorded, ${payout.record.status}` : "not recorded";
        return about(`${nameOf(planned)} is reported as ${outcome}, but it is ${truth}`, planned);
      }),
    ),
});

const hidden = (what: string, secretsOf: (trial: Trial) => readonly string[]): Judge => ({
  expected: `output without ${what}`,
  faultsIn: (trial) =>
    trial.runs.flatMap(({ stdout, stderr }) =>
      Object.entries({ stdout, stderr })
        .filter(([, text]) => secretsOf(trial).some((secret) => text.includes(secret)))
        .map(([name]) => ({ text: `${name} contains ${what}` })),
    ),
});

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

/** How each requirement is judged, by its id. */
const judges: Readonly<Record<string, Judge>> = {
  "client.pays-once": {
    expected: "at most one payout per entry",
    faultsIn: (trial) =>
      trial.planned.flatMap((planned) => {
        const references = paymentsOf(trial, planned).map(({ record }) => quote(record.merchantsReference));
        if (references.length <= 1) return [];
        return about(`${nameOf(planned)} is paid ${references.length} times: ${references.join(", ")}`, planned);
      }),
  },
  "client.loses-nothing": {
    expected: "a payout for every entry that the service accepts",
    faultsIn(trial) {
      const payable = trial.planned.filter(
        ({ fate, exists = {}, story }) => fate !== "refused" && Object.keys(exists).length === 0 && !story?.mayGiveUp,
      );
      const lost = payable.filter((planned) => paymentsOf(trial, planned).length === 0);
      if (lost.length === 0) return [];
      // A failure of the program explains why it left entries undone.
      const failures = trial.runs.flatMap(({ stopped, code }) =>
        stopped === undefined && code !== 0 ? [`the program ended with exit code ${code}`] : [],
      );
      const undone = lost.map((planned) => about(`${nameOf(planned)} was never recorded`, planned));
      return [...[...new Set(failures)].map((text) => ({ text })), ...undone];
    },
  },
  "client.same-reference": {
    expected: "one reference for each entry, in every request and after every restart",
    faultsIn({ service }) {
      const creates = service.calls.flatMap((call) => (call.body ? { ...call, reference: call.body.reference } : []));
      return creates.flatMap(({ entry, number, reference }): Fault | Fault[] => {
        const first = creates.find((each) => each.entry === entry)!;
        const other = creates.find((each) => each.entry !== entry && each.reference === reference);
        const fault = (text: string) =>
          about(`request ${number} has the reference ${quote(reference)}, ${text}`, entry);
        if (!entry) return fault("and pays no entry");
        if (first.reference !== reference) {
          return fault(`but request ${first.number} for the same entry has ${quote(first.reference)}`);
        }
        return other ? fault(`as request ${other.number} for another entry`) : [];
      });
    },
  },
  "client.exact-request": {
    expected: "amount, recipient, country and currency of the entry",
    faultsIn: ({ service }) =>
      service.calls.flatMap((call) => {
        const { body, entry, number } = call;
        if (!body || !entry) return [];
        const input = { ...asInput(entry), reference: body.reference };
        const changed = (Object.keys(input) as (keyof typeof input)[]).filter((name) => body[name] !== input[name]);
        if (changed.length === 0) return [];
        const text = `request ${number} for ${quote(entry.reference)} has another ${changed.join(" and ")}`;
        return { text, isShownBy: (each) => each === call };
      }),
  },
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
  "client.finds-out": {
    expected: "no entry unknown, apart from those that nobody can find out",
    faultsIn({ runs, planned, scenario: { mayBeUnknown = 0 } }) {
      const most = Math.floor((planned.length * mayBeUnknown) / 100);
      const entryOf = ({ reference }: Claim) => planned.find((each) => each.reference === reference);
      return runs
        .filter(({ stopped }) => stopped !== "killed")
        .map((run) => run.claims.filter((claim) => claim.outcome === "unknown" && !entryOf(claim)?.story?.mayBeUnknown))
        .filter((all) => all.length > most)
        .map((all) => about(`unknown: ${all.map((claim) => nameOf(entryOf(claim) ?? claim)).join(", ")}`, ...all));
    },
  },
  "client.reports-all": {
    expected: "one line for each entry on stdout, and exit code 0",
    faultsIn({ runs, planned, scenario }, redact) {
      // An entry that is twice in the input may have a line for each.
      const most = scenario.repeated ? 2 : 1;
      const texts = runs.flatMap(({ strayLines, stopped, claims: all, code, stderr }) => {
        const stray = strayLines
          .slice(0, 1)
          .map((line) => `stdout has a line that is no report: ${quote(redact(line))}`);
        if (stopped !== undefined) return stray;
        const lastLine = redact(stderr.trim().split("\n").at(-1) ?? "");
        const said = lastLine === "" ? "" : `; last line of stderr: ${quote(lastLine)}`;
        const strange = all.filter(({ reference }) => !planned.some((each) => each.reference === reference));
        return [
          ...stray,
          ...(code === 0 ? [] : [`exit code ${code}${said}`]),
          ...planned.flatMap(({ reference }) => {
            const count = all.filter((claim) => claim.reference === reference).length;
            if (count > 0 && count <= most) return [];
            return `${count === 0 ? "no outcome" : `${count} outcomes`} for ${quote(reference)}`;
          }),
          ...strange.map(({ reference }) => `an outcome for ${quote(reference)}, which is not in the input`),
        ];
      });
      return texts.map((text) => ({ text }));
    },
  },
  "client.contract": {
    expected: "requests as the OpenAPI document describes them",
    faultsIn: ({ service }) =>
      service.calls.flatMap((call) =>
        call.faults.map((fault) => ({ text: `request ${call.number}: ${fault}`, isShownBy: (each) => each === call })),
      ),
  },
  "client.no-redirect": {
    expected: "no request to the target of a redirect",
    faultsIn({ service }) {
      const elsewhere = service.calls.filter(({ path }) => path.startsWith("/elsewhere"));
      const followed = [...service.foreignCalls, ...elsewhere.map(({ method, path }) => `${method} ${path}`)];
      return followed.map((call) => ({ text: `a redirect was followed: ${call}` }));
    },
  },
  "client.key-stays": {
    expected: "no request to another address than the service's",
    faultsIn: ({ service }) => service.foreignCalls.map((call) => ({ text: `another server received ${call}` })),
  },
  "client.key-hidden": hidden("the API key", ({ key }) => [key]),
  "client.phone-hidden": hidden("a phone number", ({ planned }) => planned.map(({ phoneNumber }) => phoneNumber)),
  "client.bounded-requests": {
    expected: `at most ${mostRequests} requests per entry in each start of the program`,
    faultsIn({ service: { calls }, planned, runs }) {
      const most = mostRequests * runs.length;
      const counts = planned.map((each) => ({ each, count: calls.filter(({ entry }) => entry === each).length }));
      const many = counts.filter(({ count }) => count > most);
      const faults = many.map(({ each, count }) => about(`${count} requests for ${quote(each.reference)}`, each));
      if (calls.length <= most * planned.length) return faults;
      return [...faults, { text: `${calls.length} requests for ${counted(planned.length, "entry")}` }];
    },
  },
  "client.bounded-time": {
    expected: "the program ends within the time of --time-limit",
    faultsIn: (trial) =>
      overdueOf(trial).map(() => {
        const time = secondsOf(trial.settings.limitMs);
        return { text: `too slow: still running after ${time}, so the suite ended it. --time-limit allows more` };
      }),
  },
  "client.waits-as-told": {
    expected: "no repetition before the time in Retry-After",
    faultsIn({ service }) {
      const creates = service.calls.filter(({ body }) => body);
      return creates.flatMap((call, index) => {
        const next = creates
          .slice(index + 1)
          .find(({ body, start }) => body!.reference === call.body!.reference && start === call.start);
        const wait = waitAfter(call);
        const waited = next && next.at - call.at;
        // Timers are not exact to the millisecond.
        if (wait === undefined || waited === undefined || waited >= wait * 0.95) return [];
        const [asked, actual] = [wait, waited].map((ms) => `${Math.round(ms)} ms`);
        const text = `request ${next!.number} came ${actual} after request ${call.number}, which asked to wait ${asked}`;
        return about(text, call.entry);
      });
    },
  },
  "client.backs-off": {
    expected: `at most ${mostInASecond} attempts per second`,
    faultsIn: ({ service, planned }) =>
      planned.flatMap((each) => {
        const own = service.calls.filter(({ entry, kind }) => entry === each && kind === "create");
        const hasty = own.find((call, index) => (own[index + mostInASecond]?.at ?? Infinity) - call.at < 1000);
        return hasty ? about(`${mostInASecond + 1} requests for ${quote(each.reference)} within a second`, each) : [];
      }),
  },
};

/** Exchanges show the time since the scenario began, counted from this date. */
const began = Date.UTC(2026, 0, 1);

/** Returns a request of the client as a report shows it. */
function shownCall({ number, at, path, sent, endedAt = at, ...call }: Call, redact: Redact): Exchange {
  const curl = `# request ${number} of the client under test`;
  const request = { ...call, id: number, at: new Date(began + at), url: path, durationMs: endedAt - at, curl };
  return exchangeOf(request, { failure: "the client closed the connection", ...sent }, redact);
}

/** Judges a scenario by everything that the service and the program left behind. */
export function judge(trial: Trial): ScenarioRun {
  const { scenario, planned, service, runs, key, settings, heldUpMs } = trial;
  const redact = createRedactor(
    [key],
    planned.map(({ phoneNumber }) => phoneNumber),
  );
  const notRun: Record<string, string> = {};
  if (overdueOf(trial).length > 0) {
    // If the suite ended the program, the program may have been about to pay the other entries.
    notRun["client.loses-nothing"] =
      `the suite ended the program after ${secondsOf(settings.limitMs)}; see client.bounded-time`;
  }
  const exchanges = new Map(service.calls.map((call) => [call, shownCall(call, redact)]));
  const all = scenario.ids
    .filter((id) => !(id in notRun))
    .map((id): Finding => {
      const { expected, faultsIn } = judges[id]!;
      const faults = faultsIn(trial, redact);
      if (faults.length === 0) return { id, ok: true, expected, actual: "as expected" };
      const texts = faults.map(({ text }) => text);
      const actual = joinedFirst(texts, 3);
      const shown = service.calls.filter((call) => faults.some(({ isShownBy }) => isShownBy?.(call)));
      const evidence = shown.map((call) => exchanges.get(call)!);
      return { id, ok: false, expected, actual, exchanges: evidence.length > 0 ? evidence : undefined };
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
    findings: isIdle ? findings.filter(({ ok }) => !ok) : findings,
    notRun,
    exchanges: [...exchanges.values()],
    thrown: isIdle ? silent : undefined,
  };
}
