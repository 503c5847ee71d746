import { once } from "node:events";
import { createServer, STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Express } from "express";
import type { Deps } from "../deps.ts";

/** Real milliseconds that answers under way are given when the server stops. */
const DRAIN_MS = 10_000;

export interface Listener {
  port: number;
  /** Takes no more requests and resolves when the answers under way have gone out, or had the time to. */
  close(): Promise<void>;
}

/** @throws ListenError when the address cannot be listened on, with what to do about it */
export function listen(app: Express, deps: Pick<Deps, "config" | "clock" | "ids" | "log">): Promise<Listener> {
  const { host, port } = deps.config;
  const connections = new Set<Socket>();
  /** Answers that have not gone out yet. */
  const underWay = new Set<ServerResponse>();
  const answersOn = (socket: Duplex) => [...underWay].filter((res) => res.req.socket === socket);
  let closing = false;

  function answer(req: IncomingMessage, res: ServerResponse): void {
    underWay.add(res);
    if (closing) res.setHeader("Connection", "close");
    res.once("close", () => {
      underWay.delete(res);
      if (closing) req.socket.destroySoon();
    });
    req.url = originForm(req.url!);
    app(req, res);
  }

  function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
    const current = answersOn(socket);
    // A request that came whole may have paid: an answer about what came after it would be taken for its own.
    const ambiguous = current.some(({ req }) => req.complete);
    if (!socket.writable || error.code === "ECONNRESET" || ambiguous) return void socket.destroy();
    const status = STATUS_BY_CODE[error.code ?? ""] ?? 400;
    const requestId = (current[0]?.getHeader("x-request-id") as string | undefined) ?? deps.ids.request();
    deps.log.info({ requestId, status, code: error.code }, "what came was not HTTP");
    socket.end(malformed(status, requestId));
  }

  async function close(): Promise<void> {
    closing = true;
    for (const res of underWay) if (!res.headersSent) res.setHeader("Connection", "close");
    const closed = once(server, "close");
    server.close();
    // Node waits for connections on which nothing was ever sent, browsers' spare ones for instance.
    for (const socket of connections) if (answersOn(socket).length === 0) socket.destroy();
    const drained = new AbortController();
    await Promise.race([closed, deps.clock.sleep(DRAIN_MS, drained.signal)]);
    drained.abort();
    server.closeAllConnections();
    await closed;
  }

  // A request without Host is refused by the app, in the shape of §7.
  const server = createServer({ requireHostHeader: false }, answer);
  server.on("checkExpectation", answer);
  // Whether to go on is said where the body is read: after the key, and not for one that is too large.
  server.on("checkContinue", answer);
  server.on("clientError", refuse);
  server.on("connect", (_req, socket) => refuse(new Error("this is no proxy"), socket));
  server.on("connection", (socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
  });

  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(new ListenError(explain(error, host, port))));
    server.listen(port, host, () => resolve({ port: (server.address() as AddressInfo).port, close }));
  });
}

export class ListenError extends Error {
  override name = "ListenError";
}

function explain({ code, message }: NodeJS.ErrnoException, host: string, port: number): string {
  if (code === "EADDRINUSE") return `Port ${port} of ${host} is taken. Stop what uses it, or set PORT to another.`;
  if (code === "EACCES") return `Port ${port} needs more rights than this user has. Set PORT to one above 1023.`;
  return `Cannot listen on ${host}:${port}: ${message}. Check HOST and PORT.`;
}

/**
 * A request may name its whole address, as to a proxy (RFC 9112 §3.2.2); the path is what counts. What is neither
 * becomes a path that nothing has, and a fragment a part of it: Express and the validator would each cut it elsewhere.
 */
function originForm(target: string): string {
  const url = target.startsWith("/") ? null : URL.parse(target);
  const isHttp = url !== null && /^https?:$/.test(url.protocol);
  const path = isHttp ? url.pathname + url.search + url.hash : target;
  return (path.startsWith("/") ? path : `/${path}`).replaceAll("#", "%23");
}

const STATUS_BY_CODE: Record<string, number> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

/** What is no HTTP never reaches Express; it is answered in the shape of §7 all the same. */
function malformed(status: number, requestId: string): string {
  const phrase = STATUS_CODES[status];
  const body = JSON.stringify({ statusCode: status, error: phrase, message: "The request is not well-formed HTTP." });
  return (
    `HTTP/1.1 ${status} ${phrase}\r\nx-request-id: ${requestId}\r\ncontent-type: application/json; charset=utf-8\r\n` +
    `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`
  );
}
