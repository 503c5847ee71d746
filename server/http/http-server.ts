import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Express, Response } from "express";
import type { Logger } from "pino";
import { within, type Clock } from "../domain/clock.ts";
import type { Ids } from "../domain/ids.ts";
import { errorBody } from "./http-error.ts";
import { stateOf } from "./request-state.ts";

// An import of node:http would also load undici, for its WebSocket, which takes a twelfth of a start.
const http = process.getBuiltinModule("node:http");

/** How long a client may take to send the headers of a request, and the whole request, in milliseconds. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const CHECK_TIMEOUTS_EVERY_MS = 1_000;
/**
 * How long a connection may stay idle between two requests, in milliseconds: longer than the 60 s after which proxies
 * usually close their connections.
 */
const IDLE_MS = 65_000;
/** How long the client of a refused request may take to read the response, in milliseconds. */
const LINGER_MS = 1_000;

export interface ListenOptions {
  host: string;
  /** The port to listen on. 0 lets the system choose one. */
  port: number;
  /** The most client connections at a time. */
  maxConnections: number;
  /** How long a client may take to send a whole request, in milliseconds: 30 s by default. */
  requestTimeoutMs?: number;
  clock: Clock;
  ids: Ids;
  log: Logger;
}

interface Connection {
  /** True once a request on it had a valid key or a session of the dashboard. */
  isKnown: boolean;
  /**
   * Responses not yet sent completely. One Set for all connections would make V8 keep finished requests for long: a Set
   * that grows and shrinks is copied often, and its old copies still refer to their former members.
   */
  responses: ServerResponse[];
}

/**
 * Listens, then creates the app, which needs to know the port that the system chose.
 * @throws ListenError if the server cannot listen on the address; its message says what to do
 */
export async function listen(options: ListenOptions, createApp: (port: number) => Express) {
  const { host, port, maxConnections, requestTimeoutMs = REQUEST_TIMEOUT_MS, clock, ids, log } = options;
  let app: Express;
  /** The open connections, oldest first. */
  const connections = new Map<Duplex, Connection>();
  /** True if each connection ends with its next response. */
  let draining = false;
  /** True if the server waits for no further request. */
  let closing = false;

  function handle(req: IncomingMessage, res: ServerResponse): void {
    const connection = connections.get(req.socket)!;
    connection.responses.push(res);
    if (draining) res.setHeader("Connection", "close");
    res.once("close", () => {
      connection.responses = connection.responses.filter((one) => one !== res);
      if (closing) req.socket.destroySoon();
      connection.isKnown ||= hasCaller(res);
    });
    req.url = originForm(req.url!);
    app(req, res);
  }

  /**
   * Makes room for a new connection. Closes the oldest one of a stranger, who has sent neither a key nor a session, so that
   * strangers cannot keep merchants out, whatever they send or do not read; or else the oldest idle one.
   */
  function makeRoom(socket: Socket) {
    const others = [...connections].filter(([one]) => one !== socket);
    const [chosen] = others.find(([, { isKnown, responses }]) => !isKnown && !responses.some(hasCaller)) ??
      others.find(([, { responses }]) => responses.length === 0) ?? [socket];
    // Several connections may arrive before this one reports that it is closed.
    connections.delete(chosen);
    chosen.destroy();
  }

  let turns = Promise.resolve();
  /** Resolves in a turn of the event loop of its own, so that many refusals at once do not delay every other request. */
  const ownTurn = () => (turns = turns.then(() => nextTurn()));

  async function refuse(error: NodeJS.ErrnoException, socket: Duplex) {
    // Node no longer listens for errors after CONNECT, and an error without a listener ends the process.
    socket.on("error", () => undefined);
    // The connection serves no request any more, so that it can make room for another one while it waits.
    const current = connections.get(socket)?.responses.splice(0) ?? [];
    // A request that was received completely may have moved money. The caller would take a 400 about the bytes after
    // this request as the response to the request, so close the connection without a response.
    const ambiguous = current.some(({ req }) => req.complete);
    if (!socket.writable || error.code === "ECONNRESET" || ambiguous) return void socket.destroy();
    // The rest of the request is never read, also if the app has yet to begin with the body. Otherwise a payment could
    // be made after its caller was told 408.
    socket.on("resume", () => socket.pause()).pause();
    await ownTurn();
    // The app may have refused the request in the meantime, for example because of its key.
    if (!current.some(({ headersSent }) => headersSent)) {
      const reason = REFUSALS[error.code ?? ""] ?? MALFORMED;
      const requestId = (current[0]?.getHeader("x-request-id") as string | undefined) ?? ids.request();
      log.info({ requestId, status: reason.status, code: error.code }, "refused HTTP request");
      socket.end(refusal(reason, requestId));
    }
    await clock.sleep(LINGER_MS);
    await ownTurn();
    socket.destroy();
  }

  /** Ends each connection with its next response, so that clients turn to other processes. Requests are still served. */
  function drain(): void {
    draining = true;
    const inProgress = [...connections.values()].flatMap(({ responses }) => responses);
    for (const res of inProgress) if (!res.headersSent) res.setHeader("Connection", "close");
  }

  /**
   * Stops accepting requests. Resolves once responses in progress have been sent, or after `drainMs` real milliseconds,
   * when it closes their connections.
   */
  async function close(drainMs: number): Promise<void> {
    drain();
    closing = true;
    const closed = once(server, "close");
    server.close();
    // Node would wait for connections that never carried a request, such as spare connections of a browser.
    for (const [socket, { responses }] of connections) if (responses.length === 0) socket.destroy();
    await within(clock, drainMs, closed);
    server.closeAllConnections();
    await closed;
  }

  // The app refuses a request without a Host header, so that the response has the shape of §7.
  const timeouts = {
    headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs),
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: IDLE_MS,
    connectionsCheckingInterval: Math.min(CHECK_TIMEOUTS_EVERY_MS, requestTimeoutMs),
  };
  class Request extends http.IncomingMessage {}
  class Response extends http.ServerResponse {}
  const messages = { IncomingMessage: Request, ServerResponse: Response, requireHostHeader: false };
  const server = http.createServer({ ...timeouts, ...messages }, handle);
  // Node would end a connection whose client has sent everything and closed its side, before a response is ready.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on("checkExpectation", handle);
  server.on("clientError", (error, socket) => void refuse(error, socket));
  server.on("connect", (_req, socket) => void refuse(new Error("CONNECT is not supported"), socket));
  server.on("connection", (socket) => {
    connections.set(socket, { isKnown: false, responses: [] });
    socket.once("close", () => connections.delete(socket));
    if (connections.size > maxConnections) makeRoom(socket);
  });

  server.listen(port, host);
  await once(server, "listening").catch((error: NodeJS.ErrnoException) => {
    throw new ListenError(explain(error, host, port));
  });
  const chosen = (server.address() as AddressInfo).port;
  app = createApp(chosen);
  // Express gives requests and responses its prototypes, and V8 is slow with objects whose prototype has changed. Here they
  // have Express's methods from the beginning (a tenth of a verify).
  Object.setPrototypeOf(Request.prototype, app.request);
  Object.setPrototypeOf(Response.prototype, app.response);
  Object.assign(app, { request: Request.prototype, response: Response.prototype });
  server.on("error", (error) => log.error({ err: error }, "the HTTP server failed"));
  return { port: chosen, drain, close };
}

/** True if the request had a valid key, or a session of the dashboard. */
function hasCaller(res: ServerResponse): boolean {
  const { merchant, visit } = stateOf(res as Response);
  return merchant !== undefined || visit !== undefined;
}

export class ListenError extends Error {
  override name = "ListenError";
}

function explain({ code, message }: NodeJS.ErrnoException, host: string, port: number): string {
  if (code === "EADDRINUSE")
    return `Port ${port} on ${host} is already in use. Stop the process that uses it, or set PORT to another port.`;
  if (code === "EACCES") return `This user is not allowed to listen on port ${port}. Set PORT to a port above 1023.`;
  return `Cannot listen on ${host}:${port}: ${message}. Check HOST and PORT.`;
}

/**
 * Converts a request target to origin form. An absolute URL (RFC 9112 §3.2.2) is reduced to its path and query. Any
 * other target becomes a path that does not exist. `#` is escaped, because Express and the validator disagree on it.
 */
function originForm(target: string): string {
  const url = target.startsWith("/") ? null : URL.parse(target);
  const isHttp = url !== null && /^https?:$/.test(url.protocol);
  const path = isHttp ? url.pathname + url.search + url.hash : target;
  return (path.startsWith("/") ? path : `/${path}`).replaceAll("#", "%23");
}

/** What each code of Node's parser becomes. Any other code is malformed HTTP. */
const REFUSALS: Record<string, { status: number; message: string }> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: "The path and headers of the HTTP request are too long." },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    message: "The HTTP request did not arrive completely in time. Send it again.",
  },
};
const MALFORMED = { status: 400, message: "Malformed HTTP request." };

/** Returns the response to a request that Node could not read, in the shape of §7. */
function refusal({ status, message }: typeof MALFORMED, requestId: string): string {
  const body = errorBody(status, message, "invalid_request");
  const text = JSON.stringify(body);
  return (
    `HTTP/1.1 ${status} ${body.error}\r\nx-request-id: ${requestId}\r\ncontent-type: application/json; charset=utf-8\r\n` +
    `cache-control: no-store\r\nx-content-type-options: nosniff\r\n` +
    `content-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`
  );
}

/** The most client connections of a process. */
const MOST_CONNECTIONS = 10_000;

/** How many files the process may open. Only Linux shows it in a file, and a system may have no limit. */
function openFilesLimit(): number {
  const isShown = existsSync("/proc/self/limits");
  const found = isShown && /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"));
  return found ? Number(found[1]) : Infinity;
}

/**
 * Returns how many client connections the process can hold. The other half of its files are for the database and for
 * webhooks: without a free one, the system closes every new connection, also a merchant's.
 */
export const connectionLimit = (files = openFilesLimit()): number => Math.min(MOST_CONNECTIONS, Math.floor(files / 2));
