import { hmacs } from "../domain/secrets.ts";

const SECRET_PREFIX = "whsec_";
/** Standard Webhooks 1.0 requires keys of 24 to 64 bytes. */
const SECRET_FORM = /^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/;

/**
 * Returns the value of `webhook-signature` (D12): for each secret, `v1,` and the base64 HMAC-SHA256 of
 * `id.timestamp.body`, separated by spaces. During a rotation, receivers can verify with either secret.
 *
 * @param secrets all valid secrets, from `newSecret`; at least one.
 * @param timestampSeconds real time of the attempt, in whole seconds since 1970, as in `webhook-timestamp`.
 * @param body the exact text that is sent.
 * @throws Error if there is no secret or one is malformed; the message never contains a secret.
 */
export function sign(secrets: readonly string[], id: string, timestampSeconds: number, body: string): string {
  if (secrets.length === 0) throw new Error("Signing a webhook requires at least one secret.");
  const content = `${id}.${timestampSeconds}.${body}`;
  return secrets.map((secret) => `v1,${hmac(secret, content)}`).join(" ");
}

const hmac = hmacs("base64", bytesOf);

function bytesOf(secret: string): Uint8Array {
  if (!SECRET_FORM.test(secret)) {
    throw new Error("A webhook secret must be whsec_ and the base64 of 24 to 64 bytes.");
  }
  return Buffer.from(secret.slice(SECRET_PREFIX.length), "base64");
}
