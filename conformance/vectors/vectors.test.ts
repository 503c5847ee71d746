import { readFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Webhook } from "standardwebhooks";

type Vector = {
  secrets: string[];
  headers: Record<string, string>;
  /** In base64. */
  body: string;
  /** In seconds since 1970. */
  time: number;
  verdict: "accept" | "refuse";
};
const file = new URL("webhooks.json", import.meta.url);
const { vectors } = JSON.parse(readFileSync(file, "utf8")) as { vectors: readonly Vector[] };

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

// The library takes one secret.
const accepts = ({ body, headers }: Vector, secret: string) => {
  try {
    return Boolean(new Webhook(secret).verify(Buffer.from(body, "base64").toString(), headers));
  } catch {
    return false;
  }
};

test("the library of Standard Webhooks agrees with all vectors", () => {
  const differing = vectors.filter((vector) => {
    vi.setSystemTime(vector.time * 1000);
    return vector.secrets.some((secret) => accepts(vector, secret)) !== (vector.verdict === "accept");
  });
  expect(differing).toEqual([]);
});
