// How the log shows what the server reports of its work, and what neither the log nor the metrics contain.
import { stripVTControlCharacters } from "node:util";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { createTelemetry } from "../domain/telemetry.ts";
import { startReceiver } from "../testing/receiver.ts";
import { start } from "../testing/table.ts";
import { logTelemetry, prettyLine } from "./log-telemetry.ts";

test("the log has one line per request; it and the metrics have no key, secret, body, query, path or merchant's text", async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const server = await start({ env: { METRICS_TOKEN: "a-hidden-token-of-metrics" } });
  const rotated = (await server.request("POST", "/sandbox/webhook-secret/rotate")).body.data;
  const phones = ["2257038102001", "2257038109876", "2250701020389"];
  const webhookURL = `${receiver.url}?token=hidden`;
  for (const [index, phoneNumber] of phones.entries())
    await server.createPayout({ reference: `confidential-${index}`, phoneNumber, webhookURL });
  await server.createPayout({ reference: "confidential-0" });
  const { reference } = (await server.createCheckout({ reference: "confidential-order" })).body.data;
  const escaped = reference.replace("CHK", "%43HK");
  const key = "sk_abcdefghijklmnopqrstuvwxyz012345";
  for (const path of [`/v1/checkouts/${reference}`, `/v1/checkouts/${escaped}`, `/checkouts/${escaped}`])
    await server.request("GET", path);
  await server.request("GET", `/v1/disbursements/${key.replace("_", "%5F")}?token=hidden`, { key: "sk_hidden" });
  await server.request("GET", `/payouts/to/${phones[0]}?key=${server.key}`);
  await server.request("POST", "/v1/disbursements", { body: "hidden-in-body" });
  await expect(server.createPayout({ phoneNumber: "2257038102504" })).rejects.toThrow("socket hang up");
  await server.pass(60_000);
  expect(receiver.received.length).toBe(phones.length);
  const lines = server.logged();
  // A response that was never sent has no status.
  expect(lines.flatMap((line) => (line.method ? [`${line.method} ${line.route} ${line.status}`] : []))).toEqual([
    "POST /sandbox/webhook-secret/rotate 200",
    ...phones.map(() => "POST /v1/disbursements 200"),
    "POST /v1/disbursements 409",
    "POST /v1/checkouts 200",
    "GET /v1/checkouts/:reference 200",
    "GET /v1/checkouts/:reference 200",
    "GET /checkouts/:reference 200",
    "GET /v1/disbursements/:reference 401",
    "GET unknown 404",
    "POST /v1/disbursements 400",
    "POST /v1/disbursements undefined",
  ]);
  const { id: merchantId } = server.merchant;
  const ofMerchant = { operation: "createDisbursement", merchantId, client: "127.0.0.0/24", ms: expect.any(Number) };
  expect(lines.find(({ status }) => status === 409)).toMatchObject(ofMerchant);
  const headers = { authorization: "Bearer a-hidden-token-of-metrics" };
  const { text: metrics } = await server.request("GET", "/metrics", { key: null, headers });
  expect(metrics).toContain("webhook_attempts_total");
  const secrets = [server.key, rotated.secret, rotated.previousSecrets[0].secret, "sk_hidden", "whsec_", key.slice(3)];
  const texts = ["hidden", "confidential", "Ada Stores", reference.slice(3), new URL(receiver.url).host];
  for (const hidden of [...secrets, ...phones, ...texts]) {
    expect.soft(metrics, hidden).not.toContain(hidden);
    expect.soft(JSON.stringify(lines), hidden).not.toContain(hidden);
  }
  // The log names the merchant of a request, for the operator. Metrics do not, because more people read them.
  expect(metrics).not.toContain(server.merchant.id);
});

test("on a terminal a request is one line that a person can read, other lines keep their message, and an error its stack", async () => {
  const format = await prettyLine();
  let written = "";
  const log = pino({}, { write: (line: string) => void (written += format(line)) });
  const { emit, on } = createTelemetry((error) => expect.unreachable(String(error)));
  logTelemetry({ on }, log);
  const request = { requestId: "req_1", method: "POST", route: "/v1/disbursements", durationMs: 3.24, status: 200 };
  emit("request", { ...request, merchantId: "m-1", operation: "createDisbursement", client: "127.0.0.0/24" });
  emit("request", { ...request, status: undefined });
  log.warn({ aheadMs: 5 }, "the system clock was set back");
  emit("storage", { working: false, message: "The storage is full.", error: new Error("disk full") });
  const text = stripVTControlCharacters(written);
  const [first, second, third] = text.split("\n");
  expect(first).toMatch(
    /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: POST \/v1\/disbursements 200 3\.2 ms \{"requestId":"req_1","merchantId":"m-1"\}$/,
  );
  expect(second).toContain("POST /v1/disbursements no response 3.2 ms");
  expect(third).toMatch(/WARN: the system clock was set back \{"aheadMs":5\}/);
  expect(text).toMatch(/ERROR: The storage is full\.[^]*Error: disk full\n +at /);
});
