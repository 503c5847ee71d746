import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";

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
const inGuide = (name: string) => new RegExp(`^${name}: +(\\S+)$`, "m").exec(spec.info.description)![1]!;
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

test("the webhook guide's test vector has a valid signature", () => {
  const signed = ["webhook-id", "webhook-timestamp", "body"].map(inGuide).join(".");
  const key = Buffer.from(inGuide("secret").replace("whsec_", ""), "base64");
  const signature = `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
  expect(inGuide("webhook-signature")).toBe(signature);
});
