// Signs webhooks, delivers them and retries them.
import { createHmac, randomBytes } from "node:crypto";
import type { components } from "../../generated/openapi.ts";
import type { Agenda, Task } from "./agenda.ts";
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

type Previous = { secret: string; until: number };
const newSecret = () => `whsec_${randomBytes(32).toString("base64")}`;

/** A merchant's webhook secret, and the replaced secrets that still sign. */
export class Secrets {
  #current = newSecret();
  #previous: Previous[] = [];

  rotate(now: number): void {
    this.#previous = [{ secret: this.#current, until: now + day }, ...this.#active(now)].slice(0, 5);
    this.#current = newSecret();
  }

  forgetPrevious(): void {
    this.#previous = [];
  }

  sign(content: string, now: number): string {
    const secrets = [this.#current, ...this.#active(now).map(({ secret }) => secret)];
    const sign = (secret: string) =>
      createHmac("sha256", Buffer.from(secret.slice("whsec_".length), "base64"))
        .update(content)
        .digest("base64");
    return secrets.map((secret) => `v1,${sign(secret)}`).join(" ");
  }

  show(now: number): Schemas["WebhookSecret"] {
    const previous = this.#active(now).map(({ secret, until }) => ({ secret, expiresAt: iso(until) }));
    return { secret: this.#current, previousSecrets: previous };
  }

  #active(now: number): Previous[] {
    return this.#previous.filter(({ until }) => until > now);
  }
}

/** Reads the first KiB of a response. The status counts even if the body cannot be read. */
async function startOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  try {
    const reader = body?.getReader();
    for (let size = 0; reader && size < 1024; size += chunks.at(-1)?.length ?? 0) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
    }
    await reader?.cancel();
  } catch {
    // Show the part that was read.
  }
  return Buffer.concat(chunks).subarray(0, 1024).toString();
}

/** Returns the wait that `Retry-After` asks for: at most an hour, 0 without the header. */
function askedWait(response: Response | undefined): number {
  const value = response?.status === 429 || response?.status === 503 ? response.headers.get("retry-after") : null;
  if (value === null) return 0;
  const wait = /^\d+$/.test(value) ? Number(value) * second : Date.parse(value) - Date.now();
  return Number.isNaN(wait) ? 0 : Math.min(Math.max(wait, 0), hour);
}

const endings: Record<number, Schemas["DeliveryStatus"]> = { 410: "ended" };

/** The delivery of one event to one URL. */
export class Delivery {
  readonly shown: Schemas["Delivery"];
  readonly #body: string;
  readonly #agenda: Agenda;
  readonly #secrets: Secrets;
  #next: Task | undefined;
  #isBusy = false;
  /** Failed attempts since the schedule was started or restarted. */
  #failures = 0;

  constructor(event: Schemas["SandboxEvent"], url: string, agenda: Agenda, secrets: Secrets) {
    const { id, reference, createdAt, body } = event;
    this.shown = { id, event: body.event, reference, url, status: "pending", createdAt, attempts: [] };
    this.#body = JSON.stringify(body);
    this.#agenda = agenda;
    this.#secrets = secrets;
    this.#schedule(Date.parse(createdAt));
  }

  async replay(): Promise<void> {
    if (this.#isBusy) throw new Problem("delivery_in_progress", "An attempt for this delivery is in progress.");
    this.#agenda.cancel(this.#next);
    this.#failures = 0;
    await this.#attempt(this.#agenda.now());
  }

  #schedule(at: number): void {
    this.shown.nextAttemptAt = iso(at);
    this.#next = this.#agenda.schedule(at, (due) => this.#attempt(due));
  }

  async #attempt(at: number): Promise<void> {
    this.#isBusy = true;
    delete this.shown.nextAttemptAt;
    const sent = Date.now();
    const attempt: Attempt = { number: this.shown.attempts.length + 1, at: iso(at), sentAt: iso(sent), latencyMs: 0 };
    let response: Response | undefined;
    try {
      response = await this.#send(sent, at);
      attempt.httpStatus = response.status;
      attempt.responseBody = await startOf(response);
      if (!response.ok) attempt.error = `The receiver responded with ${response.status}.`;
    } catch (error) {
      attempt.error = `The receiver did not respond: ${String(error)}`;
    }
    attempt.latencyMs = Date.now() - sent;
    this.shown.attempts.push(attempt);
    this.#isBusy = false;
    this.#conclude(response, at + attempt.latencyMs);
  }

  #send(sent: number, at: number): Promise<Response> {
    const { id, url } = this.shown;
    const timestamp = String(Math.floor(sent / second));
    return fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": timestamp,
        "webhook-signature": this.#secrets.sign(`${id}.${timestamp}.${this.#body}`, at),
      },
      body: this.#body,
      redirect: "manual",
      signal: AbortSignal.timeout(timeout),
    });
  }

  #conclude(response: Response | undefined, at: number): void {
    const ending = response?.ok ? "delivered" : endings[response?.status ?? 0];
    const wait = waits[this.#failures];
    this.#failures += 1;
    this.shown.status = ending ?? (wait === undefined ? "exhausted" : "pending");
    if (ending !== undefined || wait === undefined) return;
    const varied = wait * (0.8 + 0.4 * Math.random());
    this.#schedule(at + Math.max(varied, askedWait(response)));
  }
}
