import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { calculateJwkThumbprint, exportJWK } from "jose";
import { CannotRun } from "../results.ts";

/** Returns the path of the public key that belongs to a private key file. */
export const publicKeyFile = (file: string) => `${file}.pub`;

/**
 * Creates an Ed25519 key pair and writes it as PEM. The private key is written to `file` with mode 0600, the public key
 * to `file`.pub. Existing files are not overwritten.
 * @throws CannotRun if either file exists, or the error of a file that cannot be written
 */
export function writeKeyPair(file: string): void {
  for (const path of [file, publicKeyFile(file)]) {
    if (existsSync(path))
      throw new CannotRun(`${path} already exists. Keys are never overwritten; choose another name.`);
  }
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  writeFileSync(file, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600, flag: "wx" });
  writeFileSync(publicKeyFile(file), publicKey.export({ type: "spki", format: "pem" }), { mode: 0o644, flag: "wx" });
}

function readKey(file: string, kind: "private" | "public"): KeyObject {
  const pem = readFileSync(file, "utf8");
  if (kind === "public" && pem.includes("PRIVATE KEY")) {
    throw new CannotRun(`${file} is a private key. Keep it secret, and pass the public key (.pub) here.`);
  }
  let key: KeyObject;
  try {
    key = kind === "private" ? createPrivateKey(pem) : createPublicKey(pem);
  } catch {
    throw new CannotRun(`${file} is not a ${kind} key in PEM format. Create a key pair with \`certify keygen FILE\`.`);
  }
  if (key.asymmetricKeyType === "ed25519") return key;
  throw new CannotRun(`${file} is a key of type ${key.asymmetricKeyType}; certificates need Ed25519.`);
}

/** Reads an Ed25519 private key (PKCS #8, PEM). @throws CannotRun, or the error of a file that cannot be read */
export const readPrivateKey = (file: string): KeyObject => readKey(file, "private");

/** Reads an Ed25519 public key (SPKI, PEM). @throws CannotRun, or the error of a file that cannot be read */
export const readPublicKey = (file: string): KeyObject => readKey(file, "public");

/** Returns the JWK thumbprint (RFC 7638) of a key. A certificate uses it as the id of its signing key. */
export async function thumbprint(key: KeyObject): Promise<string> {
  return calculateJwkThumbprint(await exportJWK(key.type === "private" ? createPublicKey(key) : key));
}
