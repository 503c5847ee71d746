// Replaces secrets, and people's phone numbers and names, in a recording. A recording must show none of them, but the
// checks compare them: a signature with a secret, a phone number with the number that was sent. Each secret therefore has
// a stand-in, which is the same wherever the secret occurs. A signature that was right is made again with the stand-in.
import { createHmac } from "node:crypto";
import { numbersLike } from "../allowances/search.ts";
import { signatureOf } from "../steps/notifications.ts";
import { pairOf } from "../generate/countries.ts";
import { realRecipients } from "../run-options.ts";
import {
  customerName,
  headerSecrets,
  hiddenIn,
  newKeyField,
  phoneField,
  secretHeaders,
  secretsRemover,
  type SecretOptions,
} from "../target/redact.ts";
import type { Incoming } from "../target/receiver.ts";

const digits = "0123456789";
const small = "abcdefghijklmnopqrstuvwxyz";
const capitals = small.toUpperCase();
const anyCharacter = digits + small + capitals;

const webhookSecret = /whsec_[A-Za-z0-9+/]+=*/g;

const bare = (secret: string) => secret.replace(/^whsec_/, "");

/** Returns the number of leading digits of a phone number that a deployment's ranges publish. */
const published = (phone: string, ranges: readonly string[]) =>
  Math.max(
    0,
    ...ranges.map((range) => range.replace(/x+$/, "")).map((start) => (phone.startsWith(start) ? start.length : 0)),
  );

/**
 * @param salt a random text that is not recorded
 * @param ranges the number ranges of the deployment, which reports show
 */
export function createStandIns<Options extends SecretOptions>(
  options: Options,
  salt: Buffer,
  ranges: readonly string[],
) {
  /** Returns a text of this length that depends on the value and reveals nothing about it. */
  function derived(value: string, length: number, alphabet: string): string {
    let result = "";
    for (let block = 0; result.length < length; block += 1) {
      const bytes = createHmac("sha256", salt).update(`${block} ${value}`).digest();
      result += [...bytes].map((byte) => alphabet[byte % alphabet.length]).join("");
    }
    return result.slice(0, length);
  }

  /** Returns the stand-in of a key, with what checks look at: the length, the letters' case, and an A at the end. */
  function keyFor(key: string): string {
    const isUpper = key === key.toUpperCase();
    const [letters, others] = isUpper ? [capitals, capitals + digits] : [small, small + digits];
    if (isUpper && key === key.toLowerCase()) return derived(key, key.length, digits);
    const last = key.endsWith("A") ? "A" : "7";
    return derived(`${key} 1`, 1, letters) + derived(key, key.length - 2, others) + last;
  }

  const secretFor = (secret: string) =>
    (secret.startsWith("whsec_") ? "whsec_" : "") + derived(bare(secret), bare(secret).length, anyCharacter);

  function phoneFor(phone: string): string {
    const { code } = pairOf(phone);
    const kept = Math.max(phone.startsWith(code) ? code.length : 0, published(phone, ranges));
    const middle = Math.max(0, phone.length - 3 - kept);
    return phone.slice(0, kept) + derived(phone, middle, digits) + phone.slice(kept + middle);
  }

  const { key, secondKey, webhookSecret: given, headers } = options;
  const replacements = new Map<string, string>([
    ...[key, secondKey, ...headerSecrets(options)].flatMap((each) =>
      each === undefined ? [] : [[each, keyFor(each)] as const],
    ),
    ...(given === undefined ? [] : [given, bare(given)].map((each) => [each, secretFor(each)] as const)),
  ]);
  const longestFirst = [...replacements].toSorted(([a], [b]) => b.length - a.length);
  const removeForms = secretsRemover(hiddenIn(options).secrets);
  const phones = new Map(Object.values(realRecipients(options)).map((phone) => [phone, phoneFor(phone)]));
  const numbers = new Map(
    [...phones].flatMap(([phone, other]) => {
      const [all, others] = [numbersLike(phone), numbersLike(other)];
      return all.map((each, index) => [each, others[index]!] as const);
    }),
  );
  const replaced = new Set(numbers.values());
  const signers = new Set<string>(given === undefined ? [] : [given]);
  const sentNumbers = new Set<string>();

  /** Replaces secrets and phone numbers in a text of the target by their stand-ins. */
  function text(original: string): string {
    let result = original;
    for (const [number, other] of numbers) result = result.replaceAll(number, other);
    // Other numbers may belong to other people.
    result = result.replaceAll(phoneField, (_, before: string, number: string) => {
      const isOwn = sentNumbers.has(number) || replaced.has(number) || number.length < 4;
      return before + (isOwn ? number : derived(number, number.length - 3, digits) + number.slice(-3));
    });
    result = result.replaceAll(
      customerName,
      (_, before: string, name: string) => before + derived(name, name.length, anyCharacter),
    );
    result = result.replaceAll(webhookSecret, secretFor);
    result = result.replaceAll(newKeyField, (_, before: string, of: string) => before + keyFor(of));
    for (const [secret, other] of longestFirst) result = result.replaceAll(secret, other);
    return removeForms(result);
  }

  const headersOf = (all: Incoming["headers"]): Incoming["headers"] =>
    Object.fromEntries(
      Object.entries(all).map(([name, value]) => {
        if (secretHeaders.has(name)) return [name, "[redacted]"];
        return [text(name), Array.isArray(value) ? value.map(text) : value === undefined ? value : text(value)];
      }),
    );

  return {
    options: {
      ...options,
      key: keyFor(key),
      secondKey: secondKey && keyFor(secondKey),
      webhookSecret: given && secretFor(given),
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, replacements.get(value) ?? ""]),
      ),
      recipient: phones.get(options.recipient) ?? options.recipient,
      failingRecipient: phones.get(options.failingRecipient ?? "") ?? options.failingRecipient,
    },
    /** Must be called with the body of every request and response before the other functions are called. */
    learn({ request = "", response = "" }: { request?: string; response?: string }) {
      for (const [, , number = ""] of request.matchAll(phoneField)) sentNumbers.add(number);
      for (const [secret] of response.matchAll(webhookSecret)) signers.add(secret);
    },
    text,
    headers: headersOf,
    /** Returns a webhook with stand-ins, signed again with the stand-in of the secret that signed it. */
    webhook({ path, method, headers: all, body }: Incoming): Incoming {
      const { "webhook-signature": signatures, ...others } = all;
      const [rest, changed] = [headersOf(others), text(body)];
      if (signatures === undefined) return { path, method, headers: rest, body: changed };
      const again = String(signatures)
        .split(" ")
        .map((signature) => {
          const signer = [...signers].find((secret) => signatureOf({ headers: all, body }, secret) === signature);
          if (signer !== undefined) return signatureOf({ headers: rest, body: changed }, secretFor(signer));
          const [version = "", mac] = signature.split(",");
          return mac === undefined ? text(version) : `${text(version)},${derived(mac, mac.length, anyCharacter)}`;
        })
        .join(" ");
      return { path, method, headers: { ...rest, "webhook-signature": again }, body: changed };
    },
  };
}

export type StandIns = Omit<ReturnType<typeof createStandIns>, "options">;
