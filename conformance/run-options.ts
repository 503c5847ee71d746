import type { Declaration } from "./allowances/declaration.ts";
import type { EffectsAllowed, Profile } from "./results.ts";
import type { TlsCertificates } from "./target/tls.ts";

/** The sandbox operations (D18) that checks may use. `clock` moves the merchant's time, `time` reads it. */
export const controls = {
  clock: "POST /sandbox/clock/advance",
  time: "GET /sandbox/clock",
  "finish-payout": "POST /sandbox/disbursements/{reference}/finish",
  load: "POST /sandbox/payments",
  finish: "POST /sandbox/checkouts/{reference}/finish",
  events: "GET /sandbox/events",
  deliveries: "GET /sandbox/deliveries",
  replay: "POST /sandbox/deliveries/{id}/replay",
  secret: "GET /sandbox/webhook-secret",
  rotate: "POST /sandbox/webhook-secret/rotate",
  reset: "POST /sandbox/reset",
  chaos: "GET /sandbox/chaos",
  merchants: "POST /sandbox/merchants",
};

export type Control = keyof typeof controls;

export const allControls = Object.keys(controls) as Control[];

/** The default of `--max-total`, in the lowest denomination. A sandbox on loopback has no limit. */
export const defaultMaxTotal = 50_000_000;

/** The settings of one run: the caller's options, and what the probe found out about the target. */
export type RunOptions = {
  baseUrl: string;
  profile: Profile;
  effects: EffectsAllowed;
  only?: string[];
  /** The service's reference of a payout that exists, to judge it by reads (`--payout`); undefined without the option. */
  payout?: string;
  webhookUrl?: string;
  webhookListen?: { host: string; port: number };
  /** The limits that the caller declared (`--declare`); undefined without the flag. */
  declared?: Declaration;
  recipient: string;
  failingRecipient?: string;
  maxPayouts: number;
  /** The maximum sum of all payouts, in the lowest denomination; `Infinity` for no limit. */
  maxTotal: number;
  timeoutMs: number;
  /** The timeout of requests that move the sandbox's clock; by default a minute. */
  clockTimeoutMs?: number;
  /** The longest time from a payout's creation that the run waits for it to settle. */
  settleTimeoutMs: number;
  /** The least age of the first payouts at the closing checks, in seconds. */
  linger: number;
  /** The maximum number of requests per second; undefined for no limit. */
  rate?: number;
  headers: Record<string, string>;
  /** The certificates to trust, and the client certificate (`--ca`, `--cert`, `--key`). */
  tls?: TlsCertificates;
  /** True if a person on the terminal finishes checkouts (`--interactive`). */
  interactive?: boolean;
  seed: number;
  /** The text from which the seed and `runId` were derived (`--challenge`); undefined without the flag. */
  challenge?: string;
  key: string;
  secondKey?: string;
  webhookSecret?: string;
  /** The options, as shell words, that a command needs besides the target to re-run checks of this run. */
  repeatFlags?: string[];
  /** The options, as shell words, with which curl connects to the target as this run does. */
  curlFlags?: string[];
  /** A part of the references of this run, so that they differ from those of earlier runs. */
  runId: string;
  /** True if the host of `baseUrl` is a loopback address or `localhost`. */
  loopback: boolean;
  /** The URL of the Prism proxy in front of the target; undefined without `--through-prism`. */
  prismUrl?: string;
  /** The environment that `/healthz` reports; undefined if it reports neither of these. */
  environment?: "sandbox" | "live";
  /** The sandbox controls that the target was found to have. */
  controls: readonly Control[];
  /** The recipients that the caller did not name. The run uses the numbers of D17, or others with the same effect. */
  assumed: readonly ("recipient" | "failing-recipient")[];
};

/** The settings that checks see. Without the key, no check can send it in a form that reports do not redact. */
export type CheckOptions = Omit<RunOptions, "key" | "headers">;

/** Returns true if the target was found to have a control. */
export const hasControl = (options: CheckOptions, control: Control) => options.controls.includes(control);

/** Returns true if payouts to made-up phone numbers are safe, because the target does not pay real people. */
export const allowsMadeUpNumbers = ({ environment, loopback }: CheckOptions) => environment === "sandbox" || loopback;

/** The recipients of payouts that a run uses by default. Nobody has these numbers, so reports show them. */
export const defaultRecipients = { recipient: "2257038102473", failingRecipient: "2250000000089" };

/** Returns the phone numbers that the caller gave, by the name of the shell variable that repeating a request reads. */
export function realRecipients(options: Pick<RunOptions, "recipient" | "failingRecipient" | "assumed">) {
  const { recipient, failingRecipient = "", assumed } = options;
  const hidden = new Set(["", ...Object.values(defaultRecipients)]);
  return {
    ...(assumed.includes("recipient") || hidden.has(recipient) ? {} : { RECIPIENT: recipient }),
    ...(assumed.includes("failing-recipient") || hidden.has(failingRecipient)
      ? {}
      : { FAILING_RECIPIENT: failingRecipient }),
  };
}
