import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";
import { afterEach, expect, test, vi } from "vitest";
import { newSecret } from "../domain/secrets.ts";
import { sign } from "./signature.ts";

const id = "msg_019aa0c5f7d27c3e8a41d2b7e95f6c10";
const body = JSON.stringify({ event: "disbursement.completed", data: { amount: 1, name: "Ngũgĩ, 5 € 🎉" } });

afterEach(() => {
  vi.useRealTimers();
});

test("a secret is whsec_ and the base64 of 32 random bytes", () => {
  const bytes = Uint8Array.from({ length: 32 }, (_, index) => index);
  expect(newSecret(() => bytes)).toBe("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
  expect(newSecret(randomBytes)).not.toBe(newSecret(randomBytes));
});

test("the signature equals that of standardwebhooks", () => {
  const secret = newSecret(randomBytes);
  const seconds = 1_763_631_002;
  expect(sign([secret], id, seconds, body)).toBe(new Webhook(secret).sign(id, new Date(seconds * 1000), body));
});

test("during a rotation either secret verifies the signature, and no other does", () => {
  const secrets = [newSecret(randomBytes), newSecret(randomBytes)];
  const seconds = 1_763_631_002;
  vi.setSystemTime(seconds * 1000);
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": sign(secrets, id, seconds, body),
  };
  for (const secret of secrets) expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
  expect(() => new Webhook(newSecret(randomBytes)).verify(body, headers)).toThrow("No matching signature");
  expect(() => new Webhook(secrets[0]!).verify(body.replace("1", "2"), headers)).toThrow("No matching signature");
});

test.each([
  "",
  "whsec_",
  "whsec_c2hvcnQ=",
  "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA==",
  "whsec_?".padEnd(50, "A"),
])("refuses the secret %j without showing it", (secret) => {
  expect(() => sign([secret], id, 1, body)).toThrow(/^A webhook secret must be whsec_ and the base64 of 24 to 64/);
});

test("refuses an empty list of secrets", () => {
  expect(() => sign([], id, 1, body)).toThrow("at least one secret");
});

test("signatures equal those of the conformance suite's test vectors", () => {
  type Vector = { asSent?: boolean; secrets: string[]; headers: Record<string, string>; body: string };
  const file = new URL("../../conformance/vectors/webhooks.json", import.meta.url);
  const { vectors } = JSON.parse(readFileSync(file, "utf8")) as { vectors: Vector[] };
  const sent = vectors.filter(({ asSent }) => asSent);
  expect(sent.length).toBeGreaterThan(10);
  for (const { secrets, headers, body: bytes } of sent) {
    const text = Buffer.from(bytes, "base64").toString("utf8");
    const seconds = Number(headers["webhook-timestamp"]);
    expect(sign(secrets, headers["webhook-id"] ?? "", seconds, text)).toBe(headers["webhook-signature"]);
  }
});
