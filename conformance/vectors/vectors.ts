// Makes the test vectors in webhooks.json. `npm run vectors` writes them; a test fails if the file is stale.
import { createHmac } from "node:crypto";
import { keyOf, macOf, signatureOf } from "../programs/receiver/signature.ts";

export type Vector = {
  id: string;
  /** The secrets that the receiver has. */
  secrets: string[];
  /** Names and values, as received. */
  headers: Record<string, string>;
  /** The bytes of the body in base64. */
  body: string;
  /** The receiver's clock, in seconds since 1970. */
  time: number;
  verdict: "accept" | "refuse";
  why: string;
  /** Set if the service itself sends exactly these headers with `secrets`. */
  asSent?: true;
};

const tolerance = 300;
const time = Date.UTC(2026, 10, 22, 9) / 1000;
const id = "msg_01a1f84a95c07a569c0d3f2b81d6e701";
const secret = "whsec_dGVzdC12ZWN0b3JzLXJlY2VpdmVyLXNlY3JldC0wMQ==";
const older = "whsec_dGVzdC12ZWN0b3JzLXJlY2VpdmVyLXNlY3JldC0wMg==";
const foreign = "whsec_dGVzdC12ZWN0b3JzLWZvcmVpZ24tc2VjcmV0LTAwMDAx";

const event = {
  event: "checkout.completed",
  data: {
    reference: "CHK5D8WQ1ZN0YB7F2KTE4X9C",
    merchantsReference: "order-1001",
    amount: 2_500_000,
    status: "success",
  },
};
const plain = JSON.stringify(event);
const withData = (changes: object) => JSON.stringify({ ...event, data: { ...event.data, ...changes } });
const indented = JSON.stringify(event, null, 2);
const reordered = JSON.stringify({ data: event.data, event: event.event });

/** The parts of a vector. Parts that are left out are as in a genuine event. */
type Parts = {
  secrets: string[];
  /** The secret that signs. */
  signer: string;
  id: string;
  /** `webhook-timestamp` is this many seconds after the receiver's clock. */
  offset: number;
  timestamp: string;
  /** The received body, which differs from `signedBody` if it was altered. */
  body: string;
  signedBody: string;
  signedId: string;
  signedTimestamp: string;
  /** Makes the value of `webhook-signature` from the genuine value. */
  signature: (genuine: string) => string;
  /** Changes the headers. */
  headers: (headers: Record<string, string>) => Record<string, string>;
};

function vector(name: string, verdict: Vector["verdict"], why: string, parts: Partial<Parts> = {}): Vector {
  const { secrets = [secret], body = plain, offset = 0, headers = (same) => same, signature = (same) => same } = parts;
  const timestamp = parts.timestamp ?? String(time + offset);
  const webhookId = parts.id ?? id;
  const genuine = signatureOf(
    parts.signer ?? secrets[0] ?? secret,
    parts.signedId ?? webhookId,
    parts.signedTimestamp ?? timestamp,
    Buffer.from(parts.signedBody ?? body),
  );
  const sent = { "webhook-id": webhookId, "webhook-timestamp": timestamp, "webhook-signature": signature(genuine) };
  const isAsSent = verdict === "accept" && !parts.signature && !parts.headers && !parts.signer;
  return {
    id: name,
    secrets,
    headers: headers({ "content-type": "application/json", ...sent }),
    body: Buffer.from(body).toString("base64"),
    time,
    verdict,
    why,
    ...(isAsSent ? { asSent: true } : {}),
  };
}

const accept = (name: string, why: string, parts?: Partial<Parts>) => vector(name, "accept", why, parts);
const refuse = (name: string, why: string, parts?: Partial<Parts>) => vector(name, "refuse", why, parts);

const mac = (signature: string) => signature.slice(3);
const foreignSignature = signatureOf(foreign, id, String(time), Buffer.from(plain));
const keyed = (key: Uint8Array) => ({ signature: () => `v1,${macOf(key, id, String(time), Buffer.from(plain))}` });
/** Signs content other than `id.timestamp.body`, or with another hash. */
const over = (content: string, hash = "sha256") => ({
  signature: () => `v1,${createHmac(hash, keyOf(secret)).update(content).digest("base64")}`,
});
const without = (name: string) => ({
  headers: (headers: Record<string, string>) =>
    Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name)),
});
const withEmpty = (name: string) => ({ headers: (headers: Record<string, string>) => ({ ...headers, [name]: "" }) });
const named = (change: (name: string) => string) => ({
  headers: (headers: Record<string, string>) =>
    Object.fromEntries(Object.entries(headers).map(([name, value]) => [change(name), value])),
});
const sized = (bytes: number) => `whsec_${Buffer.alloc(bytes, "k").toString("base64")}`;

const genuine: Vector[] = [
  accept("genuine", "An event as the service sends it."),
  accept("letters-beyond-ascii", "The signature covers the UTF-8 bytes of the body.", {
    body: withData({ merchantsReference: "Reçu-北京-🧾" }),
  }),
  accept("escaped-letters", "Escapes in JSON are part of the signed bytes.", {
    body: plain.replace("success", String.raw`succes\u0073`),
  }),
  accept("indented-body", "White space in the body is part of the signed bytes.", { body: indented }),
  accept("body-with-newline", "A final newline is part of the signed bytes.", { body: `${plain}\n` }),
  accept("body-with-crlf", "Line ends are part of the signed bytes.", { body: indented.replaceAll("\n", "\r\n") }),
  accept("reordered-fields", "The order of the fields does not matter as long as the bytes were signed.", {
    body: reordered,
  }),
  accept("escaped-slashes", "Slashes may be escaped.", {
    body: withData({ url: "https://shop.example/" }).replaceAll("/", String.raw`\/`),
  }),
  accept("largest-amount", "The largest amount of the contract.", {
    body: withData({ amount: Number.MAX_SAFE_INTEGER }),
  }),
  accept("large-body", "A body of 4 KiB.", { body: withData({ note: "n".repeat(4096) }) }),
  accept("id-with-dots", "A dot in the id does not change what is signed.", { id: "msg_1.2.3" }),
  accept("short-key", "A key of 24 bytes, the shortest of Standard Webhooks.", { secrets: [sized(24)] }),
  accept("long-key", "A key of 64 bytes, the longest of Standard Webhooks.", { secrets: [sized(64)] }),
  accept("capital-header-names", "The names of headers are not case-sensitive.", {
    ...named((name) => name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase())),
  }),
  accept(
    "upper-case-header-names",
    "The names of headers are not case-sensitive.",
    named((name) => name.toUpperCase()),
  ),
  accept("oldest-timestamp", "Exactly as old as the tolerance allows.", { offset: -tolerance }),
  accept("newest-timestamp", "Exactly as far ahead as the tolerance allows.", { offset: tolerance }),
  accept("a-minute-old", "A retry may take a while.", { offset: -60 }),
  accept("a-minute-ahead", "The clocks of the two sides differ.", { offset: 60 }),
];

const lists: Vector[] = [
  accept("foreign-signature-first", "One valid signature is enough, wherever it stands.", {
    signature: (own) => `${foreignSignature} ${own}`,
  }),
  accept("foreign-signature-last", "One valid signature is enough, wherever it stands.", {
    signature: (own) => `${own} ${foreignSignature}`,
  }),
  accept("other-versions-beside", "Signatures of other versions are skipped.", {
    signature: (own) => `v1a,${mac(foreignSignature)} v2,abc ${own}`,
  }),
  accept("same-signature-twice", "A repeated signature does no harm.", { signature: (own) => `${own} ${own}` }),
  accept("signed-with-the-newer-secret", "A receiver with two secrets accepts either.", {
    secrets: [secret, older],
    signer: secret,
  }),
  accept("signed-with-the-older-secret", "A receiver with two secrets accepts either.", {
    secrets: [secret, older],
    signer: older,
  }),
  accept("signed-with-both-secrets", "For a day after a rotation the service signs with both.", {
    secrets: [older],
    signature: (own) => `${signatureOf(secret, id, String(time), Buffer.from(plain))} ${own}`,
  }),
  refuse("only-foreign-signatures", "No signature is valid.", {
    signature: () => Array.from({ length: 5 }, () => foreignSignature).join(" "),
  }),
  refuse("separated-by-commas", "Signatures are separated by spaces.", {
    signature: (own) => `${foreignSignature},${own}`,
  }),
];

const forged: Vector[] = [
  refuse("another-secret", "Signed with a secret that the receiver does not have.", { signer: foreign }),
  refuse("empty-key", "Signed with an empty key, as a receiver without a secret would.", keyed(Buffer.alloc(0))),
  refuse("undecoded-secret", "Signed with the text of the secret instead of its bytes.", keyed(Buffer.from(secret))),
  refuse(
    "undecoded-base64",
    "Signed with the base64 of the secret instead of its bytes.",
    keyed(Buffer.from(secret.slice(6))),
  ),
  refuse("changed-amount", "The amount was changed after signing.", {
    signedBody: plain,
    body: withData({ amount: 9_900_000 }),
  }),
  refuse("changed-status", "The status was changed after signing.", {
    signedBody: plain,
    body: withData({ status: "failed" }),
  }),
  refuse("added-space", "A space was added after signing.", { signedBody: plain, body: `${plain} ` }),
  refuse("cut-body", "The end of the body is missing.", { signedBody: plain, body: plain.slice(0, -10) }),
  refuse("no-body", "The body is missing.", { signedBody: plain, body: "" }),
  refuse("re-encoded-body", "The same JSON, indented after signing: the signature covers bytes.", {
    signedBody: plain,
    body: indented,
  }),
  refuse("re-ordered-body", "The same JSON in another order: the signature covers bytes.", {
    signedBody: plain,
    body: reordered,
  }),
  refuse("another-id", "The id was changed after signing.", { signedId: "msg_1" }),
  refuse("another-timestamp", "An old event under the current time.", { signedTimestamp: String(time - 86_400) }),
  refuse("body-alone", "The signature must cover id and timestamp too.", over(plain)),
  refuse("without-id", "The signature must cover the id too.", over(`${time}.${plain}`)),
  refuse("without-timestamp", "The signature must cover the timestamp too.", over(`${id}.${plain}`)),
  refuse("other-separator", "The parts are separated by dots.", over(`${id}:${time}:${plain}`)),
  refuse("sha1", "The hash is SHA-256.", over(`${id}.${time}.${plain}`, "sha1")),
  refuse("sha512", "The hash is SHA-256.", over(`${id}.${time}.${plain}`, "sha512")),
];

const written: Vector[] = [
  refuse("empty-signature-of-v1", "A version without a signature.", { signature: () => "v1," }),
  refuse("version-alone", "A version without a signature.", { signature: () => "v1" }),
  refuse("beginning-of-signature", "Only the first characters of a valid signature.", {
    signature: (own) => own.slice(0, 13),
  }),
  refuse("end-of-signature-missing", "A valid signature without its last characters.", {
    signature: (own) => own.slice(0, -4),
  }),
  refuse("changed-character", "One character of the signature was changed.", {
    signature: (own) =>
      own.replace(/^(v1,.{10})(.)/, (_, start: string, one: string) => `${start}${one === "A" ? "B" : "A"}`),
  }),
  refuse("longer-signature", "More bytes than a signature has.", { signature: (own) => `${own.slice(0, -1)}AAAA=` }),
  refuse("lower-case-signature", "Base64 is case-sensitive.", { signature: (own) => own.toLowerCase() }),
  refuse("hexadecimal-signature", "Signatures are written in base64.", {
    signature: (own) => `v1,${Buffer.from(mac(own), "base64").toString("hex")}`,
  }),
  refuse("no-version", "A signature without its version.", { signature: mac }),
  refuse("version-0", "The version is not v1.", { signature: (own) => `v0,${mac(own)}` }),
  refuse("version-2", "The version is not v1.", { signature: (own) => `v2,${mac(own)}` }),
  refuse("version-1a", "The version v1a is for asymmetric keys.", { signature: (own) => `v1a,${mac(own)}` }),
  refuse("another-scheme", "The prefix of another scheme.", { signature: (own) => `sha256=${mac(own)}` }),
];

const timed: Vector[] = [
  refuse("too-old", "One second older than the tolerance allows.", { offset: -tolerance - 1 }),
  refuse("an-hour-old", "An event that was recorded and sent again.", { offset: -3600 }),
  refuse("from-1970", "The timestamp is zero.", { timestamp: "0" }),
  refuse("too-new", "One second further ahead than the tolerance allows.", { offset: tolerance + 1 }),
  refuse("an-hour-ahead", "An event that was signed for later.", { offset: 3600 }),
  refuse("milliseconds", "The timestamp is in seconds.", { timestamp: String(time * 1000) }),
  refuse("no-number", "The timestamp is not a number.", { timestamp: "yesterday" }),
  refuse("nan", "The timestamp is not a number.", { timestamp: "NaN" }),
];

const incomplete: Vector[] = ["webhook-id", "webhook-timestamp", "webhook-signature"].flatMap((name) => [
  refuse(`without-${name}`, `The header ${name} is missing.`, without(name)),
  refuse(`empty-${name}`, `The header ${name} is empty.`, withEmpty(name)),
]);

export const vectors: readonly Vector[] = [...genuine, ...lists, ...forged, ...written, ...timed, ...incomplete];

/** The content of webhooks.json. */
export const vectorsText = (): string =>
  `${JSON.stringify({ format: 1, toleranceSeconds: tolerance, vectors }, null, 2)}\n`;
