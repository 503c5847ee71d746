const PREFIX = "whsec_";
const BYTES = 32;

/**
 * Makes a webhook secret: `whsec_` and the base64 of 32 bytes (D12, Standard Webhooks 1.0).
 * @param random returns the requested number of unpredictable bytes, as `crypto.randomBytes` does
 */
export function newSecret(random: (size: number) => Uint8Array): string {
  return PREFIX + Buffer.from(random(BYTES)).toString("base64");
}
