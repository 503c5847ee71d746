// Encryption of webhook secrets in the database (D12).
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import type { WebhookSecrets } from "../domain/keys.ts";
import { StorageError } from "./storage-error.ts";

/** Encrypts secrets before they are stored, and decrypts them when they are read. */
export type Sealing = ReturnType<typeof createSealing>;

const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** Stored texts without this prefix are plain JSON. */
const PREFIX = "sealed.v1.";

/** An id that tells keys apart in the database and in messages, and reveals nothing about the key. */
const idOf = (key: Buffer) => createHash("sha256").update("sealing key ").update(key).digest("hex").slice(0, 8);

/**
 * Returns the keys of a text with a key in each line: the base64 of 32 bytes. Undefined if one of the lines is no key.
 */
export function toSealingKeys(text: string): Buffer[] | undefined {
  const lines = text.split(/\s+/).filter(Boolean);
  const keys = lines.map((line) => Buffer.from(line, "base64"));
  const areKeys = keys.every((key, index) => key.length === KEY_BYTES && key.toString("base64") === lines[index]);
  return areKeys && keys.length > 0 ? keys : undefined;
}

/** @param keys the first key encrypts, and all keys decrypt; without keys, secrets are stored as they are */
export function createSealing(keys: readonly Buffer[] = []) {
  const byId = new Map(keys.map((key) => [idOf(key), key]));
  const [current] = byId;
  const currentPrefix = current && `${PREFIX}${current[0]}.`;
  return {
    /** Returns the text to store for the secrets of this merchant. */
    seal(merchantId: string, secrets: WebhookSecrets): string {
      const plain = JSON.stringify(secrets);
      if (!current) return plain;
      const iv = randomBytes(IV_BYTES);
      // The text is bound to the merchant, so that nobody can give a merchant the secret of another merchant.
      const cipher = createCipheriv(CIPHER, current[1], iv).setAAD(Buffer.from(merchantId));
      const text = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
      return currentPrefix + Buffer.concat([iv, cipher.getAuthTag(), text]).toString("base64url");
    },
    /** Returns the secrets of a stored text. @throws StorageError if it needs a key that is missing, or belongs to another merchant */
    unseal(merchantId: string, stored: string): WebhookSecrets {
      if (!stored.startsWith(PREFIX)) return JSON.parse(stored);
      const [id, data] = stored.slice(PREFIX.length).split(".") as [string, string];
      const key = byId.get(id);
      if (!key) {
        const known = keys.length === 0 ? "SECRETS_KEY_FILE is not set" : "SECRETS_KEY_FILE does not have it";
        throw new StorageError(
          `The webhook secrets in the database are encrypted with the key ${id}, and ${known}. Set SECRETS_KEY_FILE to ` +
            "a file with this key in one of its lines. Without the key the secrets are lost, and every merchant needs a new secret.",
        );
      }
      const bytes = Buffer.from(data, "base64url");
      const [iv, tag] = [bytes.subarray(0, IV_BYTES), bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)];
      try {
        const decipher = createDecipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES });
        decipher.setAAD(Buffer.from(merchantId)).setAuthTag(tag);
        const text = bytes.subarray(IV_BYTES + TAG_BYTES);
        return JSON.parse(decipher.update(text, undefined, "utf8") + decipher.final("utf8"));
      } catch {
        throw new StorageError(
          `The stored webhook secrets of merchant ${merchantId} were changed, or are another merchant's. ` +
            "Restore them from a backup.",
        );
      }
    },
    /** Whether a text is stored as `seal` would store it now: plain without keys, else with the first key. */
    isCurrent: (stored: string): boolean =>
      currentPrefix ? stored.startsWith(currentPrefix) : !stored.startsWith(PREFIX),
  };
}
