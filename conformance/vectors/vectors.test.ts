// Runs other libraries over the test vectors. Where a library differs from the vectors, the difference is named here.
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { validateWebhook } from "replicate";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";

type Vector = {
  id: string;
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

const bodyOf = ({ body }: Vector) => Buffer.from(body, "base64").toString("utf8");
const lowerCased = ({ headers }: Vector) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** A library that takes one secret is called once for each secret. */
const withAnySecret = (verify: (vector: Vector, secret: string) => unknown) => async (vector: Vector) => {
  for (const secret of vector.secrets) {
    try {
      if ((await verify(vector, secret)) !== false) return "accept";
    } catch {
      // Refused. The next secret may fit.
    }
  }
  return "refuse";
};

type Library = {
  judge: (vector: Vector) => Promise<string>;
  /** The vectors on which the library's verdict differs, by reason. */
  differs: Record<string, string[]>;
};

const libraries: Record<string, Library> = {
  standardwebhooks: {
    judge: withAnySecret((vector, secret) => new StandardWebhook(secret).verify(bodyOf(vector), vector.headers)),
    differs: {},
  },
  svix: {
    judge: withAnySecret((vector, secret) => new SvixWebhook(secret).verify(bodyOf(vector), vector.headers)),
    differs: {},
  },
  replicate: {
    judge: withAnySecret((vector, secret) =>
      validateWebhook({ headers: lowerCased(vector), body: bodyOf(vector) } as never, secret),
    ),
    differs: {
      "it does not look at the age of an event": [
        "an-hour-ahead",
        "an-hour-old",
        "from-1970",
        "milliseconds",
        "nan",
        "no-number",
        "too-new",
        "too-old",
      ],
      "it takes signatures of every version": ["version-0", "version-1a", "version-2"],
    },
  },
};

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

describe.each(Object.entries(libraries))("%s", (_, { judge, differs }) => {
  test("agrees with all vectors but those that are named", async () => {
    const differing: string[] = [];
    for (const vector of vectors) {
      vi.setSystemTime(vector.time * 1000);
      if ((await judge(vector)) !== vector.verdict) differing.push(vector.id);
    }
    expect(differing.toSorted()).toEqual(Object.values(differs).flat().toSorted());
  });
});
