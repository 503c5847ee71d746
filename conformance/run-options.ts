import type { EffectsAllowed, Profile } from "./results.ts";

/** The settings of one run: the caller's options and what the probe found out about the target. Plain data. */
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
  /** In the lowest denomination. */
  maxTotal: number;
  timeoutMs: number;
  /** Requests per second. */
  rate?: number;
  headers: Record<string, string>;
  seed: number;
  key: string;
  secondKey?: string;
  webhookSecret?: string;
  /** Part of every reference this run creates. Random, so that references of earlier runs do not collide. */
  runId: string;
  /** True if the target is on this machine. */
  loopback: boolean;
  /** Where Prism proxies the target, with `--through-prism`. */
  prismUrl?: string;
  /** What `/healthz` reports; undefined if it reports nothing. */
  environment?: "sandbox" | "live";
};

/** True if payouts to made-up phone numbers reach nobody. */
export const allowsMadeUpNumbers = ({ environment, loopback }: RunOptions) => environment === "sandbox" || loopback;
