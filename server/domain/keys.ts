import { hash } from "node:crypto";
import type { Limits } from "./limits.ts";

/** What a key may do (D88): read payments, create payouts, create checkouts. A key without scopes may do everything. */
export const SCOPES = ["read", "disburse", "checkout"] as const;
export type Scope = (typeof SCOPES)[number];

/** The SHA-256 of a key, a link or a session, in hexadecimal digits. */
export type SecretHash = string;

/** A stored API key. Only its SHA-256 is stored, never its text. */
export interface ApiKey {
  id: string;
  merchantId: string;
  hash: SecretHash;
  /** The last four characters, so that people can tell keys apart. */
  hint: string;
  name?: string;
  /** The only operations that the key permits; absent if it may do everything. */
  scopes?: readonly Scope[];
  /** The limits of the payouts that are created with the key (D92). */
  limits?: Limits;
  /** Real time. */
  createdAt: number;
  /** When a request last used the key, to about a minute; absent if no request has used it. Real time. */
  usedAt?: number;
  /** Real time. */
  revokedAt?: number;
}

/** What new keys begin with. A key with another beginning is valid in both modes (D80). */
export const KEY_PREFIX: Readonly<Record<Mode, string>> = { sandbox: "test_", live: "live_" };

/** Returns why a key cannot belong to a service of this mode; undefined if it can. */
export function modeProblemOf(key: string, mode: Mode): string | undefined {
  if (mode === "live" && key.startsWith(KEY_PREFIX.sandbox))
    return "is a key for a sandbox, because it begins with test_, and this is a live service. Use a live key";
  if (mode === "sandbox" && key.startsWith(KEY_PREFIX.live))
    return "is a live key, because it begins with live_, and this is a sandbox. Use a key for a sandbox";
  return undefined;
}

/** How many keys that are not revoked a merchant may have. */
export const MOST_KEYS = 100;

/** Returns a key's SHA-256, the only form in which a key is stored. Keys are random, so they need no slow hash. */
export const hashKey = (key: string): SecretHash => hash("sha256", key);

export interface WebhookSecrets {
  current: string;
  /** What rotations replaced, newest first. Each signs until `expiresAt` (D12). */
  previous: { secret: string; expiresAt: number }[];
}

/** How long a replaced secret still signs, in sandbox time, and how many do at most (D12). */
const REPLACED_SIGN_MS = 24 * 3_600_000;
const MOST_REPLACED = 5;

/** The secrets that sign at this sandbox time. */
export const signingAt = (at: number, { current, previous }: WebhookSecrets): WebhookSecrets => ({
  current,
  previous: previous.filter(({ expiresAt }) => expiresAt > at),
});

/** Makes `secret` the current secret. The expiry of secrets that were replaced earlier does not change. */
export function rotated(at: number, secrets: WebhookSecrets, secret: string): WebhookSecrets {
  const { current, previous } = signingAt(at, secrets);
  const replaced = { secret: current, expiresAt: at + REPLACED_SIGN_MS };
  return { current: secret, previous: [replaced, ...previous].slice(0, MOST_REPLACED) };
}

/** Makes a webhook secret (D12, Standard Webhooks 1.0). */
export const newSecret = (random: (size: number) => Uint8Array): string =>
  `whsec_${Buffer.from(random(32)).toString("base64")}`;

/** A sandbox, or a service that moves real money. A database belongs to one of them for ever (D80). */
export type Mode = "sandbox" | "live";

/** The mode that SANDBOX asks for, if it is set. */
export type AskedMode = Mode | "unset";

export const modeOf = ({ sandbox }: { sandbox: boolean }): Mode => (sandbox ? "sandbox" : "live");
