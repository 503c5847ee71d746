// Listens for webhooks during a run.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Notification = {
  /** The mailbox it was sent to. */
  box: string;
  method: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** The body as JSON; undefined when it is none. */
  json: unknown;
  at: Date;
};

/** How a mailbox answers a notification; 204 unless it is told otherwise. */
export type Responder = (response: ServerResponse, attempt: number) => void;

export type Receiver = {
  /** A new mailbox: an address of its own for `webhookURL`, and what arrives there. */
  openMailbox(reply?: Responder): { url: string; received: Notification[] };
  /** Everything that has arrived in the run, in its order. */
  readonly all: readonly Notification[];
  close(): Promise<void>;
};

const largest = 1024 * 1024;

/**
 * @param host where to listen; @param port 0 takes a free one
 * @param publicUrl how the target reaches it; its own address when left out
 */
export async function createReceiver(
  { host, port, publicUrl }: { host: string; port: number; publicUrl?: string },
  now: () => Date,
): Promise<Receiver> {
  const boxes = new Map<string, { received: Notification[]; reply: Responder }>();
  const all: Notification[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > largest) request.destroy();
      else chunks.push(chunk);
    });
    request.on("error", () => response.destroy());
    request.on("end", () => {
      const name = (request.url ?? "").split("?")[0]?.split("/").at(-1) ?? "";
      const box = boxes.get(name);
      if (!box) return void response.writeHead(404).end();
      const body = Buffer.concat(chunks).toString("utf8");
      const { method = "", headers } = request;
      const notification = { box: name, method, headers, body, json: parsed(body), at: now() };
      all.push(notification);
      box.received.push(notification);
      box.reply(response, box.received.length);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  const own = `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`;
  const base = (publicUrl ?? own).replace(/\/$/, "");
  return {
    openMailbox(reply = (response) => void response.writeHead(204).end()) {
      const name = `box-${boxes.size + 1}`;
      const received: Notification[] = [];
      boxes.set(name, { received, reply });
      return { url: `${base}/${name}`, received };
    },
    all,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
