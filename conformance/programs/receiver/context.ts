// What a run gives to its scenarios: events, requests that are recorded, and judgements.
import { setTimeout as sleep } from "node:timers/promises";
import { CannotRun } from "../../results.ts";
import { createRandom } from "../../generate/random.ts";
import type { Exchange, NotJudged } from "../../results.ts";
import type { Finding } from "../../run/verdicts.ts";
import { createEvents, eventNames, type Event } from "./events.ts";
import { post } from "./judgements.ts";
import { createRecorder } from "./recorder.ts";
import { isFinal, isSuccess, type Context, type Limits, type Scenario, type Sent } from "./scenario.ts";
import { send, type Outcome, type WebhookRequest } from "./send.ts";
import { signatureOf } from "./signature.ts";
import type { Subject } from "./subject.ts";

/** What the scenarios of a run work with. */
export type Settings = {
  subject: Subject;
  secret: string;
  oldSecret?: string;
  limits: Limits;
  /** The types of events that the receiver gets; undefined for all. */
  events?: readonly string[];
  /** True if the receiver reads one request at a time. */
  isSerial?: boolean;
  seed: number;
  /** A text that differs from run to run, so that no event has the id of an earlier run. */
  runId: string;
  /** Ends the run early when it is aborted. */
  interrupted?: AbortSignal;
};

/** What a scenario expects of the effects of an event. It is judged again at the end of the run. */
type Expectation = { requirement: string; event: Event; wanted: number };

/** The state that the scenarios of a run share. */
export type Shared = {
  /** By requirement and event. The latest expectation counts. */
  expectations: Map<string, Expectation>;
  /** The number of requests so far. */
  requests: number;
  /** The number of requests in a row without a response. Requests during which the receiver was killed do not count. */
  silent: number;
  /** How often the run killed the receiver. */
  kills: number;
  /** False after a wait for an effect or for a final response has timed out. */
  isPatient: boolean;
  /** The first event that took effect, and when. */
  earliest?: { event: Event; at: number };
};

export const newShared = (): Shared => ({ expectations: new Map(), requests: 0, silent: 0, kills: 0, isPatient: true });

/** What a scenario found. */
export type Notes = { findings: Finding[]; notApplicable: Record<string, NotJudged>; exchanges: Exchange[] };

/** The wait for effects, and the longest delay of a retry, after one wait of the run has timed out. */
const shortSettleMs = 300;
const pollMs = 20;
/** The delays, in milliseconds, before the retries of an event. The service's own delays are longer. */
const retryDelays = [20, 50, 100, 200, 500, 1000, 2000, 4000];
/** The run ends after this many requests in a row to which the receiver did not respond. */
const mostSilent = 3;

const now = () => new Date();
const isSilence = ({ status, failure = "" }: Outcome) =>
  status === undefined && /^no response|ECONNREFUSED/.test(failure);

export const countText = (count: number) =>
  count === 0 ? "no effect" : count === 1 ? "one effect" : `${count} effects`;

/** Returns a function that sends and records requests, and that ends the run if the receiver stops responding. */
function createSender({ subject, secret, oldSecret, limits }: Settings, shared: Shared, exchanges: Exchange[]) {
  const secrets = [secret, ...(oldSecret === undefined ? [] : [oldSecret])];
  const record = createRecorder(subject.url, secrets, () => (shared.requests += 1));
  return async (request: WebhookRequest): Promise<Sent> => {
    if (shared.silent >= mostSilent) {
      // Every further request would take its whole time limit.
      throw new CannotRun(
        `The receiver did not respond to ${mostSilent} requests in a row. Is it running at ${subject.url}?`,
      );
    }
    const at = now();
    const { kills } = shared;
    const outcome = await send(subject.url, request, limits.timeoutMs);
    if (isSilence(outcome)) shared.silent += kills === shared.kills ? 1 : 0;
    else if (outcome.status !== undefined) shared.silent = 0;
    const exchange = record(request, outcome, at, now().getTime() - at.getTime());
    exchanges.push(exchange);
    return { ...outcome, exchange };
  };
}

/** Returns the receiver, so that its kills are counted. */
function counting({ restart, ...subject }: Subject, shared: Shared): Subject {
  if (!restart) return subject;
  const kill = () => {
    shared.kills += 1;
    return restart.kill();
  };
  return { ...subject, restart: { ...restart, kill } };
}

/** Retries an event as the service does, until the response is final. */
async function deliver(shared: Shared, attempt: () => Promise<Sent>): Promise<Sent> {
  let sent = await attempt();
  for (const delay of retryDelays.filter((ms) => shared.isPatient || ms <= shortSettleMs)) {
    if (isFinal(sent)) return sent;
    await sleep(delay);
    sent = await attempt();
  }
  if (!isFinal(sent)) shared.isPatient = false;
  return sent;
}

/** Waits until an event has an effect, at most for the time limit. */
async function awaitEffects({ subject, limits }: Settings, shared: Shared, eventId: string, wanted: number) {
  const patience = shared.isPatient ? limits.settleMs : Math.min(shortSettleMs, limits.settleMs);
  const end = performance.now() + patience;
  for (;;) {
    const found = (await subject.effects()).filter(({ id }) => id === eventId);
    if (found.length >= wanted) return found;
    if (performance.now() >= end) {
      shared.isPatient = false;
      return found;
    }
    await sleep(pollMs);
  }
}

/** Returns a type of event that the receiver gets, with the same result if possible. An unknown type stays unknown. */
function received({ events = eventNames }: Settings, name: string): string {
  const [product, result] = name.split(".") as [string, string];
  if (events.includes(name)) return name;
  if (eventNames.includes(name)) return events.find((each) => each.endsWith(result)) ?? events[0]!;
  const isOf = (each: string) => each.startsWith(`${product}.`);
  return events.some(isOf) || !eventNames.some(isOf) ? name : events[0]!.replace(/[^.]+$/, result);
}

/** Creates the context of a scenario, and the notes that the scenario fills. */
export function createContext(
  settings: Settings,
  scenario: Scenario,
  shared: Shared,
): { context: Context; notes: Notes } {
  const { subject, secret, oldSecret, limits, seed, runId, interrupted: signal } = settings;
  const notes: Notes = { findings: [], notApplicable: {}, exchanges: [] };
  const sender = createSender(settings, shared, notes.exchanges);
  const random = createRandom(seed, scenario.id);
  const newEvent = createEvents(`${runId} ${scenario.id}`, random, now);
  const context: Context = {
    subject: counting(subject, shared),
    limits,
    secret,
    ...(oldSecret === undefined ? {} : { oldSecret }),
    random,
    now,
    sleep: (ms) => sleep(ms, undefined, signal && { signal }).catch(() => undefined),
    event: (name = "disbursement.completed", changes = {}) => newEvent(received(settings, name), changes),
    stamp({ id }, body, offset = 0, signer = secret) {
      const timestamp = String(Math.floor(now().getTime() / 1000) + offset);
      return { id, timestamp, signature: signatureOf(signer, id, timestamp, body) };
    },
    send: (request) => sender({ method: "POST", ...request }),
    deliver: (event) => deliver(shared, () => post(context, event)),
    async settle() {
      const event = context.event();
      if (isSuccess(await post(context, event))) await awaitEffects(settings, shared, event.id, 1);
    },
    judge(id, ok, expected, actual, evidence) {
      const exchanges = evidence?.map(({ exchange }) => exchange);
      notes.findings.push({ id, ok, expected, actual, ...(exchanges ? { exchanges } : {}) });
    },
    async judgeEffects(id, event, wanted, evidence) {
      // A refused event has no effect to wait for.
      const awaited = (evidence ?? []).every(isSuccess) ? wanted : 0;
      const found = await awaitEffects(settings, shared, event.id, awaited);
      context.judge(id, found.length === wanted, countText(wanted), countText(found.length), evidence);
      if (wanted === 1 && found.length === 1) shared.earliest ??= { event, at: now().getTime() };
      shared.expectations.set(`${id} ${event.id}`, { requirement: id, event, wanted });
      return found;
    },
    earliest: () => shared.earliest,
    notProvided: (id, text, provide) => void (notes.notApplicable[id] = { code: "caller", text, provide }),
  };
  return { context, notes };
}
