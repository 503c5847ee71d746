// Every requirement for merchants' programs has a scenario and a broken program. `programs.full.test.ts` tries more.
import { expect, test } from "vitest";
import { guides } from "../cli/catalogue.ts";
import { requirementsOf } from "../contract/requirements.ts";
import { createValidators } from "../contract/validate.ts";
import { createRandom } from "../generate/random.ts";
import { createEvents, eventNames } from "../programs/receiver/webhook.ts";
import { brokenClients } from "./clients/broken.ts";
import { breaches } from "./clients/trial.ts";
import { brokenReceivers } from "./receivers/broken.ts";
import { tryVariant } from "./receivers/trial.ts";

test.each([
  ["client", brokenClients.map(({ breaks }) => breaks)],
  ["receiver", brokenReceivers.flatMap(({ violates }) => violates)],
] as const)("each requirement of a %s is judged by a scenario and broken by a program", (side, broken) => {
  const ids = requirementsOf(side).map(({ id }) => id);
  const { scenarios } = guides[side];
  expect([...new Set(scenarios.flatMap((scenario) => scenario.ids))].toSorted()).toEqual(ids.toSorted());
  expect([...new Set(broken)].toSorted()).toEqual(ids.toSorted());
  expect(new Set(scenarios.map(({ id }) => id)).size).toBe(scenarios.length);
});

test.each(eventNames)("the event %s follows the contract", (name) => {
  const { event, data } = createEvents("test", createRandom(1, name))(name);
  expect(createValidators("extended")("WebhookEvent")({ event, data })).toEqual([]);
});

const clients = new Set([
  "new-reference-on-retry",
  "amount-as-float",
  "loss-is-failed",
  "200-is-paid",
  "goes-where-told",
]);

test.concurrent.each(brokenClients.filter(({ id }) => clients.has(id)))(
  "the client $id is caught by $breaks",
  async (client) => {
    expect([...(await breaches(client))]).toContain(client.breaks);
  },
);

const receivers = new Set(["books-twice", "ignores-cancelled", "rounded-amounts", "known-by-order", "seven-minutes"]);

test.concurrent.each(brokenReceivers.filter(({ id }) => receivers.has(id.replace("receiver-", ""))))(
  "$id is caught by $violates",
  async (variant) => {
    expect(await tryVariant(variant)).toMatchObject({ wrong: [], errors: [] });
  },
);
