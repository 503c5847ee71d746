import { describe, expect, test } from "vitest";
import { openapi, type Schema } from "../contract/contract.ts";
import { catalogue } from "../contract/requirements.ts";
import { faults } from "./faults.ts";
import { soundServers } from "./sound.ts";

const ids = faults.map(({ id }) => id);
const known = new Set(catalogue.map(({ id }) => id));
const broken = new Set(faults.flatMap(({ violates }) => violates));

describe("broken servers", () => {
  test("have a unique id and a one-sentence description", () => {
    expect(new Set(ids).size).toBe(faults.length);
    expect(faults.filter(({ defect }) => !/^\S.*\.$/.test(defect)).map(({ id }) => id)).toEqual([]);
  });

  test.each(catalogue.map(({ id }) => id))("at least one violates %s", (id) => {
    expect(broken.has(id)).toBe(true);
  });

  test("name only requirements in the catalogue", () => {
    const through = faults.flatMap((fault) => fault.through ?? []);
    expect([...broken, ...through].filter((id) => !known.has(id))).toEqual([]);
  });
});

/** For each field of these responses, one broken server must omit the field and another must change its type. */
const responses: [name: string, schema: string, within: string][] = [
  ["created", "DisbursementCreated", ""],
  ["verified", "Disbursement", ""],
  ["verified", "Customer", "customer-"],
  ["checkout-created", "CheckoutCreated", ""],
  ["checkout-record", "Checkout", ""],
  ["clock", "Clock", ""],
  ["secret", "WebhookSecret", ""],
  ["listed-event", "SandboxEvent", "items-"],
  ["listed-delivery", "Delivery", "items-"],
  ["listed-delivery", "Attempt", "items-attempts-"],
];

/**
 * Optional fields that need no faults here: they appear only in states that the checks do not produce, or have faults of
 * their own (`failures.ts`).
 */
const seldom = new Set(["customer", "failure", "nextAttemptAt", "responseBody"]);

const fieldsOf = (schema: string): string[] => {
  const { required = [], properties = {} } = openapi.components.schemas[schema] as Schema;
  const optional = Object.keys(properties).filter((field) => schema !== "Attempt" && !seldom.has(field));
  return [...new Set([...required, ...optional])];
};

describe("fields", () => {
  test.each(responses)(
    "each field of %s (%s) has a fault that omits it and a fault that changes its type",
    (name, schema, within) => {
      const fields = fieldsOf(schema);
      expect(fields.length).toBeGreaterThan(0);
      const wanted = fields.flatMap((field) => ["missing", "type"].map((how) => `${name}-${within}${field}-${how}`));
      expect(wanted.filter((id) => !ids.includes(id))).toEqual([]);
    },
  );
});

test("sound servers have unique ids", () => {
  const names = soundServers.map(({ id }) => id);
  expect(new Set(names).size).toBe(names.length);
});
