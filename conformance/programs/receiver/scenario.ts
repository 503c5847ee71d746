// Defines a scenario: data that states what it judges, and one function that plays the service towards the receiver.
import type { Random } from "../../generate/random.ts";
import type { Exchange } from "../../results.ts";
import type { Data, Event } from "./events.ts";
import type { Header, Outcome, WebhookRequest } from "./send.ts";
import type { Effect, Subject } from "./subject.ts";

/**
 * What a scenario needs from the caller, see `Subject`. `old-secret` is a second secret that the receiver accepts,
 * `parallel` that it reads several requests at a time.
 */
export type Need = "restart" | "outage" | "old-secret" | "parallel";

/** The three headers that authenticate an event. */
export type Stamp = { id: string; timestamp: string; signature: string };

/** A request and its outcome. */
export type Sent = Outcome & { exchange: Exchange };

export type Context = {
  subject: Subject;
  limits: Limits;
  /** Decodes to the key with which the service signs. */
  secret: string;
  /** Another secret that the receiver accepts; undefined if it has only one secret. */
  oldSecret?: string;
  random: Random;
  now(): Date;
  sleep(ms: number): Promise<void>;
  /**
   * Makes a new event. A name that the contract does not define makes an event that receivers must ignore. If the
   * receiver does not get this type, the event has a type that it gets.
   */
  event(name?: string, changes?: Partial<Data>): Event;
  /** Signs a body for an event as the service does, at the current time plus `offset` seconds. */
  stamp(event: Event, body: Buffer, offset?: number, secret?: string): Stamp;
  /** Sends a request and records it. */
  send(request: Partial<WebhookRequest> & Pick<WebhookRequest, "body" | "headers">): Promise<Sent>;
  /** Sends an event as the service does: signs it for each attempt, and retries unless the response is final. */
  deliver(event: Event): Promise<Sent>;
  /**
   * Sends another event and waits for its effect. What earlier requests caused is then visible, even if the receiver acts
   * after it has responded.
   */
  settle(): Promise<void>;
  /**
   * Records a finding about a requirement.
   * @param evidence what shows the finding; by default every request of the scenario
   */
  judge(id: string, ok: boolean, expected: string, actual: string, evidence?: readonly Sent[]): void;
  /**
   * Judges how often an event took effect, now and again at the end of the run. Waits for an expected effect, unless the
   * evidence shows that the event was not accepted. Returns the effects.
   */
  judgeEffects(id: string, event: Event, wanted: 0 | 1, evidence?: readonly Sent[]): Promise<Effect[]>;
  /** Returns the first event of the run that took effect, and when it did, in ms since the epoch. */
  earliest(): { event: Event; at: number } | undefined;
  /** Records why a requirement could not be judged, and what the caller would have to provide. */
  notProvided(id: string, why: string, provide: string): void;
};

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

export type Scenario = {
  /** The name for `--scenario`. */
  id: string;
  /** One phrase that says what the scenario sends. */
  name: string;
  /** The ids of the requirements that the scenario judges. */
  ids: readonly string[];
  needs?: readonly Need[];
  /** The types of events without which the scenario says nothing. It is left out if the receiver does not get them. */
  events?: readonly string[];
  run(context: Context): Promise<void>;
};

export const isSuccess = ({ status }: Outcome) => status !== undefined && status >= 200 && status <= 299;
export const isRefusal = ({ status }: Outcome) => status !== undefined && status >= 400 && status <= 499;
/** True if the service does not send the event again. */
export const isFinal = (outcome: Outcome) => isSuccess(outcome) || outcome.status === 410;

export const describe = ({ status, failure }: Outcome) => failure ?? `status ${status}`;

/** The headers with which the service sends an event. */
export const headersOf = ({ id, timestamp, signature }: Stamp): Header[] => [
  ["content-type", "application/json"],
  ["webhook-id", id],
  ["webhook-timestamp", timestamp],
  ["webhook-signature", signature],
];
