// Receives webhooks during a run.
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { parsedJson } from "./values.ts";

export type Notification = {
  box: string;
  /** The path to which it was sent, with the query. */
  path: string;
  method: string;
  headers: IncomingHttpHeaders;
  body: string;
  json: unknown;
  at: Date;
};

export type Reply = {
  writeHead(status: number, headers?: Record<string, string>): Reply;
  end(body?: string): unknown;
  destroy(): unknown;
};

/** Responds to a notification. `attempt` counts the mailbox's notifications from 1. */
export type Responder = (response: Reply, attempt: number) => void;

export type Incoming = { path: string; method: string; headers: IncomingHttpHeaders; body: string };

/** Starts to listen for requests. The port 0 selects a free port. */
export type Listen = (
  address: { host: string; port: number },
  receive: (incoming: Incoming, response: Reply) => void,
) => Promise<{ url: string; close(): Promise<void> }>;

export type Receiver = {
  /** Opens a mailbox. Its URL can be used as `webhookURL`. The default of `respond` returns 204. */
  openMailbox(respond?: Responder): { name: string; url: string; received: Notification[] };
  /** Returns the name of the mailbox to which a webhookURL leads; undefined if it leads to no mailbox. */
  mailboxOf(webhookURL: unknown): string | undefined;
  /** The notifications of all mailboxes, in order of arrival. */
  readonly all: readonly Notification[];
  close(): Promise<void>;
};

const largestBody = 1024 * 1024;

/** Returns the last segment of a URL's path, which names the mailbox. The path may end with a slash. */
const nameIn = (url: string) =>
  url
    .split(/\/?[?#]/)[0]
    ?.split("/")
    .at(-1) ?? "";

export const listenOnHost: Listen = async ({ host, port }, receive) => {
  // The receiver never closes an idle connection: a target could lose the webhook for which it reuses the connection.
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > largestBody) request.destroy();
      else chunks.push(chunk);
    });
    request.on("error", () => response.destroy());
    request.on("end", () => {
      const { method = "", headers, url: path = "" } = request;
      receive({ path, method, headers, body: Buffer.concat(chunks).toString("utf8") }, response);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

/**
 * Starts a receiver.
 * @param publicUrl the URL at which the target reaches the receiver; by default the address it listens on
 * @param newPath returns the path of a new mailbox, whose last segment names the mailbox; by default mailboxes are numbered
 */
export async function createReceiver(
  { host, port, publicUrl }: { host: string; port: number; publicUrl?: string },
  now: () => Date,
  listen: Listen = listenOnHost,
  newPath?: () => string,
): Promise<Receiver> {
  const boxes = new Map<string, { received: Notification[]; respond: Responder }>();
  const all: Notification[] = [];
  const { url, close } = await listen({ host, port }, ({ path, method, headers, body }, response) => {
    const name = nameIn(path);
    const box = boxes.get(name);
    if (!box) return void response.writeHead(404).end();
    const notification = { box: name, path, method, headers, body, json: parsedJson(body), at: now() };
    all.push(notification);
    box.received.push(notification);
    box.respond(response, box.received.length);
  });
  const base = (publicUrl ?? url).replace(/\/$/, "");
  return {
    openMailbox(respond = (response) => void response.writeHead(204).end()) {
      const path = newPath?.() ?? `box-${boxes.size + 1}`;
      const name = nameIn(path);
      const received: Notification[] = [];
      boxes.set(name, { received, respond });
      return { name, url: `${base}/${path}`, received };
    },
    mailboxOf(webhookURL) {
      if (typeof webhookURL !== "string" || !webhookURL.startsWith(`${base}/`)) return undefined;
      const name = nameIn(webhookURL);
      return boxes.has(name) ? name : undefined;
    },
    all,
    close,
  };
}
