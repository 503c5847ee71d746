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
const events = Object.entries(examples)
  .filter(([name]) => name.endsWith("Event"))
  .map(([name, { value }]) => [name, value] as const);
const event = examples["DisbursementCompletedEvent"]!.value;
const text = JSON.stringify(event);

interface Case {
  name: string;
  body?: string | Buffer;
  headers?: Record<string, string>;
  secrets?: string | string[];
  trusted: boolean;
  /** True if the mistake is the caller's, not the sender's: a UsageError. */
  misuse?: boolean;
  /** Why the reference library's verdict is wrong, if it is the opposite of ours. */
  referenceIsWrong?: string;
}

const sign = (body: string, of = secret, at = seconds, id = "msg_1") =>
  new Webhook(of).sign(id, new Date(at * 1000), body);
/** A signature over a timestamp that is not in decimal digits. */
const signAt = (timestamp: string) =>
  `v1,${createHmac("sha256", Buffer.from(secret.slice(6), "base64"))
    .update(`msg_1.${timestamp}.${text}`)
    .digest("base64")}`;
const headers = (changes: Record<string, string> = {}) => ({
  "webhook-id": "msg_1",
  "webhook-timestamp": `${seconds}`,
  "webhook-signature": sign(text),
  ...changes,
});
const signature = sign(text).slice(3);
const at = (offset: number) =>
  headers({ "webhook-timestamp": `${seconds + offset}`, "webhook-signature": sign(text, secret, seconds + offset) });
const signatures = (value: string) => headers({ "webhook-signature": value });
const without = (name: string) => Object.fromEntries(Object.entries(headers()).filter(([key]) => key !== name));
const as = (change: (name: string) => string) =>
  Object.fromEntries(Object.entries(headers()).map(([name, value]) => [change(name), value]));
const body = (changed: string | Buffer) => ({ body: changed, headers: signatures(sign(changed.toString())) });
const pretty = JSON.stringify(event, null, 2);
const unicode = JSON.stringify({ ...event, note: "Éléonore 🌍 ​" });

const cases: Case[] = [
  ...events.map(([name, value]) => ({ name, ...body(JSON.stringify(value)), trusted: true })),
  ...events.map(([name, value]) => ({
    name: `${name} as bytes`,
    ...body(Buffer.from(JSON.stringify(value))),
    trusted: true,
  })),
  { name: "whitespace between JSON tokens", ...body(pretty), trusted: true },
  { name: "non-ASCII text", ...body(unicode), trusted: true },
  { name: "non-ASCII bytes", ...body(Buffer.from(unicode)), trusted: true },
  { name: "a newline at the end", ...body(`${text}\n`), trusted: true },
  { name: "a large body", ...body(JSON.stringify({ ...event, note: "x".repeat(200_000) })), trusted: true },
  { name: "header names in upper case", headers: as((name) => name.toUpperCase()), trusted: true },
  {
    name: "header names in title case",
    headers: as((name) => name.replace(/\b./g, (c) => c.toUpperCase())),
    trusted: true,
  },
  { name: "additional headers", headers: headers({ "content-type": "application/json", host: "x" }), trusted: true },
  ...[24, 32, 48, 63, 64].map((length) => {
    const one = `whsec_${base64(length, 3)}`;
    return { name: `a secret of ${length} bytes`, secrets: one, headers: signatures(sign(text, one)), trusted: true };
  }),
  { name: "a secret without its prefix", secrets: secret.slice(6), trusted: true },
  { name: "old and new secret, signed with the new", secrets: [older, secret], trusted: true },
  {
    name: "old and new secret, signed with the old",
    secrets: [secret, older],
    headers: signatures(sign(text, older)),
    trusted: true,
  },
  {
    name: "old and new secret, signed with both",
    secrets: [secret, older],
    headers: signatures(`${sign(text)} ${sign(text, older)}`),
    trusted: true,
  },
  { name: "new secret, signed with both", headers: signatures(`${sign(text, older)} ${sign(text)}`), trusted: true },
  {
    name: "old secret, signed with both",
    secrets: older,
    headers: signatures(`${sign(text, older)} ${sign(text)}`),
    trusted: true,
  },
  { name: "signed with another secret", secrets: older, trusted: false },
  { name: "signed with none of the secrets", secrets: [older, `whsec_${base64(24, 5)}`], trusted: false },
  { name: "a secret in the wrong case", secrets: `whsec_${base64(32, 1).toLowerCase()}`, trusted: false },
  { name: "a truncated secret", secrets: secret.slice(0, -5), trusted: false },
  { name: "an empty secret", secrets: "", trusted: false, misuse: true },
  { name: "a secret that is only the prefix", secrets: "whsec_", trusted: false, misuse: true },
  { name: "a secret that is not base64", secrets: "whsec_!!!!", trusted: false, misuse: true },
  { name: "a secret with dashes", secrets: "whsec_ab-_cd-_", trusted: false, misuse: true },
  { name: "no secret", secrets: [], trusted: false, misuse: true },
  ...[-300, -299, -60, -1, 0, 1, 60, 299, 300].map((s) => ({ name: `${s} s from now`, headers: at(s), trusted: true })),
  ...[-1e9, -86_400, -3600, -301, 301, 3600, 86_400, 1e9].map((s) => ({
    name: `${s} s from now`,
    headers: at(s),
    trusted: false,
  })),
  {
    name: "replayed with a new timestamp",
    headers: { ...at(-3600), "webhook-timestamp": `${seconds}` },
    trusted: false,
  },
  { name: "replayed under a new id", headers: headers({ "webhook-id": "msg_2" }), trusted: false },
  { name: "timestamp in ms", headers: headers({ "webhook-timestamp": `${now}` }), trusted: false },
  ...[`${seconds}.5`, `${seconds}e0`, `+${seconds}`, `0x${seconds.toString(16)}`].map((timestamp) => ({
    name: `a signed timestamp ${timestamp}`,
    headers: headers({ "webhook-timestamp": timestamp, "webhook-signature": signAt(timestamp) }),
    trusted: false,
  })),
  { name: "timestamp in words", headers: headers({ "webhook-timestamp": "now" }), trusted: false },
  {
    name: "timestamp as an ISO date",
    headers: headers({ "webhook-timestamp": new Date(now).toISOString() }),
    trusted: false,
  },
  ...["abc", ".5", " ", "e1"].map((end) => ({
    name: `timestamp with ${JSON.stringify(end)} at its end`,
    headers: headers({ "webhook-timestamp": `${seconds}${end}` }),
    trusted: false,
    referenceIsWrong: "It parses the leading number and signs that instead of the header.",
  })),
  ...[1, 2, 10, 50, 100, 200, 300].map((cut) => ({
    name: `a body cut by ${cut}`,
    body: text.slice(0, -cut),
    trusted: false,
  })),
  { name: "a body without its first character", body: text.slice(1), trusted: false },
  { name: "an empty body", body: "", trusted: false },
  { name: "another amount", body: text.replace("1500000", "9500000"), trusted: false },
  { name: "re-encoded with spaces", body: pretty, trusted: false },
  {
    name: "re-encoded in another order",
    body: JSON.stringify({ data: event.data, event: event.event }),
    trusted: false,
  },
  { name: "re-encoded with escapes", body: text.replace("Ada", String.raw`\u0041da`), trusted: false },
  { name: "re-encoded with a newline", body: `${text}\n`, trusted: false },
  { name: "re-encoded with a byte order mark", body: `\uFEFF${text}`, trusted: false },
  { name: "re-encoded as UTF-16", body: Buffer.from(text, "utf16le"), trusted: false },
  {
    name: "invalid UTF-8 bytes, changed in transit",
    body: Buffer.from(text.replace("Ada", "A\u00ffa"), "latin1"),
    headers: signatures(sign(text.replace("Ada", "A\uFFFDa"))),
    trusted: false,
    referenceIsWrong: "It signs the decoded text, in which all invalid bytes become the same character.",
  },
  ...["webhook-id", "webhook-timestamp", "webhook-signature"].flatMap((name) => [
    { name: `${name} missing`, headers: without(name), trusted: false },
    { name: `${name} empty`, headers: headers({ [name]: "" }), trusted: false },
  ]),
  { name: "one valid signature of three", headers: signatures(`v1,AAAA ${sign(text)} v1,BBBB`), trusted: true },
  { name: "the same signature twice", headers: signatures(`${sign(text)} ${sign(text)}`), trusted: true },
  {
    name: "a signature of another version first",
    headers: signatures(`v1a,${signature} ${sign(text)}`),
    trusted: true,
  },
  { name: "spaces around the signature", headers: signatures(` ${sign(text)}  `), trusted: true },
  { name: "only invalid signatures", headers: signatures("v1,AAAA v1,BBBB"), trusted: false },
  { name: "the signature with another version", headers: signatures(`v2,${signature}`), trusted: false },
  { name: "the signature with the asymmetric version", headers: signatures(`v1a,${signature}`), trusted: false },
  { name: "the signature without a version", headers: signatures(signature), trusted: false },
  { name: "an empty signature", headers: signatures("v1,"), trusted: false },
  { name: "a signature without padding", headers: signatures(sign(text).replace(/=+$/, "")), trusted: false },
  {
    name: "a signature in base64url",
    headers: signatures(sign(unicode).replaceAll("+", "-").replaceAll("/", "_")),
    trusted: false,
  },
  {
    name: "a signature in hex",
    headers: signatures(`v1,${Buffer.from(signature, "base64").toString("hex")}`),
    trusted: false,
  },
  { name: "a signature in lower case", headers: signatures(sign(text).toLowerCase()), trusted: false },
  { name: "a truncated signature", headers: signatures(sign(text).slice(0, -6)), trusted: false },
  {
    name: "a signature one character off",
    headers: signatures(`v1,${signature[0] === "A" ? "B" : "A"}${signature.slice(1)}`),
    trusted: false,
  },
  { name: "a signature of the body alone", headers: signatures(sign(text, secret, seconds, "")), trusted: false },
  {
    name: "a signature with trailing text",
    headers: signatures(`${sign(text)},more`),
    trusted: false,
    referenceIsWrong: "It splits at every comma and reads only the second part.",
  },
];

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now }));
afterEach(() => void vi.useRealTimers());

function verdictOfReference({ body: given = text, headers: sent = headers(), secrets = secret }: Case): boolean {
  return [secrets].flat().some((one) => {
    try {
      new Webhook(one).verify(given as string, sent);
      return true;
    } catch {
      return false;
    }
  });
}

describe("compared with the npm package standardwebhooks", () => {
  test("there are at least 100 cases with distinct names", () => {
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
    expect(cases.length).toBeGreaterThanOrEqual(100);
  });

  test.each(cases)("$name", async (one) => {
    const { body: given = text, headers: sent = headers(), secrets = secret, trusted, misuse, referenceIsWrong } = one;
    const verdict = await verifyWebhook(given, sent, secrets).then(
      () => true,
      (error: unknown) => {
        expect(error).toBeInstanceOf(misuse ? UsageError : WebhookError);
        return false;
      },
    );
    expect(verdict).toBe(trusted);
    expect(verdictOfReference(one)).toBe(referenceIsWrong ? !trusted : trusted);
  });
});

describe("verifyWebhook", () => {
  const messages: [RegExp, Omit<Case, "name" | "trusted">][] = [
    [/missing/, { headers: without("webhook-id") }],
    [/missing/, { headers: without("webhook-timestamp") }],
    [/missing/, { headers: headers({ "webhook-signature": "" }) }],
    [/^No signature matches/, { body: `${text} ` }],
    [/tolerance/, { headers: at(-301) }],
    [/not an event/, { body: "{}", headers: signatures(sign("{}")) }],
    [/secret is not set/, { secrets: [] }],
    [/secret is not set/, { secrets: [secret, ""] }],
    [/secret is not set/, { secrets: "", headers: {} }],
    [/secret must be whsec_/, { secrets: `AAAAwhsec_${secret.slice(6)}` }],
  ];
  test.each(messages)(
    "reports %s",
    async (message, { body: given = text, headers: sent = headers(), secrets = secret }) => {
      await expect(verifyWebhook(given, sent, secrets)).rejects.toThrow(message);
      await expect(verifyWebhook(given, new Headers(sent), secrets)).rejects.toThrow(message);
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
    "rejects the parsed body %j and says how to get the raw one",
    async (given) => {
      const error = await rejectionOf(verifyWebhook(given as never, headers(), secret));
      expect(error).toBeInstanceOf(UsageError);
      expect((error as Error).message).toMatch(/express\.raw.*request\.text/);
    },
  );

  test.each([undefined, null, "", 7, "whsec_????", "whsec_"])(
    "throws a UsageError for the secret %j without showing it, whatever is received",
    async (given) => {
      for (const call of [verifyWebhook(text, headers(), given as never), verifyWebhook("", {}, given as never)]) {
        const error = (await rejectionOf(call)) as Error;
        expect(error).toBeInstanceOf(UsageError);
        expect(error.message).toMatch(given ? /secret must be/ : /secret is not set/);
        expect(error.message).not.toContain("????");
      }
      await expect(signWebhook(event, given as never)).rejects.toBeInstanceOf(UsageError);
    },
  );

  test("rejects a request without headers as a forgery, whatever its body", async () => {
    const error = await rejectionOf(verifyWebhook({} as never, {}, secret));
    expect(error).toBeInstanceOf(WebhookError);
    expect((error as WebhookError).name).toBe("WebhookError");
  });

  test.each(["[]", "null", "7", '"x"', "{}", '{"event":1,"data":{}}', '{"event":"x"}', "not json", "\xff"])(
    "rejects %j, which is signed but not an event",
    async (given) => {
      expect(await rejectionOf(verifyWebhook(given, signatures(sign(given)), secret))).toBeInstanceOf(WebhookError);
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
  type Vector = {
    id: string;
    secrets: string[];
    headers: Record<string, string>;
    body: string;
    time: number;
    verdict: string;
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
