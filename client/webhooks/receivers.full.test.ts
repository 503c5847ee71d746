// Receivers in every framework against the webhooks of the reference server.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createClient } from "../index.ts";
import { key } from "../testing/fakes.ts";
import { startServer } from "../testing/processes.ts";
import type { Running } from "../testing/processes.ts";
import { receivers, recordingReceiver } from "./receivers.ts";
import type { WebhookEvent } from "./webhooks.ts";

const foreignSecret = `whsec_${btoa("a secret of another merchant")}`;

let server: Running;
let client: ReturnType<typeof createClient>;
let secrets: string[];
beforeAll(async () => {
  server = await startServer(key);
  client = createClient({ baseUrl: server.baseUrl, apiKey: key });
  secrets = await readSecrets();
});
afterAll(() => server?.stop());

async function readSecrets(): Promise<string[]> {
  const { data } = await client.raw.GET("/sandbox/webhook-secret");
  return [data!.data.secret, ...data!.data.previousSecrets.map(({ secret }) => secret)];
}

/** Settles everything that is due and makes every webhook attempt that is due, before it returns. */
const advance = (seconds: number) => client.raw.POST("/sandbox/clock/advance", { body: { seconds } });

let payouts = 0;
async function payOut(webhookURL: string) {
  const reference = `${webhookURL}-${payouts++}`.slice(-60);
  const recipient = { phoneNumber: "2257038102001", country: "CI", currency: "XOF" };
  const payout = await client.disbursements.create({ reference, amount: 10_000, webhookURL, ...recipient });
  await advance(1);
  return payout.reference;
}

/** The delivery of a payout's event: its id, and the status of the receiver's response to each attempt. */
async function deliveryOf(reference: string) {
  const { data } = await client.raw.GET("/sandbox/deliveries", { params: { query: { reference } } });
  const { id, attempts } = data!.data.items[0]!;
  return { id, responses: attempts.toSorted((a, b) => a.number - b.number).map(({ httpStatus }) => httpStatus) };
}

const replay = (id: string) =>
  client.raw.POST("/sandbox/deliveries/{id}/replay", { params: { path: { id } }, body: undefined as never });

describe.each(Object.keys(receivers))("%s", (framework) => {
  const { handled, errors, start, stop, clear } = recordingReceiver(framework, () => secrets);
  beforeEach(clear);
  afterEach(stop);

  test("handles the service's webhook once, typed, however often it is delivered", async () => {
    const { url } = await start();
    const reference = await payOut(url);
    expect(handled).toMatchObject([{ event: "disbursement.completed", data: { reference, status: "success" } }]);
    const { id, responses } = await deliveryOf(reference);
    expect(responses).toEqual([204]);
    await replay(id);
    expect((await deliveryOf(reference)).responses).toEqual([204, 204]);
    expect(handled).toHaveLength(1);
    expect(errors).toEqual([]);
  });

  test("handles an event again whose handler threw, and reports the error without showing it to the sender", async () => {
    const failure = new Error("the database is down");
    let attempts = 0;
    const onEvent = async (event: WebhookEvent) => {
      if (++attempts === 1) throw failure;
      handled.push(event);
    };
    const { url } = await start({ onEvent });
    const reference = await payOut(url);
    expect(errors).toEqual([failure]);
    expect((await deliveryOf(reference)).responses).toEqual([500]);
    await advance(10);
    expect((await deliveryOf(reference)).responses).toEqual([500, 204]);
    expect(handled).toMatchObject([{ data: { reference } }]);
    const { data } = await client.raw.GET("/sandbox/deliveries", { params: { query: { reference } } });
    expect(data!.data.items[0]!.attempts.map(({ responseBody }) => responseBody).join()).not.toContain("database");
  });

  test("accepts webhooks of both secrets during a rotation, and of neither other one", async () => {
    const [before] = secrets as [string];
    await client.raw.POST("/sandbox/webhook-secret/rotate");
    secrets = await readSecrets();
    expect(secrets).toContain(before);
    const [current] = secrets as [string];
    for (const [secret, status] of [
      [before, 204],
      [current, 204],
      [[current, before], 204],
      [foreignSecret, 400],
    ] as const) {
      const { url } = await start({ secret });
      expect((await deliveryOf(await payOut(url))).responses).toEqual([status]);
      await stop();
    }
    expect(handled).toHaveLength(3);
  });
});
