// Signs webhooks, delivers them and retries them.
import { createHmac, randomBytes } from "node:crypto";
import document from "../../generated/openapi.json" with { type: "json" };
import type { components } from "../../generated/openapi.ts";
import type { Clock, Task } from "./clock.ts";
import type { Deliver, Message, Reply } from "./messages.ts";
import { Problem } from "./problem.ts";

type Schemas = components["schemas"];
type Attempt = Schemas["Attempt"];

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const waits = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour];
const timeout = 15 * second;

export const iso = (time: number) => new Date(time).toISOString();

export type Chaos = Schemas["Chaos"];
const { properties: settings } = document.components.schemas.Chaos;
export const noChaos = Object.fromEntries(Object.keys(settings).map((name) => [name, 0])) as unknown as Chaos;
/** Returns true at random, in this percentage of calls. */
const strikes = (percent: number) => Math.random() * 100 < percent;

type Previous = { secret: string; until: number };
const newSecret = () => `whsec_${randomBytes(32).toString("base64")}`;

type Body = string | Uint8Array;

/** Returns the key of a secret: the bytes that follow `whsec_` as base64. */
export const keyOf = (secret: string): Buffer => Buffer.from(secret.replace(/^whsec_/, ""), "base64");

/** Returns the base64 HMAC-SHA256 of `id.timestamp.body`, without the version that precedes it in a signature. */
export const macOf = (key: Uint8Array, id: string, timestamp: number | string, body: Body): string =>
  createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");

/** Returns the signature of a webhook by each of these secrets. */
export const signatureOf = (secrets: readonly string[], id: string, timestamp: number | string, body: Body): string =>
  secrets.map((secret) => `v1,${macOf(keyOf(secret), id, timestamp, body)}`).join(" ");

/** A merchant's webhook secret, and the replaced secrets that still sign. */
export class Secrets {
  #current = newSecret();
  #previous: Previous[] = [];

  rotate(now: number): void {
    this.#previous = [{ secret: this.#current, until: now + day }, ...this.#active(now)].slice(0, 5);
    this.#current = newSecret();
  }

  /** Returns the secrets that sign at this time, the current one first. */
  active(now: number): string[] {
    return [this.#current, ...this.#active(now).map(({ secret }) => secret)];
  }

  show(now: number): Schemas["WebhookSecret"] {
    const previous = this.#active(now).map(({ secret, until }) => ({ secret, expiresAt: iso(until) }));
    return { secret: this.#current, previousSecrets: previous };
  }

  #active(now: number): Previous[] {
    return this.#previous.filter(({ until }) => until > now);
  }
}

const isSuccess = ({ status }: Reply) => status >= 200 && status < 300;

const deliver: Deliver = async ({ url, headers, body }) => {
  const signal = AbortSignal.timeout(timeout);
  const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal });
  // The status counts even if the body cannot be read.
  const text = (await response.text().catch(() => "")).slice(0, 1024);
  return { status: response.status, headers: Object.fromEntries(response.headers), text };
};

/** Returns the wait that `Retry-After` asks for: at most an hour, 0 without the header. */
function askedWait({ status, headers }: Reply): number {
  const value = status === 429 || status === 503 ? headers["retry-after"] : undefined;
  if (value === undefined) return 0;
  const wait = /^\d+$/.test(value) ? Number(value) * second : Date.parse(value) - Date.now();
  return Number.isNaN(wait) ? 0 : Math.min(Math.max(wait, 0), hour);
}

/** What follows from an attempt: the status of the delivery, and the wait until the next attempt if there is one. */
export type Attempted = { status: Schemas["DeliveryStatus"]; waitMs?: number };

/** What a delivery needs of its merchant. */
type Sender = {
  state: { clock: Clock; chaos: Chaos; heldBack: Delivery | undefined };
  secrets: Secrets;
  hooks: { webhook?: (message: Message, deliver: Deliver) => Promise<Reply> };
  attempted(attempt: Attempt, next: Attempted, delivery: Delivery): Attempted;
};

/** The delivery of one event to one URL. */
export class Delivery {
  readonly shown: Schemas["Delivery"];
  readonly #event: Schemas["SandboxEvent"];
  readonly #body: string;
  readonly #merchant: Sender;
  readonly #clock: Clock;
  #next: Task | undefined;
  #isBusy = false;
  /** The attempts since the schedule was started or restarted that failed, or that chaos repeats. */
  failures = 0;

  constructor(event: Schemas["SandboxEvent"], url: string, merchant: Sender) {
    const { id, reference, createdAt, body } = event;
    this.shown = { id, event: body.event, reference, url, status: "pending", createdAt, attempts: [] };
    this.#event = event;
    this.#body = JSON.stringify(body);
    this.#merchant = merchant;
    this.#clock = merchant.state.clock;
    this.#schedule(Date.parse(createdAt));
  }

  async replay(): Promise<void> {
    if (this.#isBusy) throw new Problem("delivery_in_progress", "An attempt for this delivery is in progress.");
    this.#clock.cancel(this.#next);
    this.failures = 0;
    await this.#attempt(this.#clock.now());
  }

  /** Makes the next attempt of a delivery that was held back due now. */
  hurry(): void {
    this.#merchant.state.heldBack = undefined;
    this.#clock.cancel(this.#next);
    if (this.shown.nextAttemptAt !== undefined) this.#schedule(this.#clock.now());
  }

  #schedule(at: number): void {
    this.shown.nextAttemptAt = iso(at);
    this.#next = this.#clock.schedule(at, (due) => this.#attempt(due));
  }

  async #attempt(at: number): Promise<void> {
    this.#isBusy = true;
    delete this.shown.nextAttemptAt;
    const sent = Date.now();
    const { state } = this.#merchant;
    const isFirst = this.shown.attempts.length === 0;
    const attempt: Attempt = { number: this.shown.attempts.length + 1, at: iso(at), sentAt: iso(sent), latencyMs: 0 };
    let reply: Reply | undefined;
    try {
      // While one delivery is held back, others overtake it.
      if (isFirst && !state.heldBack && strikes(state.chaos.reorderedWebhooksPercent)) {
        state.heldBack = this;
        throw new Error("held back by chaos");
      }
      reply = await this.#send(sent, at);
      attempt.httpStatus = reply.status;
      attempt.responseBody = reply.text;
      if (!isSuccess(reply)) attempt.error = `The receiver responded with ${reply.status}.`;
    } catch (error) {
      attempt.error = `The receiver did not respond: ${String(error)}`;
    }
    attempt.latencyMs = Date.now() - sent;
    this.#isBusy = false;
    const { status, waitMs } = this.#merchant.attempted(attempt, this.#outcomeOf(reply), this);
    this.failures += 1;
    this.shown.attempts.push(attempt);
    this.shown.status = status;
    if (waitMs !== undefined) this.#schedule(at + attempt.latencyMs + waitMs);
  }

  #send(sent: number, at: number): Promise<Reply> {
    const { id, url } = this.shown;
    const timestamp = String(Math.floor(sent / second));
    const secrets = this.#merchant.secrets.active(at);
    const headers = {
      "content-type": "application/json",
      "user-agent": "payments-model",
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": signatureOf(secrets, id, timestamp, this.#body),
    };
    const { webhook = (message) => deliver(message) } = this.#merchant.hooks;
    return webhook({ url, headers, body: this.#body, event: this.#event, secrets, at }, deliver);
  }

  #outcomeOf(reply: Reply | undefined): Attempted {
    const { state } = this.#merchant;
    if (reply && isSuccess(reply)) {
      const wasDelivered = this.shown.attempts.some(({ error }) => error === undefined);
      state.heldBack?.hurry();
      if (wasDelivered || !strikes(state.chaos.repeatedWebhooksPercent)) return { status: "delivered" };
      return { status: "pending", waitMs: 0 };
    }
    if (reply?.status === 410) return { status: "ended" };
    const wait = waits[this.failures];
    if (wait === undefined) return { status: "exhausted" };
    return { status: "pending", waitMs: Math.max(wait * (0.8 + 0.4 * Math.random()), reply ? askedWait(reply) : 0) };
  }
}
