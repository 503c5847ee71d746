import { UsageError } from "../errors.ts";

export type Key = Uint8Array<ArrayBuffer>;

/** The keys of the current and earlier secrets. @throws {UsageError} A secret is not set or not valid. */
export function keysOf(secret: string | readonly string[] | undefined): Key[] {
  const keys = [secret].flat().map(keyOf);
  return keys.length > 0 ? keys : [keyOf(undefined)];
}

/** Decodes a secret. The error message must not contain the secret. */
export function keyOf(secret: string | undefined): Key {
  if (!secret) throw new UsageError("The webhook secret is not set.");
  let binary = "";
  try {
    binary = atob(secret.replace(/^whsec_/, ""));
  } catch {
    // The secret is not a string or not base64. The check below throws.
  }
  if (!binary) throw new UsageError("The webhook secret must be whsec_ followed by base64.");
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
