// Headers and requests that are unusual, incomplete or hostile.
import { secondsIn, type Altered, type Change } from "./context.ts";
import { accepted, forEntries, refused, type Scenario, scenario } from "./scenario.ts";
import { isSuccess, type Header } from "./send.ts";
import type { Stamp } from "./webhook.ts";

const stampNames = { id: "webhook-id", timestamp: "webhook-timestamp", signature: "webhook-signature" };
const stampFields = Object.keys(stampNames) as (keyof Stamp)[];

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
const hostile: Record<string, string> = {
  "a forged body of 3 MiB": "a".repeat(3 * 1024 * 1024),
  "a body that is not JSON": "<event>paid</event>",
  "deeply nested JSON": `${"[".repeat(50_000)}${"]".repeat(50_000)}`,
  "keys that change objects": '{"__proto__":{"event":"x"},"constructor":{"prototype":{"data":1}}}',
};

/**
 * Sends a genuine event while other requests keep the receiver busy, and judges that it was accepted.
 * @param at how many bytes of the body of each other request arrive; undefined for all
 */
const notHeldUp = (id: string, name: string, count: number, at: number | undefined, change: Altered) =>
  scenario("not-held-up", id, name, async (context) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const hold = { at, until: () => promise, closes: true } as const;
    const others = context.events(count).map((other) => context.post(other, () => ({ ...change, hold })));
    const event = context.event();
    // Unfinished requests may also keep a receiver from reporting its effects.
    const sent = await context.post(event).finally(resolve);
    await Promise.allSettled(others);
    const expected = "a 2xx response; give --serial if a proxy reads requests for the receiver in production";
    await context.judgeOutcome(event, sent, "accepted", expected);
  });

export const requestScenarios: Scenario[] = [
  refused(
    "headers-required",
    "without-a-header",
    "Events without one of the three headers, or with an empty one",
    stampFields.flatMap((field) =>
      [undefined, ""].map((value): Change => ({ sign }) => ({ ...sign({ [field]: "" }), [field]: value })),
    ),
  ),
  refused(
    "headers-required",
    "odd-timestamps",
    "Signed events whose timestamp is not in decimal digits",
    [
      ...["yesterday", "NaN", "1e400", "2026-11-22T09:00:00Z", "-1"].map((text) => () => text),
      (now: string) => `${now}.5`,
      (now: string) => `${now}e0`,
      (now: string) => `+${now}`,
      (now: string) => `0x${Number(now).toString(16)}`,
    ].map(
      (write) =>
        ({ sign, timestamp }) =>
          sign({ timestamp: write(timestamp) }),
    ),
  ),
  accepted(
    "header-case",
    "header-case",
    "Headers in upper and mixed case",
    [capital, (name: string) => name.toUpperCase()].map((change) => () => ({
      headers: (headers) => headers.map(([name, value]) => [change(name), value] as const),
    })),
  ),
  accepted("more-headers", "more-headers", "Headers of tracing tools and proxies", [
    () => ({
      headers: (headers) => [
        ["traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
        ["accept-encoding", "identity"],
        ["x-forwarded-for", "192.0.2.1, 198.51.100.2"],
        ["forwarded", "for=192.0.2.1;proto=https"],
        ["user-agent", "disbursement-checkout-webhooks"],
        ...headers,
      ],
    }),
  ]),
  scenario("doubled-headers", "doubled-headers", "Handled events again, with a header twice", async (context) => {
    for (const field of stampFields) {
      const event = context.event();
      await context.accepts(event);
      const other = context.event();
      const second = context.sign(other, { timestamp: secondsIn(1) });
      const header: Header = [stampNames[field], second[field]];
      for (const isFirst of [true, false]) {
        const sent = await context.post(event, () => ({
          headers: (headers) => (isFirst ? [header, ...headers] : [...headers, header]),
        }));
        context.judgeNoFault(sent);
        await context.judgeEffects(event, 1, [sent]);
        await context.judgeEffects(other, 0, [sent]);
      }
    }
  }),
  accepted("charset-accepted", "charset", "The content type with a charset", [
    () => ({ type: "application/json; charset=utf-8" }),
  ]),
  scenario("honest-status", "other-types", "Genuine events with other content types, or none", async (context) => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", undefined]) {
      const event = context.event();
      const sent = await context.post(event, () => ({ type }));
      context.judgeNoFault(sent);
      // A response says what happened: 2xx if the event took effect, any other status if it did not.
      await context.judgeEffects(event, isSuccess(sent) ? 1 : 0, [sent]);
    }
  }),
  refused(
    "post-only",
    "other-methods",
    "Genuine events with other methods than POST",
    ["GET", "PUT", "DELETE"].map((method) => () => ({ method })),
  ),
  scenario("whole-body", "broken-off", "A genuine event that breaks off, then the whole event", async (context) => {
    for (const share of [0.5, 0.99]) {
      const event = context.event();
      const sent = await context.post(event, ({ body }) => ({
        hold: {
          at: Math.floor(body.length * share),
          until: () => context.sleep(context.settings.limits.pieceMs),
          closes: true,
        },
      }));
      await context.judgeEffects(event, 0, [sent]);
      await context.accepts(event);
    }
  }),
  scenario("no-event-ignored", "no-events", "Signed bodies that are not events", async (context) => {
    for (const text of noEvents) {
      const event = context.event();
      const sent = await context.post(event, ({ sign }) => sign({ body: text }));
      context.judgeNoFault(sent);
      context.judgeStatus(sent, sent.status !== 410, "another status than 410");
      await context.judgeEffects(event, 0, [sent]);
    }
  }),
  ...forEntries(hostile, (what, body, number) =>
    scenario(
      "survives-strangers",
      `hostile-${number}`,
      `A stranger sends ${what}, then a genuine event arrives`,
      async (context) => {
        const stranger = context.event();
        const sent = await context.post(stranger, () => ({ body }));
        // A receiver may close the connection instead of reading a body that is too large.
        const isTimeout = sent.failure?.startsWith("no response") ?? false;
        const isFine = sent.status === undefined ? !isTimeout : sent.status >= 400 && sent.status <= 499;
        context.judgeStatus(sent, isFine, "a 4xx response or a closed connection");
        await context.judgeEffects(stranger, 0, [sent]);
        await context.accepts(context.event());
      },
    ),
  ),
  notHeldUp("stalled-senders", "A genuine event while five other requests do not end", 5, 10, {}),
  notHeldUp("flood", "A genuine event among fifty forged ones at once", 50, undefined, { signature: "v1,AAAA" }),
];
