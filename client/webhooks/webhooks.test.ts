import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { rejectionOf } from "../testing/fakes.ts";
import { signWebhook, UsageError, verifyWebhook, WebhookError } from "./webhooks.ts";
import type { WebhookEvent } from "./webhooks.ts";

const now = Date.parse("2026-11-20T10:00:00.000Z");
const seconds = now / 1000;
const base64 = (length: number, seed: number) =>
  Buffer.from(Array.from({ length }, (_, i) => (i * 31 + seed * 57 + 11) % 256)).toString("base64");
const secret = `whsec_${base64(32, 1)}`;
const older = `whsec_${base64(32, 2)}`;
const spec = JSON.parse(readFileSync(new URL("../../generated/openapi.json", import.meta.url), "utf8"));
const examples = spec.components.examples as Record<string, { value: WebhookEvent }>;
const event = examples["DisbursementCompletedEvent"]!.value;
const text = JSON.stringify(event);

const sign = (body: string, of = secret, at = seconds, id = "msg_1") =>
  new Webhook(of).sign(id, new Date(at * 1000), body);
const headers = (changes: Record<string, string> = {}) => ({
  "webhook-id": "msg_1",
  "webhook-timestamp": `${seconds}`,
  "webhook-signature": sign(text),
  ...changes,
});
const at = (offset: number) =>
  headers({ "webhook-timestamp": `${seconds + offset}`, "webhook-signature": sign(text, secret, seconds + offset) });
const signatures = (value: string) => headers({ "webhook-signature": value });
/** A timestamp that is not in decimal digits, and signed as it is. */
const signedAt = (timestamp: string) => {
  const key = Buffer.from(secret.slice(6), "base64");
  const signature = createHmac("sha256", key).update(`msg_1.${timestamp}.${text}`).digest("base64");
  return headers({ "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` });
};

interface Received {
  body?: string | Buffer;
  headers?: Record<string, string>;
  secrets?: string;
}

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now }));
afterEach(() => void vi.useRealTimers());

describe("beside the test vectors of the conformance suite", () => {
  test.each([
    ["a secret without its prefix", secret.slice(6), headers()],
    ["spaces around the signature", secret, signatures(` ${sign(text)}  `)],
  ])("%s is trusted", async (_, secrets, sent) => {
    expect(await verifyWebhook(text, sent, secrets)).toMatchObject({ id: "msg_1", timestamp: new Date(now) });
  });

  const changed = text.replace("Ada", "A\uFFFDa");
  const forged: [string, Received][] = [
    ["a truncated secret", { secrets: secret.slice(0, -5) }],
    ...[`${seconds}.5`, `${seconds}e0`, `+${seconds}`, `0x${seconds.toString(16)}`].map(
      (timestamp): [string, Received] => [`a signed timestamp ${timestamp}`, { headers: signedAt(timestamp) }],
    ),
    // The npm package standardwebhooks accepts these: it signs the number that the header begins with.
    ...["abc", ".5", " ", "e1"].map((end): [string, Received] => [
      `a timestamp with ${JSON.stringify(end)} at its end`,
      { headers: headers({ "webhook-timestamp": `${seconds}${end}` }) },
    ]),
    ["a byte order mark", { body: `\uFEFF${text}` }],
    ["UTF-16", { body: Buffer.from(text, "utf16le") }],
    // The decoded text, in which all invalid bytes become the same character, has the signature.
    [
      "invalid UTF-8 bytes",
      { body: Buffer.from(changed.replace("\uFFFD", "\u00ff"), "latin1"), headers: signatures(sign(changed)) },
    ],
  ];
  test.each(forged)("%s is not trusted", async (_, { body = text, headers: sent = headers(), secrets = secret }) => {
    expect(await rejectionOf(verifyWebhook(body, sent, secrets))).toBeInstanceOf(WebhookError);
  });
});

/** A UsageError asks for a fix of the program, a WebhookError says that the webhook must not be trusted. */
const says = async (call: Promise<unknown>, kind: typeof WebhookError | typeof UsageError, message: RegExp) => {
  const error = (await rejectionOf(call)) as Error;
  expect(error).toBeInstanceOf(kind);
  expect(error.message).toMatch(message);
  expect(error.message).not.toContain("????");
};

describe("verifyWebhook", () => {
  test.each(["[]", "null", "7", '"x"', "{}", '{"event":1,"data":{}}', '{"event":"x"}', "not json", "\xff"])(
    "reports that the body %j is not an event",
    async (body) => {
      await says(verifyWebhook(body, signatures(sign(body)), secret), WebhookError, /not an event/);
    },
  );

  test.each([
    ["text", text],
    ["a Buffer", Buffer.from(text)],
    ["a Buffer inside a larger one", Buffer.from(`..${text}..`).subarray(2, -2)],
    ["a Uint8Array", new TextEncoder().encode(text)],
    ["an ArrayBuffer", new TextEncoder().encode(text).buffer],
  ])("accepts %s and returns id, time and event", async (_, given) => {
    expect(await verifyWebhook(given, headers(), secret)).toEqual({ id: "msg_1", timestamp: new Date(now), event });
  });

  test.each([
    ["of fetch", new Headers(headers())],
    [
      "of Node, including an array",
      { ...headers(), "webhook-signature": [sign(text, older), sign(text)], cookie: undefined },
    ],
  ])("accepts headers %s", async (_, given) => {
    expect((await verifyWebhook(text, given, secret)).event).toEqual(event);
  });

  test.each([{}, [], 7, null, undefined, { event: "x" }])(
    "rejects the parsed body %j and says how to get the raw one, unless the request is no webhook at all",
    async (given) => {
      await says(verifyWebhook(given as never, headers(), secret), UsageError, /express\.raw.*request\.text/);
      await says(verifyWebhook(given as never, {}, secret), WebhookError, /missing/);
    },
  );

  const malformed = [7, "whsec_????", "whsec_", `AAAAwhsec_${secret.slice(6)}`];
  test.each([undefined, null, "", [], [secret, ""], ...malformed])(
    "throws a UsageError for the secret %j without showing it, whatever is received",
    async (given) => {
      const message = malformed.includes(given as string) ? /secret must be whsec_/ : /secret is not set/;
      await says(verifyWebhook(text, headers(), given as never), UsageError, message);
      await says(verifyWebhook("", {}, given as never), UsageError, message);
      await expect(signWebhook(event, given as never)).rejects.toBeInstanceOf(UsageError);
    },
  );

  test("uses the given time and tolerance", async () => {
    const old = at(-3600);
    const verified = { id: "msg_1", timestamp: new Date(now - 3_600_000), event };
    expect(await verifyWebhook(text, old, secret, { tolerance: 3600 })).toEqual(verified);
    expect(await verifyWebhook(text, old, secret, { now: now - 3_600_000 })).toEqual(verified);
    expect(await verifyWebhook(text, old, secret, { now: new Date(now - 3_600_000), tolerance: 0 })).toEqual(verified);
    expect(await rejectionOf(verifyWebhook(text, old, secret, { tolerance: 3599 }))).toBeInstanceOf(WebhookError);
    expect(await rejectionOf(verifyWebhook(text, headers(), secret, { tolerance: NaN }))).toBeInstanceOf(WebhookError);
    expect(await rejectionOf(verifyWebhook(text, headers(), secret, { now: NaN }))).toBeInstanceOf(WebhookError);
  });
});

describe("signWebhook", () => {
  test("creates signatures that verifyWebhook and the reference library accept", async () => {
    const signed = await signWebhook(event, secret);
    expect((await verifyWebhook(signed.body, signed.headers, secret)).event).toEqual(event);
    expect(new Webhook(secret).verify(signed.body, signed.headers)).toEqual(event);
    expect(signed.headers["webhook-id"]).toMatch(/^msg_[0-9a-f-]{36}$/);
  });

  test("uses the given id and time", async () => {
    const signed = await signWebhook(text, secret, { id: "msg_1", now: new Date(now) });
    expect(signed).toEqual({ body: text, headers: { "content-type": "application/json", ...headers() } });
  });
});

describe("test vectors of the conformance suite", () => {
  type Vector = Record<"id" | "body" | "verdict", string> & {
    secrets: string[];
    headers: Record<string, string>;
    time: number;
  };
  const file = new URL("../../conformance/vectors/webhooks.json", import.meta.url);
  const { vectors } = JSON.parse(readFileSync(file, "utf8")) as { vectors: Vector[] };

  test.each(vectors.map((vector) => [vector.id, vector] as const))("%s", async (_, vector) => {
    const verified = verifyWebhook(Buffer.from(vector.body, "base64"), vector.headers, vector.secrets, {
      now: vector.time * 1000,
    });
    const verdict = await verified.then(
      () => "accept",
      (error: unknown) => (error instanceof WebhookError ? "refuse" : error),
    );
    expect(verdict).toBe(vector.verdict);
  });
});
