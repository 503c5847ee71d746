import { request } from "node:http";
import { expect, test } from "vitest";
import { createReceiver } from "./receiver.ts";

test("announces no time after which it closes an idle connection", async () => {
  const receiver = await createReceiver({ host: "127.0.0.1", port: 0 }, () => new Date(0));
  const { url, received } = receiver.openMailbox();
  const headers = { connection: "keep-alive" };
  const response = await new Promise<{ headers: object }>((resolve, reject) =>
    request(url, { method: "POST", headers }, resolve).on("error", reject).end("{}"),
  );
  await receiver.close();
  expect(received).toHaveLength(1);
  expect(response.headers).not.toHaveProperty("keep-alive");
});
