// Makes sure, before a run, that the target responds and accepts the key, and finds out whether it is a sandbox.
import { RunStopped } from "../target/ledger.ts";
import { findControls } from "./controls.ts";
import { examineTarget } from "./examination.ts";
import { thisMachine, type Outside } from "../recording/outside.ts";
import { pairOf, payeeIn, type Recipient } from "../generate/countries.ts";
import { createRandom } from "../generate/random.ts";
import { openTarget } from "../run/run.ts";
import type { CertifyOptions } from "./options.ts";
import type { Target } from "../target/target.ts";
import { CannotRun } from "../results.ts";
import { defaultMaxTotal, defaultRecipients, type RunOptions } from "../run-options.ts";

/** Returns true for the name or the address of this machine. */
export const isLoopback = (host: string) => /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(host);

const doctorHint = "To examine the connection step by step, run certify doctor with the same options.";

/** Asks the target without a budget, so that nothing is created. @throws CannotRun if the target cannot be reached */
async function ask<T>(
  options: CertifyOptions,
  settings: { effects: "none" | "reject"; isImpatient?: boolean },
  outside: Outside,
  questions: (target: Target) => Promise<T>,
): Promise<T> {
  const { target, close } = openTarget({ ...options, ...settings, maxTotal: 0 }, outside);
  try {
    return await questions(target);
  } catch (error) {
    if (error instanceof RunStopped) throw new CannotRun(`${options.baseUrl}: ${error.message}.\n${doctorHint}`);
    throw error;
  } finally {
    close();
  }
}

type Found = Pick<RunOptions, "environment" | "controls">;

const onLoopback = ({ baseUrl }: CertifyOptions) => isLoopback(new URL(baseUrl).hostname);

const effectsFor = (options: CertifyOptions, environment: Found["environment"]) =>
  options.effects ?? (onLoopback(options) && environment === "sandbox" ? "money" : "none");

/** Returns how long a payout may stay pending: as long as declared, at least 90 s; only 10 s if the clock can move. */
const defaultSettleTimeoutMs = ({ declared }: CertifyOptions, { controls }: Found) =>
  controls.includes("clock") ? 10_000 : Math.max(90_000, (declared?.settlementSeconds ?? 0) * 1000);

/** Adds to the caller's options what was found out about the target, and the defaults that depend on it. */
export function runOptions(options: CertifyOptions, found: Found): RunOptions {
  const loopback = onLoopback(options);
  // Without a /healthz, a clock that moves shows a sandbox. On loopback its payouts reach nobody.
  const isSandbox = found.environment === "sandbox" || (loopback && found.controls.includes("clock"));
  const { reporting: _, yes: __, throughPrism: ___, ...rest } = options;
  const random = createRandom(options.seed, "recipients");
  // A service could recognise the suite by a number that is the same in every run.
  const mayMakeUp = (loopback || found.environment === "sandbox") && options.declared?.numberRanges === undefined;
  const madeUp = (phone: string, known: Recipient["assumed"]) =>
    mayMakeUp ? payeeIn(pairOf(phone), { recipient: phone, assumed: known }, random).phoneNumber : phone;
  return {
    ...rest,
    ...found,
    recipient: options.assumed.includes("recipient") ? madeUp(options.recipient, ["recipient"]) : options.recipient,
    effects: effectsFor(options, found.environment),
    settleTimeoutMs: options.settleTimeoutMs ?? defaultSettleTimeoutMs(options, found),
    // No money moves on a sandbox on loopback, so the largest amounts can be tried there.
    maxTotal: options.maxTotal ?? (loopback && isSandbox ? Infinity : defaultMaxTotal),
    failingRecipient:
      options.failingRecipient ?? (isSandbox ? madeUp(defaultRecipients.failingRecipient, []) : undefined),
    assumed: [...options.assumed, ...(options.failingRecipient === undefined ? ["failing-recipient" as const] : [])],
    webhookListen: options.webhookListen ?? (loopback ? { host: "127.0.0.1", port: 0 } : undefined),
    loopback,
  };
}

const dayMs = 86_400_000;
/** By how many days a run moves a sandbox's time at most, and how far ahead it can be (D18). */
const movedDays = { core: 1, extended: 75 };
const farthestDays = 365;

/** @throws CannotRun if the sandbox's time is so far ahead that the checks could not move it any more */
function requireRoom({ baseUrl, profile }: CertifyOptions, sandboxTime: Date, now: Date): void {
  const days = Math.floor((sandboxTime.getTime() - now.getTime()) / dayMs);
  if (days + movedDays[profile] <= farthestDays) return;
  throw new CannotRun(
    `${baseUrl}: the merchant's sandbox time is ${days} days ahead of real time, from earlier runs. It can be at most ` +
      `${farthestDays} days ahead, and this run needs up to ${movedDays[profile]}. Nothing was paid. Reset the merchant's ` +
      "sandbox (POST /sandbox/reset deletes its payments), or use the key of another merchant.",
  );
}

/**
 * Probes the target and adds the options that depend on it, such as effects, receiver and failing recipient.
 * @throws CannotRun if the target does not respond, rejects a key, or uses a different webhook secret
 */
export async function probe(options: CertifyOptions, outside: Outside = thisMachine()): Promise<RunOptions> {
  const examined = await ask(options, { effects: "none", isImpatient: true }, outside, (target) =>
    examineTarget(options, target, (point) => {
      if (!point.ok) throw new CannotRun(`${point.text}\n${doctorHint}`);
    }),
  );
  const environment = examined?.environment;
  // A live service has no sandbox controls, and could tell the suite from a merchant by the search for them.
  if (environment === "live") return runOptions(options, { environment, controls: [] });
  const effects = effectsFor(options, environment);
  const allowed = { effects: effects === "none" ? "none" : "reject" } as const;
  const { controls, sandboxTime } = await ask(options, allowed, outside, (target) => findControls(target, effects));
  if (effects === "money" && options.only === undefined && controls.includes("clock") && sandboxTime !== undefined)
    requireRoom(options, sandboxTime, outside.now());
  return runOptions(options, { environment, controls });
}
