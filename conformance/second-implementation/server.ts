// Starts the second implementation on a free port of the loopback interface.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { createApp } from "./app.ts";
import { Merchant } from "./merchant.ts";
import { Problem } from "./problem.ts";

type Second = { url: string; key: string; secondKey: string; stop(): Promise<void> };

const newKey = () => randomBytes(24).toString("base64url");

/** Starts the service with two merchants. */
export async function startSecond(): Promise<Second> {
  const [first, second] = [new Merchant("Ada Stores", newKey()), new Merchant("Bola Foods", newKey())];
  let url = "";
  const app = createApp([first, second], () => url);
  const server = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false }) as Server;
  // Without a listener, Node responds with an empty 417 to a request with an `Expect` other than `100-continue`.
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  server.on("clientError", (_error, socket) => {
    const body = JSON.stringify(new Problem("invalid_request", "The request is not valid HTTP.").body);
    const head = `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nx-request-id: ${newKey()}`;
    socket.end(`${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    key: first.key,
    secondKey: second.key,
    async stop() {
      for (const merchant of [first, second]) merchant.state.agenda.close();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
