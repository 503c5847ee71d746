// `@disbursement-checkout/server/testing`: a sandbox for the tests of a merchant's program. The server runs in a thread of
// the test's process, so that fake timers, mocked globals and a busy event loop do not reach it, and it ends with its
// process. This file uses no timers for the same reason.
import { Worker } from "node:worker_threads";
import type { Checkout, Disbursement, FailureCode, WebhookEvent } from "../../generated/models.ts";

export interface SandboxOptions {
  /** After how many milliseconds of sandbox time a payout succeeds by itself. Default: a day, which is the most. */
  settleDelayMs?: number;
}

/** A period of sandbox time: the sum of its fields, in whole seconds, at most 365 days. */
export type Duration = { [Unit in "days" | "hours" | "minutes" | "seconds"]?: number };

/** What is sent for an event: the body's exact text, and headers that `verifyWebhook` accepts at the test's `Date.now()`. */
export interface SentWebhook<Type extends WebhookEvent["event"] = WebhookEvent["event"]> {
  /** The parsed body. */
  event: Extract<WebhookEvent, { event: Type }>;
  body: string;
  headers: Record<string, string>;
}

/** A merchant of a sandbox. Every method rejects with an Error that says what to do if the service refuses the call. */
export interface Sandbox {
  /** The address of the service, without a trailing slash. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Signs the merchant's webhooks: `whsec_…`. */
  readonly webhookSecret: string;
  /** Creates another merchant, who shares nothing with this one but the address. Its `stop` deletes it. */
  merchant(name?: string): Promise<Sandbox>;
  /**
   * Moves the merchant's clock forward. What falls due happens before this resolves: payouts settle, checkouts expire,
   * webhooks are sent. Resolves with the new time (ISO 8601).
   */
  advance(duration: Duration): Promise<string>;
  /**
   * Ends a pending payout or checkout now, and resolves with it.
   * @param reference the merchant's or the service's
   * @param status `cancelled` is for checkouts
   * @param options.failure why a payout fails; only with `failed`
   */
  finish(
    reference: string,
    status: "success" | "failed" | "cancelled",
    options?: { failure?: FailureCode },
  ): Promise<Disbursement | Checkout>;
  /**
   * Loses the response to the merchant's next payout or checkout, as a network does: the record exists, and the connection
   * is closed.
   */
  lose(response: "create" | "createCheckout"): Promise<void>;
  /** The merchant's payouts, in the order of their creation. */
  payouts(): Promise<Disbursement[]>;
  /**
   * Resolves with the merchant's next event of this type, in the order in which they happened. Each event is returned once.
   * Payments need no `webhookURL` for this.
   * @param options.timeout how long to wait for the event, and for the receiver, in milliseconds of real time. Default 2000.
   * @param options.to sends the event to this address, once, and resolves with the receiver's response too
   */
  webhook<Type extends WebhookEvent["event"]>(
    type: Type,
    options: { timeout?: number; to: string | URL },
  ): Promise<SentWebhook<Type> & { response: { status: number; headers: Record<string, string>; body: string } }>;
  webhook<Type extends WebhookEvent["event"]>(type: Type, options?: { timeout?: number }): Promise<SentWebhook<Type>>;
  /** Ends the sandbox. Nothing of it is left. Without this call, it ends with the test's process. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A merchant as the thread knows it. */
export type Identity = Pick<Sandbox, "baseUrl" | "apiKey" | "webhookSecret"> & { id: string };
/** What the thread reports about a call: the JSON of its result, or the text of its error. */
type Outcome = { value: string } | { error: string };

const THREAD = import.meta.filename.replace(/index(?=\.\w+$)/, "worker");

/**
 * Starts a sandbox of its own in memory, on a free port of this machine. Sandboxes share nothing, so each test may have one:
 * `await using sandbox = await startSandbox()`.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  // The flags and the environment of a test runner are not for the server.
  const worker = new Worker(THREAD, { name: "sandbox", env: {}, execArgv: ["--disable-warning=ExperimentalWarning"] });
  const calls = new Map<number, (outcome: Outcome) => void>();
  let count = 0;
  let ending: string | undefined;
  const settle = (id: number, outcome: Outcome) => {
    calls.get(id)?.(outcome);
    calls.delete(id);
    // A sandbox that nobody waits for does not keep its process alive.
    if (calls.size === 0) worker.unref();
  };
  const fail = (reason: string) => {
    ending ??= reason;
    for (const id of calls.keys()) settle(id, { error: ending });
  };
  worker.on("message", ({ id, ...outcome }: { id: number } & Outcome) => settle(id, outcome));
  worker.on("error", (error) => fail(`The sandbox failed: ${error.message}`));
  worker.on("exit", () => fail("The sandbox was stopped."));

  async function call<Result>(method: string, ...args: unknown[]): Promise<Result> {
    if (ending !== undefined) throw new Error(ending);
    const id = ++count;
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    // Throws if an argument cannot be sent, such as a function. Then nothing may wait for an answer.
    worker.postMessage({ id, method, args });
    calls.set(id, resolve);
    worker.ref();
    const outcome = await promise;
    if ("error" in outcome) throw new Error(outcome.error);
    return JSON.parse(outcome.value) as Result;
  }

  function merchantOf(identity: Identity, end: () => Promise<void>): Sandbox {
    const { id: _, ...shown } = identity;
    let stopped: Promise<void> | undefined;
    const stop = () => (stopped ??= end());
    const ask = <Result>(method: string, ...args: unknown[]) => call<Result>(method, identity, ...args);
    return {
      ...shown,
      async merchant(name) {
        const other = await ask<Identity>("merchant", name);
        // What the sandbox had is gone with it.
        return merchantOf(other, async () => void (ending ?? (await ask("removeMerchant", other.id))));
      },
      advance: (duration) => ask("advance", duration),
      finish: (reference, status, choices) => ask("finish", reference, status, choices),
      lose: (response) => ask("lose", response),
      payouts: () => ask("payouts"),
      // A receiver in this process compares the time of a webhook with the clock that the test has set.
      webhook: (type: string, choices: { timeout?: number; to?: string | URL } = {}) =>
        ask<never>("webhook", type, { ...choices, to: choices.to?.toString(), now: Date.now() }),
      stop,
      [Symbol.asyncDispose]: stop,
    };
  }

  try {
    return merchantOf(await call<Identity>("start", options), async () => {
      await call("flush").catch(() => undefined);
      await worker.terminate();
    });
  } catch (error) {
    await worker.terminate();
    throw error;
  }
}
