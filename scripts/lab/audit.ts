import { isDeepStrictEqual } from "node:util";
import type { Caller } from "./caller.ts";
import { compare, type Payment } from "./payments.ts";
import { inParallel, type World } from "./world.ts";

const FOUR_DAYS_S = 345_600;
const AT_ONCE = 8;

/** Heals the receivers and brings all retries forward, then checks every payment and webhook. Returns their numbers. */
export async function audit(world: World): Promise<string> {
  const { caller, payments, receivers, violate } = world;
  for (const receiver of receivers) receiver.behave("healthy");
  await deliverAll(caller, violate);
  const acknowledged = payments.all.filter((one) => one.acknowledged);
  for (const path of ["/v1/disbursements", "/v1/checkouts"]) await checkList(world, path, acknowledged);
  const records = new Map<string, unknown>();
  await inParallel(acknowledged, AT_ONCE, async (one) => {
    const record = await caller.read(`${one.path}/${one.acknowledged}`);
    compare(one, record, violate);
    records.set(one.acknowledged!, record);
  });
  const webhooks = await checkWebhooks(world, records);
  const repeated = payments.ambiguous();
  return `${acknowledged.length} payments (${repeated} repeated after an unknown result) and ${webhooks} webhooks checked`;
}

/** Moves the clock beyond the whole retry schedule. The move ends when everything due has been attempted. */
async function deliverAll(caller: Caller, violate: (what: string) => void) {
  for (let tries = 0; tries < 3; tries += 1) {
    const options = { body: { seconds: FOUR_DAYS_S }, deadlineMs: 120_000 };
    const response = await caller.send("POST", "/sandbox/clock/advance", options);
    if (response?.status === 200) return;
  }
  violate("the clock could not be moved");
}

/** Checks that the server's list has exactly the payments of this path: one record for each reference, and no other. */
async function checkList({ caller, violate }: World, path: string, payments: readonly Payment[]) {
  const listed = payments.filter((one) => one.path === path);
  const expected = new Map(listed.map((one) => [one.request.reference, one.acknowledged]));
  for await (const { merchantsReference, reference } of caller.list(path)) {
    if (expected.get(merchantsReference) !== reference)
      violate(`${merchantsReference} has an unexpected record ${reference}`);
    expected.delete(merchantsReference);
  }
  for (const [reference, lost] of expected) violate(`${reference} is not listed, although ${lost} was acknowledged`);
}

/** Checks that each payment has one event, and that its receiver has accepted it and was told what the record says. */
async function checkWebhooks({ caller, receivers, violate }: World, records: Map<string, unknown>): Promise<number> {
  const expected = new Set(records.keys());
  let count = 0;
  for await (const { id, reference, status } of caller.list("/sandbox/deliveries")) {
    count += 1;
    if (!expected.delete(reference)) violate(`${reference} has an unexpected event ${id}`);
    if (status !== "delivered") violate(`the webhook ${id} of ${reference} is ${status}`);
    const received = receivers.find((receiver) => receiver.received.has(id))?.received;
    if (!received) violate(`the webhook ${id} never arrived`);
    else if (!isDeepStrictEqual(received.get(id), records.get(reference)))
      violate(`the webhook ${id} of ${reference} does not say what its record says`);
  }
  for (const reference of expected) violate(`${reference} has no event`);
  return count;
}
