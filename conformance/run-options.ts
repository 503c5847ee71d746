import type { EffectsAllowed, Profile } from "./results.ts";

/**
 * The settings of one run: the caller's options, and what the probe found out about the target.
 */
export type RunOptions = {
  baseUrl: string;
  profile: Profile;
  effects: EffectsAllowed;
  only?: string[];
  webhookUrl?: string;
  webhookListen?: { host: string; port: number };
  recipient: string;
  failingRecipient?: string;
  maxPayouts: number;
  /** The maximum sum of all payouts, in the lowest denomination. */
  maxTotal: number;
  timeoutMs: number;
  /** The maximum number of requests per second; undefined for no limit. */
  rate?: number;
  headers: Record<string, string>;
  seed: number;
  key: string;
  secondKey?: string;
  webhookSecret?: string;
  /** A random text. It is part of the references of this run, so that they differ from those of earlier runs. */
  runId: string;
  /** True if the host of `baseUrl` is a loopback address or `localhost`. */
  loopback: boolean;
  /** The URL of the Prism proxy in front of the target; undefined without `--through-prism`. */
  prismUrl?: string;
  /** The environment that `/healthz` reports; undefined if it reports neither of these. */
  environment?: "sandbox" | "live";
};

/** Returns true if payouts to made-up phone numbers are safe, because the target does not pay real people. */
export const allowsMadeUpNumbers = ({ environment, loopback }: RunOptions) => environment === "sandbox" || loopback;
