// A gateway in front of a rail's service, which spoils the requests that a test chooses.
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** The response that is sent instead of passing the request on. */
export type Fault = "lost before" | "lost after" | "page" | "truncated" | "hang" | FaultResponse;
export interface FaultResponse {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

export interface FaultyGateway {
  url: string;
  /** Spoils the next request that pays. */
  spoil(fault: Fault): void;
  /** Changes the bodies of all further responses. */
  rewrite(change: (body: string) => string): void;
  /** Resolves when the service has processed a request and the gateway holds its response back. */
  hanging: Promise<void>;
  close(): Promise<void>;
}

/** @param pays returns true if a request with this method and path asks the service to pay */
export async function startFaultyGateway(
  target: string,
  pays: (method: string, path: string) => boolean,
): Promise<FaultyGateway> {
  const faults: Fault[] = [];
  const hanging = Promise.withResolvers<void>();
  let rewrite: ((body: string) => string) | undefined;

  const server = createServer(async (request, response) => {
    const { method = "", url = "" } = request;
    const fault = pays(method, url) ? faults.shift() : undefined;
    if (fault === "lost before") return response.destroy();
    if (typeof fault === "object") return respond(response, fault);
    const { host: _, "content-length": __, connection: ___, ...headers } = request.headers;
    const body = method === "GET" ? undefined : new Uint8Array(await buffer(request));
    const passed = await fetch(target + url, { method, headers: headers as Record<string, string>, body });
    const received = await passed.text();
    const text = rewrite?.(received) ?? received;
    if (fault === "lost after") return response.destroy();
    if (fault === "hang") return hanging.resolve();
    if (fault === "page") return respond(response, { status: 502, body: "<html>Bad Gateway</html>" });
    const sent = Object.fromEntries([...passed.headers].filter(([name]) => /^(content-type|retry-after)$/.test(name)));
    if (fault !== "truncated") return response.writeHead(passed.status, sent).end(text);
    response.writeHead(passed.status, { ...sent, "content-length": text.length + 10 });
    response.write(text.slice(0, text.length / 2), () => response.destroy());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spoil: (fault) => faults.push(fault),
    rewrite: (change) => {
      rewrite = change;
    },
    hanging: hanging.promise,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function respond(response: ServerResponse, { status, headers, body = {} }: FaultResponse): void {
  const isText = typeof body === "string";
  response
    .writeHead(status, { "content-type": isText ? "text/html" : "application/json", ...headers })
    .end(isText ? body : JSON.stringify(body));
}
