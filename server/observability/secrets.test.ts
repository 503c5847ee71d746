import { expect, test } from "vitest";
import { startReceiver } from "../testing/receiver.ts";
import { startServer } from "../testing/server.ts";

/** Values that a merchant sends or receives, and that an operator's tools must not collect. */
const PHONES = ["2257038102001", "2257038109876", "2250701020389"];

const TEXTS = ["sk_wrong", "a-token-for-prometheus", "whsec_", "hidden", "confidential", "Ada Stores"];

test("neither metrics nor the log contain keys, secrets, phone numbers, references, addresses or merchants' names", async () => {
  const receiver = await startReceiver();
  const server = await startServer({ env: { METRICS_TOKEN: "a-token-for-prometheus" } });
  const { secret, previousSecrets } = (await server.request("POST", "/sandbox/webhook-secret/rotate")).body.data;
  const references: string[] = [];
  for (const [index, phoneNumber] of PHONES.entries()) {
    const payout = { reference: `confidential-${index}`, phoneNumber, webhookURL: `${receiver.url}?token=hidden` };
    const { data } = (await server.createPayout(payout)).body;
    references.push(data.reference, data.merchantsReference);
    await server.request("GET", `/v1/disbursements/${data.reference}`);
  }
  references.push((await server.createCheckout({ reference: "confidential-order" })).body.data.reference);
  await server.request("GET", `/unknown/${PHONES[0]}?key=${server.key}`, { key: "sk_wrong-but-still-private" });
  await server.request("POST", "/v1/disbursements", { body: "hidden-in-body" });
  await server.pass(60_000);
  expect(receiver.received.length).toBe(PHONES.length);

  const headers = { authorization: "Bearer a-token-for-prometheus" };
  const { status, text: metrics } = await server.request("GET", "/metrics", { key: null, headers });
  expect([status, metrics.includes("webhook_attempts_total")]).toEqual([200, true]);
  const log = JSON.stringify(server.logged());
  expect(log).toContain("createDisbursement");

  const hidden = [
    ...PHONES,
    ...references,
    server.key,
    secret,
    previousSecrets[0].secret,
    new URL(receiver.url).host,
    ...TEXTS,
  ];
  for (const each of hidden) {
    expect.soft(metrics, each).not.toContain(each);
    expect.soft(log, each).not.toContain(each);
  }
  // The log names the merchant of a request, for the operator. Metrics do not, because more people read them.
  expect(metrics).not.toContain(server.merchant.id);
  await Promise.all([server.close(), receiver.close()]);
});
