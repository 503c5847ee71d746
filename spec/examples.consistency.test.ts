import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { inGuide, isAuthentic } from "./testing/guide.ts";

type Node = Record<string, any>;

const spec: Node = parse(await readFile(new URL("openapi.yaml", import.meta.url), "utf8"));

/** Every object of the examples that satisfies a condition. */
function examplesThat(condition: (value: Node) => boolean): Node[] {
  const walk = (node: unknown): Node[] => {
    if (typeof node !== "object" || node === null) return [];
    const own = !Array.isArray(node) && condition(node) ? [node] : [];
    return [...own, ...Object.values(node).flatMap(walk)];
  };
  return walk(spec);
}

const records = examplesThat(({ id, merchant }) => typeof id === "string" && Boolean(merchant));
const events = examplesThat(({ event, data }) => typeof event === "string" && Boolean(data?.id));
const deliveries = examplesThat(({ attempts }) => Array.isArray(attempts));
const amounts = examplesThat(({ amount, fee }) => typeof amount === "number" && typeof fee === "number");
const factsOf = ({ id, amount, fee, createdAt }: Node) => JSON.stringify({ id, amount, fee, createdAt });
const nameAndValue = (name: string) => [name, inGuide(name)] as const;
const eventId = ({ id }: Node) => `msg_${id.replaceAll("-", "")}`;

describe("examples", () => {
  test.each(records)("the id of record $reference has the time of its creation", ({ id, createdAt }) => {
    expect(Number.parseInt(id.replace("-", "").slice(0, 12), 16)).toBe(Date.parse(createdAt));
  });

  test("each record has one id, amount and creation time wherever it appears", () => {
    const byReference = Map.groupBy(records, ({ reference }) => reference);
    expect(byReference.size).toBeGreaterThanOrEqual(5);
    for (const same of byReference.values()) expect([...new Set(same.map(factsOf))]).toHaveLength(1);
  });

  test.each(events)("event $event is about a final record with a webhookURL", ({ event, data }) => {
    expect(data.webhookURL).toBeTruthy();
    expect(event.split(".")[1]).toBe(data.status.replace("success", "completed"));
  });

  test("listed events and deliveries have the id of their record's event", () => {
    const listed = examplesThat(({ id, body }) => Boolean(id && body?.event));
    expect(listed).not.toEqual([]);
    for (const { id, body } of listed) expect(id).toBe(eventId(body.data));
    expect(deliveries).not.toEqual([]);
    for (const { id, reference, url } of deliveries) {
      const record = records.find((each) => each.reference === reference);
      expect({ id, url }).toEqual({ id: eventId(record!), url: record!.webhookURL });
    }
  });

  test("fees have the default rates", () => {
    expect(amounts.length).toBeGreaterThan(5);
    for (const { amount, fee, reference } of amounts) {
      expect(fee).toBe(Math.round((amount * (reference.startsWith("DSB") ? 100 : 480)) / 10_000));
    }
  });
});

describe("the webhook guide", () => {
  const headers = Object.fromEntries(["webhook-id", "webhook-timestamp", "webhook-signature"].map(nameAndValue));
  const body = Buffer.from(inGuide("body"));
  const secret = inGuide("secret");

  beforeEach(() => vi.useFakeTimers({ now: Number(headers["webhook-timestamp"]) * 1_000, toFake: ["Date"] }));
  afterEach(() => vi.useRealTimers());

  test("has a test vector with a valid signature", () => {
    const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
    const key = Buffer.from(secret.replace("whsec_", ""), "base64");
    expect(headers["webhook-signature"]).toBe(`v1,${createHmac("sha256", key).update(signed).digest("base64")}`);
  });

  const signature = headers["webhook-signature"]!;
  test.each<[string, boolean, Parameters<typeof isAuthentic>]>([
    ["the test vector", true, [headers, body, secret]],
    [
      "one valid signature of several",
      true,
      [{ ...headers, "webhook-signature": `v1,AA== ${signature}` }, body, secret],
    ],
    ["another body", false, [headers, Buffer.from("{}"), secret]],
    ["another secret", false, [headers, body, "whsec_YW5vdGhlciBleGFtcGxlLCBhbHNvIG5vdCBhIHNlY3JldCE="]],
    ["another id", false, [{ ...headers, "webhook-id": "msg_other" }, body, secret]],
    ["another version", false, [{ ...headers, "webhook-signature": signature.replace("v1", "v2") }, body, secret]],
    ["no prefix", false, [{ ...headers, "webhook-signature": signature.replace("v1,", "") }, body, secret]],
    ["no base64 padding", false, [{ ...headers, "webhook-signature": signature.replace("=", "") }, body, secret]],
    ["URL-safe base64", false, [{ ...headers, "webhook-signature": signature.replace("/", "_") }, body, secret]],
    ["no signature", false, [{ ...headers, "webhook-signature": undefined }, body, secret]],
  ])("has code that judges %s: %s", (_name, expected, given) => {
    expect(isAuthentic(...given)).toBe(expected);
  });

  test.each(["", " 1795167002", "1795167002.0", "1.795167002e9", "0x6b000000", undefined])(
    "has code that rejects the signed timestamp %o",
    (timestamp) => {
      vi.setSystemTime(Number(timestamp ?? 0) * 1_000);
      const key = Buffer.from(secret.replace("whsec_", ""), "base64");
      const hmac = createHmac("sha256", key).update(`${headers["webhook-id"]}.${timestamp}.${body}`).digest("base64");
      const signed = { ...headers, "webhook-timestamp": timestamp, "webhook-signature": `v1,${hmac}` };
      expect(isAuthentic(signed, body, secret)).toBe(false);
    },
  );

  test.each([-301, 301])("has code that rejects a timestamp %d seconds from the clock", (seconds) => {
    vi.setSystemTime(Date.now() + seconds * 1_000);
    expect(isAuthentic(headers, body, secret)).toBe(false);
  });
});
