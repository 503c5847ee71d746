// A loopback server for tools that send their own requests, such as Dredd. It forwards each request through
// `Target.send`, so that the budget, the allowed effects and the recording apply to these requests too.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TargetResponse, TargetRequest } from "./exchange.ts";
import type { Target } from "./target.ts";

/** The properties that the forwarder adds to the tool's next request. */
export type Passing = Pick<TargetRequest, "effect" | "key" | "forced">;

export type Forwarder = {
  origin: string;
  /** The caller must set this before each request. */
  passing: Passing;
  /** The responses to the forwarded requests, in order. */
  responses: TargetResponse[];
  /** The first error that prevented a request from being sent; undefined if there was none. */
  thrown?: unknown;
  close(): Promise<void>;
};

const notForwarded = new Set([
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
      Object.entries(incoming.headers).filter(([name]) => !notForwarded.has(name)) as [string, string][],
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
