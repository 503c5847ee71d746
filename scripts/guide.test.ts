// Tests the contract's webhook guide against the reference server. The guide's code, unchanged, must verify real
// deliveries.
import { afterEach, expect, test, vi } from "vitest";
import { startReceiver } from "../server/testing/receiver.ts";
import { startServer } from "../server/testing/server.ts";
import { isAuthentic } from "../spec/testing/guide.ts";

const server = await startServer();
const receiver = await startReceiver();

afterEach(async () => {
  vi.useRealTimers();
  await receiver.close();
  await server.close();
});

async function secretFrom(method: string, path: string): Promise<string> {
  const { body } = await server.request(method, path);
  return body.data.secret;
}

test("the guide's code verifies the server's deliveries before and after a rotation of the secret", async () => {
  vi.useFakeTimers({ now: server.clock.now(), toFake: ["Date"] });
  const payout = { phoneNumber: "2250000000001", webhookURL: receiver.url };
  const first = await secretFrom("GET", "/sandbox/webhook-secret");
  await server.createPayout({ ...payout, reference: "before the rotation" });
  await receiver.until(1);
  const second = await secretFrom("POST", "/sandbox/webhook-secret/rotate");
  await server.createPayout({ ...payout, reference: "after the rotation" });
  await receiver.until(2);

  const accepted = receiver.received.map(({ headers, text }) =>
    [first, second].map((secret) => isAuthentic(headers, Buffer.from(text), secret)),
  );
  expect(accepted).toEqual([
    [true, false],
    [true, true],
  ]);
});
