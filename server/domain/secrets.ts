import type { Actor } from "./audit.ts";

/** A webhook secret that a rotation replaced. It signs until `expiresAt` (D12). */
export interface PreviousSecret {
  secret: string;
  expiresAt: number;
}

export interface WebhookSecrets {
  current: string;
  /** Newest first. Secrets that have expired may still be listed. */
  previous: PreviousSecret[];
}

export interface Rotation {
  keepMs: number;
  maxPrevious: number;
  actor: Actor;
}

const PREFIX = "whsec_";
const BYTES = 32;

/**
 * Makes a webhook secret: `whsec_` and the base64 of 32 bytes (D12, Standard Webhooks 1.0).
 * @param random returns the requested number of unpredictable bytes, as `crypto.randomBytes` does
 */
export function newSecret(random: (size: number) => Uint8Array): string {
  return PREFIX + Buffer.from(random(BYTES)).toString("base64");
}
