// Headers and requests that are unusual, incomplete or hostile.
import { bodyOf, type Event } from "./events.ts";
import { accepts, judgeRefused, post } from "./judgements.ts";
import {
  describe,
  headersOf,
  isRefusal,
  isSuccess,
  type Context,
  type Scenario,
  type Sent,
  type Stamp,
} from "./scenario.ts";
import type { Header } from "./send.ts";
import { signatureOf } from "./signature.ts";

const stampNames = ["webhook-id", "webhook-timestamp", "webhook-signature"];

const genuine = (context: Context, event: Event): Header[] => headersOf(context.stamp(event, bodyOf(event)));

const fieldOf = (name: string) => name.replace("webhook-", "") as keyof Stamp;

/** The headers of an event with another id or timestamp, signed with the genuine secret; or with another signature. */
function signedWith(context: Context, event: Event, changes: Partial<Stamp>): Header[] {
  const body = bodyOf(event);
  const { id, timestamp } = { ...context.stamp(event, body), ...changes };
  const signature = signatureOf(context.secret, id, timestamp, body);
  return headersOf({ id, timestamp, signature, ...changes });
}

/** Returns headers with the value of one replaced, or without it. */
const replaced = (headers: readonly Header[], name: string, value?: string): Header[] =>
  headers.flatMap((header): Header[] => {
    if (header[0] !== name) return [header];
    return value === undefined ? [] : [[name, value]];
  });

/** Judges that a response says what happened: 2xx if the event took effect, any other status if it did not. */
async function judgeHonest(context: Context, event: Event, headers: Header[]) {
  const sent = await post(context, event, { headers });
  const isFault = sent.status === undefined || sent.status >= 500;
  const id = "receiver.honest-status";
  context.judge(id, !isFault, "a 2xx or a 4xx response", describe(sent), [sent]);
  await context.judgeEffects(id, event, isSuccess(sent) ? 1 : 0, [sent]);
}

const otherTypes: Record<string, (headers: Header[]) => Header[]> = {
  "the content type text/plain": (headers) => replaced(headers, "content-type", "text/plain"),
  "the content type of a form": (headers) => replaced(headers, "content-type", "application/x-www-form-urlencoded"),
  "no content type": (headers) => replaced(headers, "content-type"),
};

const capital = (name: string) => name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());

/** Texts that are not events, to be signed correctly. */
const noEvents: readonly (string | Buffer)[] = [
  "",
  "{",
  "null",
  "[]",
  '"event"',
  "{}",
  '{"event":"disbursement.completed"}',
  Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
];

/** Requests of a stranger, which must not stop the receiver or cause a 5xx. */
const hostile: Record<string, () => Buffer> = {
  "a forged body of 3 MiB": () => Buffer.alloc(3 * 1024 * 1024, "a"),
  "a body that is not JSON": () => Buffer.from("<event>paid</event>"),
  "deeply nested JSON": () => Buffer.from(`${"[".repeat(50_000)}${"]".repeat(50_000)}`),
  "keys that change objects": () => Buffer.from('{"__proto__":{"event":"x"},"constructor":{"prototype":{"data":1}}}'),
};

/** Starts requests that stay unfinished until the returned function is called. */
function stall(context: Context, count: number): () => void {
  const ending = new AbortController();
  for (let index = 0; index < count; index += 1) {
    const event = context.event();
    const body = bodyOf(event);
    void context.send({ headers: headersOf(context.stamp(event, body)), body, stallAt: 10, signal: ending.signal });
  }
  return () => ending.abort();
}

/** Judges that an event was accepted although other requests did not end. */
async function judgeNotHeldUp(context: Context, event: Event, sent: Sent) {
  const id = "receiver.not-held-up";
  const expected = "a 2xx response; give --serial if a proxy reads requests for the receiver in production";
  context.judge(id, isSuccess(sent), expected, describe(sent), [sent]);
  await context.judgeEffects(id, event, 1, [sent]);
}

export const requestScenarios: Scenario[] = [
  ...stampNames.map((name): Scenario => ({
    id: `without-${name}`,
    name: `An event without ${name}, and with an empty one`,
    ids: ["receiver.headers-required"],
    async run(context) {
      for (const value of [undefined, ""]) {
        const event = context.event();
        const headers = replaced(signedWith(context, event, { [fieldOf(name)]: "" }), name, value);
        await judgeRefused(context, "receiver.headers-required", event, await post(context, event, { headers }));
      }
    },
  })),
  {
    id: "odd-timestamps",
    name: "Signed events whose timestamp is not in decimal digits",
    ids: ["receiver.headers-required"],
    async run(context) {
      const seconds = Math.floor(context.now().getTime() / 1000);
      const oddForms = [`${seconds}.5`, `${seconds}e0`, `+${seconds}`, `0x${seconds.toString(16)}`];
      for (const timestamp of ["yesterday", "NaN", "1e400", "2026-11-22T09:00:00Z", "-1", ...oddForms]) {
        const event = context.event();
        const headers = signedWith(context, event, { timestamp });
        await judgeRefused(context, "receiver.headers-required", event, await post(context, event, { headers }));
      }
    },
  },
  {
    id: "header-case",
    name: "Headers in upper and mixed case",
    ids: ["receiver.header-case"],
    async run(context) {
      for (const change of [capital, (name: string) => name.toUpperCase()]) {
        const event = context.event();
        const headers = genuine(context, event).map(([name, value]): Header => [change(name), value]);
        await accepts(context, "receiver.header-case", event, { headers });
      }
    },
  },
  {
    id: "more-headers",
    name: "Headers of tracing tools and proxies",
    ids: ["receiver.more-headers"],
    async run(context) {
      const event = context.event();
      const more: Header[] = [
        ["traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
        ["accept-encoding", "identity"],
        ["x-forwarded-for", "192.0.2.1, 198.51.100.2"],
        ["forwarded", "for=192.0.2.1;proto=https"],
        ["user-agent", "disbursement-checkout-webhooks"],
      ];
      await accepts(context, "receiver.more-headers", event, { headers: [...more, ...genuine(context, event)] });
    },
  },
  ...stampNames.map((name): Scenario => ({
    id: `doubled-${name}`,
    name: `A handled event again, with a second ${name}`,
    ids: ["receiver.doubled-headers"],
    async run(context) {
      const id = "receiver.doubled-headers";
      const event = context.event();
      await accepts(context, id, event);
      const other = context.event();
      const values: Record<string, string> = {
        "webhook-id": other.id,
        "webhook-timestamp": String(Math.floor(context.now().getTime() / 1000) + 1),
        "webhook-signature": context.stamp(other, bodyOf(other)).signature,
      };
      const second: Header = [name, values[name] ?? ""];
      for (const place of ["first", "last"]) {
        const headers = genuine(context, event);
        const sent = await post(context, event, {
          headers: place === "first" ? [second, ...headers] : [...headers, second],
        });
        const isFault = sent.status === undefined || sent.status >= 500;
        context.judge(id, !isFault, "a 2xx or a 4xx response", describe(sent), [sent]);
        await context.judgeEffects(id, event, 1, [sent]);
        await context.judgeEffects(id, other, 0, [sent]);
      }
    },
  })),
  {
    id: "charset",
    name: "The content type with a charset",
    ids: ["receiver.charset-accepted"],
    async run(context) {
      const event = context.event();
      const headers = replaced(genuine(context, event), "content-type", "application/json; charset=utf-8");
      await accepts(context, "receiver.charset-accepted", event, { headers });
    },
  },
  ...Object.entries(otherTypes).map(([what, change], index): Scenario => ({
    id: `other-type-${index + 1}`,
    name: `A genuine event with ${what}`,
    ids: ["receiver.honest-status"],
    async run(context) {
      const event = context.event();
      await judgeHonest(context, event, change(genuine(context, event)));
    },
  })),
  {
    id: "other-methods",
    name: "Genuine events with other methods than POST",
    ids: ["receiver.post-only"],
    async run(context) {
      for (const method of ["GET", "PUT", "DELETE"]) {
        const event = context.event();
        await judgeRefused(context, "receiver.post-only", event, await post(context, event, { method }));
      }
    },
  },
  {
    id: "broken-off",
    name: "A genuine event whose connection breaks off, then the whole event",
    ids: ["receiver.whole-body"],
    async run(context) {
      for (const share of [0.5, 0.99]) {
        const event = context.event();
        const cut = { at: Math.floor(bodyOf(event).length * share), afterMs: context.limits.pieceMs };
        const sent = await post(context, event, { cut });
        await context.judgeEffects("receiver.whole-body", event, 0, [sent]);
        await accepts(context, "receiver.whole-body", event);
      }
    },
  },
  {
    id: "no-events",
    name: "Signed bodies that are not events",
    ids: ["receiver.no-event-ignored"],
    async run(context) {
      for (const text of noEvents) {
        const event = context.event();
        const body = Buffer.from(text);
        const sent = await context.send({ headers: headersOf(context.stamp(event, body)), body });
        const isFine = (isSuccess(sent) || isRefusal(sent)) && sent.status !== 410;
        context.judge("receiver.no-event-ignored", isFine, "a 2xx or 4xx response, not 410", describe(sent), [sent]);
        await context.judgeEffects("receiver.no-event-ignored", event, 0, [sent]);
      }
    },
  },
  ...Object.entries(hostile).map(([what, make], index): Scenario => ({
    id: `hostile-${index + 1}`,
    name: `A stranger sends ${what}, then a genuine event arrives`,
    ids: ["receiver.survives-strangers"],
    async run(context) {
      const id = "receiver.survives-strangers";
      const stranger = context.event();
      const stamp = context.stamp(stranger, Buffer.from("another body"));
      const sent = await context.send({ headers: headersOf(stamp), body: make() });
      // A receiver may close the connection instead of reading a body that is too large.
      const isTimeout = sent.failure?.startsWith("no response") ?? false;
      const isFine = sent.status === undefined ? !isTimeout : isRefusal(sent);
      context.judge(id, isFine, "a 4xx response or a closed connection", describe(sent), [sent]);
      await context.judgeEffects(id, stranger, 0, [sent]);
      await accepts(context, id, context.event());
    },
  })),
  {
    id: "stalled-senders",
    name: "A genuine event while five other requests do not end",
    ids: ["receiver.not-held-up"],
    needs: ["parallel"],
    async run(context) {
      const event = context.event();
      const end = stall(context, 5);
      // Unfinished requests may also keep a receiver from reporting its effects.
      const sent = await post(context, event).finally(end);
      await judgeNotHeldUp(context, event, sent);
    },
  },
  {
    id: "flood",
    name: "A genuine event among fifty forged ones at once",
    ids: ["receiver.not-held-up"],
    needs: ["parallel"],
    async run(context) {
      const forged = Array.from({ length: 50 }, () => {
        const event = context.event();
        return post(context, event, { headers: replaced(genuine(context, event), "webhook-signature", "v1,AAAA") });
      });
      const event = context.event();
      const sent = await post(context, event);
      await Promise.allSettled(forged);
      await judgeNotHeldUp(context, event, sent);
    },
  },
];
