// What a run gives to its scenarios: events, requests that are recorded, and judgements.
import { setTimeout as sleep } from "node:timers/promises";
import { createRandom, type Random } from "../../generate/random.ts";
import { keyOf, macOf, signatureOf } from "../../model/webhooks.ts";
import { CannotRun, type Exchange, type NotJudged } from "../../results.ts";
import type { Finding } from "../../run/verdicts.ts";
import { createRedactor } from "../../target/redact.ts";
import { exchangeOf, type Outcome } from "../exchange.ts";
import type { Described } from "../run.ts";
import { describe, isFinal, isRefusal, isSuccess, send, type Header, type WebhookRequest } from "./send.ts";
import type { Effect, Subject } from "./subject.ts";
import { bodyOf, createEvents, eventNames, type Data, type Event, type Stamp } from "./webhook.ts";

export type Limits = {
  /** How long a response may take, in milliseconds. */
  timeoutMs: number;
  /** How long an effect may take after the response, in milliseconds. */
  settleMs: number;
  /** The time between the pieces of a body that is sent slowly, in milliseconds. */
  pieceMs: number;
  /** The least time after which the run repeats its first event, in milliseconds. */
  repeatMs: number;
};

/** What the scenarios of a run work with. */
export type Settings = {
  subject: Subject;
  /** The secrets that the receiver accepts, one or two. The service signs with the first. */
  secrets: readonly string[];
  limits: Limits;
  /** The types of events that the receiver gets; undefined for all. */
  events?: readonly string[] | undefined;
  /** True if the receiver reads one request at a time. */
  isSerial?: boolean;
  seed: number;
  /** A text that differs from run to run, so that no event has the id of an earlier run. */
  runId: string;
  /** Ends the run early when it is aborted. */
  interrupted?: AbortSignal | undefined;
};

/** A request and its outcome. */
export type Sent = Outcome & { exchange: Exchange };

/** What a scenario expects of the effects of an event. It is judged again at the end of the run. */
type Expectation = { requirement: string; event: Event; wanted: number };

/** The state that the scenarios of a run share. */
export class Shared {
  /** By requirement and event. The latest expectation counts. */
  expectations = new Map<string, Expectation>();
  requests = 0;
  /** The number of requests in a row without a response. Requests during which the receiver was killed do not count. */
  silent = 0;
  /** How often the run killed the receiver. */
  kills = 0;
  /** False after a wait for an effect or for a final response has timed out. */
  isPatient = true;
  /** The first event that took effect, and when, in ms since the epoch. */
  earliest?: { event: Event; at: number };
}

/** The wait for effects, and the longest delay of a retry, after one wait of the run has timed out. */
const shortSettleMs = 300;
const pollMs = 20;
/** The delays, in milliseconds, before the retries of an event. The service's own delays are longer. */
const retryDelays = [20, 50, 100, 200, 500, 1000, 2000, 4000];
/** The run ends after this many requests in a row to which the receiver did not respond. */
const mostSilent = 3;

/** Returns the text of `webhook-timestamp` for a time some seconds from now. */
export const secondsIn = (seconds: number) => String(Math.floor(Date.now() / 1000) + seconds);

export const countText = (count: number) =>
  count === 0 ? "no effect" : count === 1 ? "one effect" : `${count} effects`;

/** What the service signs instead of an event under its own id, with the current time and the first secret. */
type Signing = { body?: Buffer | string; id?: string; timestamp?: string; secret?: string | undefined };

/** What the service sends for an event. `sign` returns what it would send with these changes. */
export type Genuine = Stamp & { context: Context; event: Event; body: Buffer; sign: (changes: Signing) => Altered };

/** How a request differs from the genuine one. A header whose value is undefined is not sent. */
export type Altered = Partial<Stamp & { type: string }> &
  Partial<Omit<WebhookRequest, "headers" | "body">> & {
    body?: Buffer | string;
    /** Returns the headers to send, from those that the other fields make. */
    headers?: (headers: readonly Header[]) => readonly Header[];
    /** The event that is judged instead. */
    event?: Event;
  };

export type Change = (genuine: Genuine) => Altered;

const headersOf = ({ type, id, timestamp, signature }: Altered): Header[] =>
  Object.entries({
    "content-type": type,
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signature,
  }).flatMap(([name, value]): Header[] => (value === undefined ? [] : [[name, value]]));

export class Context {
  readonly settings: Settings;
  readonly random: Random;
  readonly shared: Shared;
  /** What the scenario found. */
  readonly findings: Finding[] = [];
  readonly notApplicable: Record<string, NotJudged> = {};
  readonly exchanges: Exchange[] = [];
  /** The requirement that findings are about, unless they name another. */
  readonly #requirement: string;
  readonly #newEvent: ReturnType<typeof createEvents>;

  constructor(settings: Settings, shared: Shared, { id, ids }: Described) {
    this.random = createRandom(settings.seed, id);
    this.shared = shared;
    this.#requirement = ids[0]!;
    this.settings = settings;
    this.#newEvent = createEvents(`${settings.runId} ${id}`, this.random);
  }

  sleep(ms: number): Promise<void> {
    const { interrupted: signal } = this.settings;
    return sleep(ms, undefined, signal && { signal }).catch(() => undefined);
  }

  /**
   * Makes a new event. A name that the contract does not define makes an event that receivers must ignore. If the
   * receiver does not get this type, the event has a type that it gets, with the same result if possible.
   */
  event(name = "disbursement.completed", changes: Partial<Data> = {}): Event {
    const { events = eventNames } = this.settings;
    const [product, result] = name.split(".") as [string, string];
    const isOf = (each: string) => each.startsWith(`${product}.`);
    const known = () => events.find((each) => each.endsWith(result)) ?? events[0]!;
    // An unknown type stays unknown, but is of a product whose events the receiver gets.
    const unknown = () => (events.some(isOf) || !eventNames.some(isOf) ? name : events[0]!.replace(/[^.]+$/, result));
    const received = events.includes(name) ? name : eventNames.includes(name) ? known() : unknown();
    return this.#newEvent(received, changes);
  }

  events(count: number): Event[] {
    return Array.from({ length: count }, () => this.event());
  }

  /** Writes and signs an event as the service does, or with changes. */
  sign(event: Event, changes: Signing = {}): Stamp & { body: Buffer } {
    const { id = event.id, timestamp = secondsIn(0), secret = this.settings.secrets[0]! } = changes;
    const body = Buffer.from(changes.body ?? bodyOf(event));
    return { id, timestamp, signature: signatureOf([secret], id, timestamp, body), body };
  }

  /**
   * Sends an event once, signed and written as by the service but for the change, and records the request. Ends the run
   * if the receiver stopped responding.
   */
  async post(event: Event, change: Change = () => ({})): Promise<Sent> {
    const { shared } = this;
    const { url } = this.settings.subject;
    if (shared.silent >= mostSilent) {
      // Every further request would take its whole time limit.
      throw new CannotRun(`The receiver did not respond to ${mostSilent} requests in a row. Is it running at ${url}?`);
    }
    const genuine = this.sign(event);
    const sign = (changes: Signing) => this.sign(event, changes);
    const { headers = (given) => given, ...altered } = change({ context: this, event, sign, ...genuine });
    const request = {
      method: "POST",
      ...altered,
      headers: headers(headersOf({ type: "application/json", ...genuine, ...altered })),
      body: Buffer.from(altered.body ?? genuine.body),
    };
    const at = new Date();
    const { kills } = shared;
    const outcome = await send(url, request, this.settings.limits.timeoutMs);
    if (outcome.status !== undefined) shared.silent = 0;
    else if (/^no response|ECONNREFUSED/.test(outcome.failure ?? "") && kills === shared.kills) shared.silent += 1;
    const exchange = this.#exchange(request, outcome, at);
    this.exchanges.push(exchange);
    return { ...outcome, exchange };
  }

  /** Returns a request and its outcome as a report shows them, without secrets and signatures. */
  #exchange({ method, headers, body }: WebhookRequest, outcome: Outcome, at: Date): Exchange {
    const valueOf = (wanted: string) => headers.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? "";
    const hidden = this.settings.secrets.flatMap((secret) => [
      secret,
      secret.replace(/^whsec_/, ""),
      // A faulty receiver may state the signature that it expected.
      macOf(keyOf(secret), valueOf("webhook-id"), valueOf("webhook-timestamp"), body),
    ]);
    const redact = createRedactor(hidden, []);
    const text = body.toString("utf8");
    redact.learn(text);
    const values = Object.entries(Object.groupBy(headers, ([name]) => name));
    const request = {
      id: (this.shared.requests += 1),
      at,
      method,
      url: this.settings.subject.url,
      headers: Object.fromEntries(values.map(([name, all]) => [name, all!.map(([, value]) => value)])),
      text,
      durationMs: Date.now() - at.getTime(),
      curl: "# The signature of an event expires after minutes. Re-run the scenario.",
    };
    return exchangeOf(request, outcome, redact);
  }

  /** Sends an event as the service does: signs it for each attempt, and retries unless the response is final. */
  async deliver(event: Event): Promise<Sent> {
    const { shared } = this;
    let sent = await this.post(event);
    for (const delay of retryDelays.filter((ms) => shared.isPatient || ms <= shortSettleMs)) {
      if (isFinal(sent)) return sent;
      await sleep(delay);
      sent = await this.post(event);
    }
    if (!isFinal(sent)) shared.isPatient = false;
    return sent;
  }

  /** Waits until an event has an effect, at most for the time limit. Returns its effects. */
  async #awaitEffects({ id }: Event, wanted: number): Promise<Effect[]> {
    const { settleMs } = this.settings.limits;
    const end = performance.now() + (this.shared.isPatient ? settleMs : Math.min(shortSettleMs, settleMs));
    for (;;) {
      const found = (await this.settings.subject.effects()).filter((effect) => effect.id === id);
      if (found.length >= wanted) return found;
      if (performance.now() >= end) {
        this.shared.isPatient = false;
        return found;
      }
      await sleep(pollMs);
    }
  }

  /**
   * Sends another event and waits for its effect. What earlier requests caused is then visible, even if the receiver acts
   * after it has responded.
   */
  async settle(): Promise<void> {
    const event = this.event();
    if (isSuccess(await this.post(event))) await this.#awaitEffects(event, 1);
  }

  /**
   * Records a finding.
   * @param evidence what shows the finding; by default every request of the scenario
   */
  judge(ok: boolean, expected: string, actual: string, evidence?: readonly Sent[], id = this.#requirement): void {
    this.findings.push({ id, ok, expected, actual, exchanges: evidence?.map(({ exchange }) => exchange) });
  }

  /** Judges a response by its status. */
  judgeStatus(sent: Sent, ok: boolean, expected: string): void {
    this.judge(ok, expected, describe(sent), [sent]);
  }

  /** Judges that a response accepts or refuses an event, with a 2xx or a 4xx status. */
  judgeNoFault(sent: Sent): void {
    this.judgeStatus(sent, isSuccess(sent) || isRefusal(sent), "a 2xx or a 4xx response");
  }

  /**
   * Judges how often an event took effect, now and again at the end of the run. Waits for an expected effect, unless the
   * evidence shows that the event was not accepted. Returns the effects.
   */
  async judgeEffects(event: Event, wanted: 0 | 1, evidence?: readonly Sent[], id = this.#requirement) {
    const found = await this.#awaitEffects(event, (evidence ?? []).every(isSuccess) ? wanted : 0);
    this.judge(found.length === wanted, countText(wanted), countText(found.length), evidence, id);
    if (wanted === 1 && found.length === 1) this.shared.earliest ??= { event, at: Date.now() };
    this.shared.expectations.set(`${id} ${event.id}`, { requirement: id, event, wanted });
    return found;
  }

  /** Judges that an event was accepted with 2xx and took effect once, or was refused with 4xx and had no effect. */
  async judgeOutcome(event: Event, sent: Sent, outcome: "accepted" | "refused", expected?: string): Promise<Effect[]> {
    const isAccepted = outcome === "accepted";
    const ok = isAccepted ? isSuccess(sent) : isRefusal(sent);
    this.judgeStatus(sent, ok, expected ?? `a ${isAccepted ? "2xx" : "4xx"} response`);
    return this.judgeEffects(event, isAccepted ? 1 : 0, [sent]);
  }

  /** Sends an event once and judges that it was accepted. */
  async accepts(event: Event, change?: Change): Promise<Effect[]> {
    return this.judgeOutcome(event, await this.post(event, change), "accepted");
  }

  /** Ends the receiver without notice. */
  async kill(): Promise<void> {
    this.shared.kills += 1;
    await this.settings.subject.restart?.kill();
  }

  /** Kills the receiver and starts it again. */
  async restart(): Promise<void> {
    await this.kill();
    await this.settings.subject.restart?.start();
  }
}
