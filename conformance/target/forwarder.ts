// A loopback server that passes requests on to the target's one way in, for tools that send their requests themselves.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TargetResponse, TargetRequest } from "./exchange.ts";
import type { Target } from "./target.ts";

/** What the tool's next request has to carry besides what the tool sends. */
export type Passing = Pick<TargetRequest, "effect" | "key" | "forced">;

export type Forwarder = {
  origin: string;
  /** Set before each request. */
  passing: Passing;
  /** The answers so far. */
  responses: TargetResponse[];
  /** What kept a request from being sent. */
  thrown?: unknown;
  close(): Promise<void>;
};

const notPassedOn = new Set([
  "host",
  "connection",
  "content-length",
  "user-agent",
  "transfer-encoding",
  "accept-encoding",
]);

export async function createForwarder(target: Target): Promise<Forwarder> {
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const headers = Object.fromEntries(
      Object.entries(incoming.headers).filter(([name]) => !notPassedOn.has(name)) as [string, string][],
    );
    const { method = "GET", url: path = "/" } = incoming;
    try {
      const response = await target.send({
        method,
        path,
        headers,
        ...(body.length > 0 ? { body } : {}),
        ...forwarder.passing,
      });
      forwarder.responses.push(response);
      if (response.status === undefined) return void outgoing.destroy();
      const type = response.headers["content-type"];
      outgoing.writeHead(response.status, type === undefined ? {} : { "content-type": type }).end(response.text);
    } catch (error) {
      forwarder.thrown ??= error;
      outgoing.destroy();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const forwarder: Forwarder = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passing: {},
    responses: [],
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return forwarder;
}
