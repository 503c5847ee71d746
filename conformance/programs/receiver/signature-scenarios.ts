// Events that are forged, altered or stale, and genuine events with unusual signatures.
import { keyOf, macOf } from "../../model/webhooks.ts";
import { secondsIn, type Altered, type Change, type Genuine } from "./context.ts";
import { accepted, forEntries, refused, type Scenario, scenario } from "./scenario.ts";
import { describe } from "./send.ts";
import { bodyOf, type Event } from "./webhook.ts";

const minute = 60;
/**
 * The contract allows five minutes. The difference allows for the time in transit and for a clock that is some seconds
 * off.
 */
const tooFar = 5 * minute + 20;
const hour = 60 * minute;

/** Keys of attackers, and of receivers whose secret is not set. */
const foreignKeys: Record<string, Buffer> = {
  "another secret": Buffer.from("a key that the receiver does not have"),
  "an empty secret": Buffer.alloc(0),
  'the text "undefined"': Buffer.from("undefined"),
  'the text "null"': Buffer.from("null"),
};

const foreignMac = macOf(foreignKeys["another secret"]!, "msg_0", "0", Buffer.alloc(0));
const forged = `v1,${foreignMac}`;

const indented = (body: Buffer) => JSON.stringify(JSON.parse(body.toString()), null, 2);

/** Other texts of the same JSON value. */
const encodings: Record<string, (body: Buffer) => string> = {
  "indented JSON": indented,
  "JSON whose lines end in CR LF": (body) => indented(body).replaceAll("\n", "\r\n"),
  "JSON with a final newline": (body) => `${body.toString()}\n`,
  "JSON with fields in another order": (body) => {
    const { event, data } = JSON.parse(body.toString()) as Event;
    return JSON.stringify({ data, event });
  },
  "JSON with escaped letters": (body) => body.toString().replace('"event"', String.raw`"\u0065vent"`),
};

/** Bytes that a receiver may drop when it reads a body as text. */
const droppedBytes: Record<string, (body: Buffer) => Buffer> = {
  "text after a byte order mark": (body) => Buffer.concat([Buffer.from("\uFEFF"), body]),
  "text with a byte that is not UTF-8": (body) =>
    Buffer.concat([body.subarray(0, 10), Buffer.from([0xff]), body.subarray(10)]),
};

/** The service signs the event `offset` seconds from now. */
const signedAt =
  (offset: number): Change =>
  ({ sign }) =>
    sign({ timestamp: secondsIn(offset) });

/** Sends another body under the signature of the genuine body. */
const withBody =
  (change: (body: Buffer) => Buffer | string): Change =>
  ({ body }) => ({ body: change(body) });

const withSignature =
  (change: (signature: string) => string): Change =>
  ({ signature }) => ({ signature: change(signature) });

/** Changes one letter in the middle of a text. */
const altered = (text: string) => {
  const middle = text.length >> 1;
  return `${text.slice(0, middle)}${text[middle] === "A" ? "B" : "A"}${text.slice(middle + 1)}`;
};

/** Changes the byte of the MAC at an index, which is negative and counts from the end. */
const withByte = (signature: string, index: number) => {
  const mac = Buffer.from(signature.slice(3), "base64");
  mac.writeUInt8(mac.at(index)! ^ 1, mac.length + index);
  return `v1,${mac.toString("base64")}`;
};

/**
 * Invalid values of `webhook-signature`, made from a genuine value. The decoded bytes differ too, because a receiver
 * may decode a signature before it compares it.
 */
const broken: Record<string, (signature: string) => string> = {
  "its first ten characters": (signature) => signature.slice(0, 13),
  "all but its end": (signature) => signature.slice(0, -4),
  "one changed character": altered,
  "another end": (signature) => `${signature.slice(0, -8)}AAAAAAA=`,
  "another beginning": (signature) => `v1,AAAAAAAA${signature.slice(11)}`,
  "another first byte": (signature) => withByte(signature, -32),
  "another last byte": (signature) => withByte(signature, -1),
  "more bytes than it has": (signature) => `${signature.slice(0, -1)}AAAA=`,
  "lower case": (signature) => signature.toLowerCase(),
};

/** Makes an event whose status is changed from failed to success after it was signed. */
function withChangedStatus({ context }: Genuine) {
  const event = context.event("checkout.failed");
  const completed = event.event.replace(/[a-z]+$/, "completed");
  const data = { ...event.data, status: "success", changed: true };
  return { event, ...context.sign(event), body: bodyOf({ event: completed, data }) };
}

export const signatureScenarios: Scenario[] = [
  refused(
    "signature-required",
    "no-signature",
    "An event whose signature is missing, empty or a bare version",
    [undefined, "", "v1,", "v1", ",", "v1, v1,", "null", "undefined"].map((signature) => () => ({ signature })),
  ),
  ...forEntries(foreignKeys, (what, key, number) =>
    refused("forged-refused", `forged-${number}`, `An event signed with ${what}`, [
      ({ id, timestamp, body }) => ({ signature: `v1,${macOf(key, id, timestamp, body)}` }),
    ]),
  ),
  refused("forged-refused", "many-forged-signatures", "An event with a hundred signatures, none of which is valid", [
    () => ({ signature: Array.from({ length: 100 }, () => forged).join(" ") }),
  ]),
  refused("body-covered", "changed-body", "A genuine event whose body was changed, cut or extended", [
    withBody((body) => body.toString().replace('"amount":', '"amount":9')),
    withChangedStatus,
    withBody((body) => body.subarray(0, body.length - 20)),
    withBody((body) => `${body.subarray(0, -1).toString()},"test":true}`),
  ]),
  ...forEntries({ ...encodings, ...droppedBytes }, (what, encode, number) =>
    refused("bytes-covered", `re-encoded-${number}`, `A genuine event that was re-encoded on its way as ${what}`, [
      withBody(encode),
    ]),
  ),
  ...forEntries(encodings, (what, encode, number) =>
    accepted("bytes-covered", `encoding-${number}`, `A genuine event that the service encodes as ${what}`, [
      ({ sign, body }) => sign({ body: encode(body) }),
    ]),
  ),
  refused("id-covered", "other-id", "A genuine event under another id", [
    ({ context, event }) => {
      const { id } = context.event();
      return { id, event: { ...event, id } };
    },
  ]),
  refused("timestamp-covered", "other-timestamp", "A genuine event from yesterday under the current time", [
    (genuine) => ({ ...signedAt(-24 * hour)(genuine), timestamp: genuine.timestamp }),
  ]),
  refused("stale-refused", "stale", "Genuine events that were signed long ago", [
    ...[-tooFar, -hour, -24 * hour].map(signedAt),
    ({ sign }) => sign({ timestamp: "0" }),
  ]),
  refused("future-refused", "future", "Genuine events that were signed in the future", [
    ...[tooFar, 24 * hour].map(signedAt),
    // Milliseconds, which a receiver may take for seconds: a time in the far future.
    ({ sign }) => sign({ timestamp: String(Date.now()) }),
  ]),
  accepted(
    "skew-accepted",
    "skew",
    "Genuine events from a clock that is a minute off",
    [-minute, minute].map(signedAt),
  ),
  ...forEntries(broken, (what, change, number) =>
    refused("whole-signature", `part-of-signature-${number}`, `An event whose signature was changed: ${what}`, [
      withSignature(change),
    ]),
  ),
  refused(
    "version-checked",
    "other-versions",
    "A valid MAC under another version than v1",
    ["v0,", "v2,", "v1a,", "sha256=", ""].map((version) => withSignature((text) => text.replace("v1,", version))),
  ),
  accepted("any-signature", "several-signatures", "A genuine event with several signatures, one of which is valid", [
    withSignature((genuine) => `${forged} ${genuine}`),
    withSignature((genuine) => `${genuine} ${forged}`),
    withSignature((genuine) => `v1a,${foreignMac} v2,x ${genuine} ${forged}`),
    withSignature((genuine) => `${`${forged} `.repeat(5)}${genuine}`),
  ]),
  accepted(
    "rotation",
    "rotation",
    "Events signed with each of the receiver's two secrets alone",
    [0, 1].map(
      (index) =>
        ({ context, sign }) =>
          sign({ secret: context.settings.secrets[index] }),
    ),
  ),
  scenario("forgery-blocks-nothing", "forgery-first", "A forged event, then the genuine event", async (context) => {
    const event = context.event();
    await context.post(event, () => ({ signature: forged }));
    await context.accepts(event);
  }),
  scenario("never-gone", "gone", "Events that cannot be verified get no 410", async (context) => {
    for (const change of [(): Altered => ({ signature: forged }), signedAt(-hour)]) {
      const sent = await context.post(context.event(), change);
      context.judgeStatus(sent, sent.status !== 410, "another status than 410");
    }
  }),
  scenario("leaks-nothing", "leaks", "Forged events, whose responses are searched for secrets", async (context) => {
    for (const signature of [forged, "v1,", "x"]) {
      const hidden = [keyOf(context.settings.secrets[0]!)];
      const sent = await context.post(context.event(), (genuine) => {
        hidden.push(Buffer.from(genuine.signature.slice(3), "base64"));
        return { signature };
      });
      const response = `${JSON.stringify(sent.headers)} ${sent.body}`;
      const texts = hidden.flatMap((bytes) => [bytes.toString("base64"), bytes.toString("hex")]);
      const isSilent = !texts.some((text) => response.includes(text));
      const expected = "a response without the secret and the valid signature";
      const actual = isSilent ? describe(sent) : "it contains one of them";
      context.judge(isSilent, expected, actual, [sent]);
    }
  }),
];
