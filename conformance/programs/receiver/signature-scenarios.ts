// Events that are forged, altered or stale, and genuine events with unusual signatures.
import { bodyOf, type Event } from "./events.ts";
import { accepts, judgeAccepted, judgeRefused, post, postStamped, refuses } from "./judgements.ts";
import { describe, headersOf, type Context, type Scenario, type Stamp } from "./scenario.ts";
import { keyOf, macOf, signatureOf } from "./signature.ts";

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

/** Changes one letter in the middle of a text. */
const altered = (text: string) => {
  const middle = text.length >> 1;
  return `${text.slice(0, middle)}${text[middle] === "A" ? "B" : "A"}${text.slice(middle + 1)}`;
};

/** Sends a body under the signature of another body of the same event, and judges that it was refused. */
async function refusesBody(context: Context, id: string, event: Event, change: (body: Buffer) => Buffer | string) {
  const genuine = bodyOf(event);
  const stamp = context.stamp(event, genuine);
  await judgeRefused(context, id, event, await postStamped(context, stamp, Buffer.from(change(genuine))));
}

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
  "a byte order mark": (body) => Buffer.concat([Buffer.from("\uFEFF"), body]),
  "a byte that is not UTF-8": (body) => Buffer.concat([body.subarray(0, 10), Buffer.from([0xff]), body.subarray(10)]),
};

/** Sends an event signed at another time, and judges that it was refused. */
const refusesAge = (context: Context, id: string, timestamp: string) =>
  refuses(context, id, ({ id: eventId }, body) => ({
    timestamp,
    signature: signatureOf(context.secret, eventId, timestamp, body),
  }));

const secondsOf = ({ now }: Context) => Math.floor(now().getTime() / 1000);

/** Changes a byte of the MAC. */
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

const otherVersions = ["v0,", "v2,", "v1a,", "sha256=", ""];

export const signatureScenarios: Scenario[] = [
  {
    id: "no-signature",
    name: "An event without a signature",
    ids: ["receiver.signature-required"],
    async run(context) {
      const event = context.event();
      const headers = headersOf(context.stamp(event, bodyOf(event))).filter(([name]) => name !== "webhook-signature");
      await judgeRefused(context, "receiver.signature-required", event, await post(context, event, { headers }));
    },
  },
  {
    id: "empty-signature",
    name: "An event whose signature is empty or a bare version",
    ids: ["receiver.signature-required"],
    async run(context) {
      for (const signature of ["", "v1,", "v1", ",", "v1, v1,", "null", "undefined"]) {
        await refuses(context, "receiver.signature-required", () => ({ signature }));
      }
    },
  },
  ...Object.entries(foreignKeys).map(([what, key], index): Scenario => ({
    id: `forged-${index + 1}`,
    name: `An event signed with ${what}`,
    ids: ["receiver.forged-refused"],
    run: (context) =>
      refuses(context, "receiver.forged-refused", ({ id, timestamp }, body) => ({
        signature: `v1,${macOf(key, id, timestamp, body)}`,
      })),
  })),
  {
    id: "many-forged-signatures",
    name: "An event with a hundred signatures, none of which is valid",
    ids: ["receiver.forged-refused"],
    run: (context) =>
      refuses(context, "receiver.forged-refused", () => ({
        signature: Array.from({ length: 100 }, () => `v1,${foreignMac}`).join(" "),
      })),
  },
  {
    id: "changed-body",
    name: "A genuine event whose amount or status was changed",
    ids: ["receiver.body-covered"],
    async run(context) {
      const id = "receiver.body-covered";
      await refusesBody(context, id, context.event("checkout.completed", { amount: 100 }), (body) =>
        body.toString().replace('"amount":100,', '"amount":900,'),
      );
      const event = context.event("checkout.failed");
      const completed = event.event.replace(/[a-z]+$/, "completed");
      const changes = { status: "success", changed: true };
      await refusesBody(context, id, event, () => bodyOf({ event: completed, data: { ...event.data, ...changes } }));
    },
  },
  {
    id: "cut-body",
    name: "A genuine event without the end of its body",
    ids: ["receiver.body-covered"],
    run: (context) =>
      refusesBody(context, "receiver.body-covered", context.event(), (body) => body.subarray(0, body.length - 20)),
  },
  {
    id: "extended-body",
    name: "A genuine event with a field added at its end",
    ids: ["receiver.body-covered"],
    run: (context) =>
      refusesBody(
        context,
        "receiver.body-covered",
        context.event(),
        (body) => `${body.subarray(0, -1).toString()},"test":true}`,
      ),
  },
  ...Object.entries(encodings).map(([what, encode], index): Scenario => ({
    id: `re-encoded-${index + 1}`,
    name: `A genuine event that was re-encoded on its way as ${what}`,
    ids: ["receiver.bytes-covered"],
    run: (context) => refusesBody(context, "receiver.bytes-covered", context.event(), encode),
  })),
  ...Object.entries(droppedBytes).map(([what, add], index): Scenario => ({
    id: `added-byte-${index + 1}`,
    name: `A genuine event to which was added ${what}`,
    ids: ["receiver.bytes-covered"],
    run: (context) => refusesBody(context, "receiver.bytes-covered", context.event(), add),
  })),
  ...Object.entries(encodings).map(([what, encode], index): Scenario => ({
    id: `encoding-${index + 1}`,
    name: `A genuine event that the service encodes as ${what}`,
    ids: ["receiver.bytes-covered"],
    async run(context) {
      const event = context.event();
      await accepts(context, "receiver.bytes-covered", event, { body: Buffer.from(encode(bodyOf(event))) });
    },
  })),
  {
    id: "other-id",
    name: "A genuine event under another id",
    ids: ["receiver.id-covered"],
    async run(context) {
      const event = context.event();
      const body = bodyOf(event);
      const { id } = context.event();
      const sent = await postStamped(context, { ...context.stamp(event, body), id }, body);
      await judgeRefused(context, "receiver.id-covered", { ...event, id }, sent);
      await context.judgeEffects("receiver.id-covered", event, 0, [sent]);
    },
  },
  {
    id: "other-timestamp",
    name: "A genuine event from yesterday under the current time",
    ids: ["receiver.timestamp-covered"],
    async run(context) {
      const event = context.event();
      const body = bodyOf(event);
      const { timestamp } = context.stamp(event, body);
      const stamp = { ...context.stamp(event, body, -24 * hour), timestamp };
      const sent = await postStamped(context, stamp, body);
      await judgeRefused(context, "receiver.timestamp-covered", event, sent);
    },
  },
  {
    id: "stale",
    name: "Genuine events that were signed long ago",
    ids: ["receiver.stale-refused"],
    async run(context) {
      for (const age of [tooFar, hour, 24 * hour]) {
        await refusesAge(context, "receiver.stale-refused", String(secondsOf(context) - age));
      }
      await refusesAge(context, "receiver.stale-refused", "0");
    },
  },
  {
    id: "future",
    name: "Genuine events that were signed in the future",
    ids: ["receiver.future-refused"],
    async run(context) {
      for (const ahead of [tooFar, 24 * hour]) {
        await refusesAge(context, "receiver.future-refused", String(secondsOf(context) + ahead));
      }
      // Milliseconds, which a receiver may take for seconds: a time in the far future.
      await refusesAge(context, "receiver.future-refused", String(context.now().getTime()));
    },
  },
  {
    id: "skew",
    name: "Genuine events from a clock that is a minute off",
    ids: ["receiver.skew-accepted"],
    async run(context) {
      for (const offset of [-minute, minute]) {
        const event = context.event();
        const body = bodyOf(event);
        const sent = await postStamped(context, context.stamp(event, body, offset), body);
        await judgeAccepted(context, "receiver.skew-accepted", event, sent);
      }
    },
  },
  ...Object.entries(broken).map(([what, change], index): Scenario => ({
    id: `part-of-signature-${index + 1}`,
    name: `An event whose signature was changed: ${what}`,
    ids: ["receiver.whole-signature"],
    run: (context) =>
      refuses(context, "receiver.whole-signature", ({ signature }) => ({ signature: change(signature) })),
  })),
  {
    id: "other-versions",
    name: "A valid MAC under another version than v1",
    ids: ["receiver.version-checked"],
    async run(context) {
      for (const version of otherVersions) {
        await refuses(context, "receiver.version-checked", ({ signature }) => ({
          signature: signature.replace("v1,", version),
        }));
      }
    },
  },
  {
    id: "several-signatures",
    name: "A genuine event with several signatures, one of which is valid",
    ids: ["receiver.any-signature"],
    async run(context) {
      const lists: ((genuine: string) => string[])[] = [
        (genuine) => [`v1,${foreignMac}`, genuine],
        (genuine) => [genuine, `v1,${foreignMac}`],
        (genuine) => [`v1a,${foreignMac}`, "v2,x", genuine, `v1,${foreignMac}`],
        (genuine) => [...Array.from({ length: 5 }, () => `v1,${foreignMac}`), genuine],
      ];
      for (const list of lists) {
        const event = context.event();
        const body = bodyOf(event);
        const stamp: Stamp = context.stamp(event, body);
        const sent = await postStamped(context, { ...stamp, signature: list(stamp.signature).join(" ") }, body);
        await judgeAccepted(context, "receiver.any-signature", event, sent);
      }
    },
  },
  {
    id: "rotation",
    name: "Events signed with each of the receiver's two secrets alone",
    ids: ["receiver.rotation"],
    needs: ["old-secret"],
    async run(context) {
      for (const secret of [context.secret, context.oldSecret]) {
        const event = context.event();
        const body = bodyOf(event);
        const sent = await postStamped(context, context.stamp(event, body, 0, secret), body);
        await judgeAccepted(context, "receiver.rotation", event, sent);
      }
    },
  },
  {
    id: "forgery-first",
    name: "A forged event, then the genuine event with the same id",
    ids: ["receiver.forgery-blocks-nothing"],
    async run(context) {
      const event = context.event();
      const body = bodyOf(event);
      await postStamped(context, { ...context.stamp(event, body), signature: `v1,${foreignMac}` }, body);
      await accepts(context, "receiver.forgery-blocks-nothing", event);
    },
  },
  {
    id: "gone",
    name: "Events that cannot be verified, searched for a response with 410",
    ids: ["receiver.never-gone"],
    async run(context) {
      const foreign = `whsec_${foreignKeys["another secret"]!.toString("base64")}`;
      for (const [offset, secret] of [
        [0, foreign],
        [-hour, context.secret],
      ] as const) {
        const event = context.event();
        const body = bodyOf(event);
        const sent = await postStamped(context, context.stamp(event, body, offset, secret), body);
        context.judge("receiver.never-gone", sent.status !== 410, "another status than 410", describe(sent), [sent]);
      }
    },
  },
  {
    id: "leaks",
    name: "Responses to forged events, searched for the secret and the valid signature",
    ids: ["receiver.leaks-nothing"],
    async run(context) {
      const key = keyOf(context.secret);
      for (const signature of [`v1,${foreignMac}`, "v1,", "x"]) {
        const event = context.event();
        const body = bodyOf(event);
        const stamp = context.stamp(event, body);
        const sent = await postStamped(context, { ...stamp, signature }, body);
        const mac = Buffer.from(stamp.signature.slice(3), "base64");
        const hidden = [key, mac].flatMap((bytes) => [bytes.toString("base64"), bytes.toString("hex")]);
        const response = `${JSON.stringify(sent.headers)} ${sent.body}`;
        const leaks = hidden.some((text) => response.includes(text));
        const actual = leaks ? "it contains one of them" : "as expected";
        const expected = "a response without the secret and the valid signature";
        context.judge("receiver.leaks-nothing", !leaks, expected, actual, [sent]);
      }
    },
  },
];
