import { describe, expect, test } from "vitest";
import { pending } from "../checks/index.ts";
import { openapi, type Schema } from "../contract/contract.ts";
import { catalogue } from "../contract/requirements.ts";
import { faults } from "./faults.ts";
import { soundServers } from "./sound.ts";

const ids = faults.map(({ id }) => id);
const known = new Set(catalogue.map(({ id }) => id));
const broken = new Set(faults.flatMap(({ breaks }) => breaks));

describe("broken servers", () => {
  test("there are hundreds, each with an id and a sentence of its own", () => {
    expect(faults.length).toBeGreaterThan(500);
    expect(new Set(ids).size).toBe(faults.length);
    expect(faults.filter(({ wrong }) => !/^\S.*\.$/.test(wrong)).map(({ id }) => id)).toEqual([]);
  });

  test.each(catalogue.map(({ id }) => id).filter((id) => !pending.includes(id)))("one at least breaks %s", (id) => {
    expect(broken.has(id)).toBe(true);
  });

  test("they name no requirement that does not exist", () => {
    const through = faults.flatMap((fault) => fault.through ?? []);
    expect([...broken, ...through].filter((id) => !known.has(id))).toEqual([]);
  });
});

/** The answers whose every field is left out by one server, and of another type with another. */
const responses: [name: string, schema: string, within: string][] = [
  ["created", "DisbursementCreated", ""],
  ["verified", "Disbursement", ""],
  ["verified", "Customer", "customer-"],
  ["checkout-created", "CheckoutCreated", ""],
  ["checkout-record", "Checkout", ""],
  ["clock", "Clock", ""],
  ["secret", "WebhookSecret", ""],
  ["listed-event", "Event", "events-"],
  ["listed-delivery", "Delivery", "deliveries-"],
  ["listed-delivery", "Attempt", "deliveries-attempts-"],
];

/** Fields that are there only in some states, of which the checks bring about none. */
const seldom = new Set(["customer", "previousSecret", "previousSecretExpiresAt", "nextAttemptAt", "responseBody"]);

const fieldsOf = (schema: string): string[] => {
  const { required = [], properties = {} } = openapi.components.schemas[schema] as Schema;
  const optional = Object.keys(properties).filter((field) => schema !== "Attempt" && !seldom.has(field));
  return [...new Set([...required, ...optional])];
};

describe("fields", () => {
  test.each(responses)("every field of %s (%s) is missing once, and of another type once", (name, schema, within) => {
    const fields = fieldsOf(schema);
    expect(fields.length).toBeGreaterThan(0);
    const wanted = fields.flatMap((field) => ["missing", "type"].map((how) => `${name}-${within}${field}-${how}`));
    expect(wanted.filter((id) => !ids.includes(id))).toEqual([]);
  });
});

test("at least ten sound servers differ, each in its own way", () => {
  const names = soundServers.map(({ id }) => id);
  expect(names.length).toBeGreaterThanOrEqual(10);
  expect(new Set(names).size).toBe(names.length);
});
