// Sends the service's responses: intact, or damaged or replaced as by a bad network and foreign programs.
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Answer, Forged } from "./steps.ts";

/** The response that the service intends. `body` is JSON text. */
export type Honest = { status: number; headers: Record<string, string>; body: string };

/** The inputs for sending a response. */
export type Delivery = {
  response: ServerResponse;
  honest: Honest;
  /** The same response about another payout. */
  someoneElses: Honest;
  /** The time limit for an attempt that the client was told, in ms. */
  timeoutMs: number;
  /** Replaces the placeholders of a scenario's texts. */
  fill: (text: string) => string;
};

/** The most that a client can have received; without a status if the response ended before it. */
export type Sent = { status?: number; headers?: Record<string, string>; body?: string; failure?: string };

const json = { "content-type": "application/json; charset=utf-8" };
const mostBytes = 32 * 1024 * 1024;
const chunk = Buffer.alloc(64 * 1024, " ");

/** Writes bytes past the HTTP server, and closes the connection when they are sent. */
function writeRaw(socket: Socket, text: string) {
  socket.write(text, () => socket.destroy());
}

const half = (text: string) => text.slice(0, Math.floor(text.length / 2));

const headText = ({ status, headers }: Honest, more: Record<string, string>) =>
  [
    `HTTP/1.1 ${status} OK`,
    ...Object.entries({ ...headers, ...more }).map(([name, value]) => `${name}: ${value}`),
  ].join("\r\n");

/** Calls `step` at intervals, until it returns false or the connection ends. */
function repeat(response: ServerResponse, everyMs: number, step: () => boolean) {
  const timer = setInterval(() => {
    if (response.destroyed || !step()) clearInterval(timer);
  }, everyMs);
  response.on("close", () => clearInterval(timer));
}

type Named = Exclude<Answer, Forged>;

const senders: Record<Named, (delivery: Delivery) => Sent> = {
  honest: ({ response, honest }) => complete(response, honest),
  "someone-elses": ({ response, someoneElses }) => complete(response, someoneElses),
  drop({ response }) {
    response.destroy();
    return { failure: "the connection was closed without a response" };
  },
  reset({ response }) {
    response.socket!.resetAndDestroy();
    return { failure: "the connection was reset without a response" };
  },
  "cut-status"({ response }) {
    writeRaw(response.socket!, "HTTP/1.1 20");
    return { failure: "the connection was closed within the status line" };
  },
  "cut-headers"({ response, honest }) {
    writeRaw(response.socket!, `${headText(honest, {})}\r\ncontent-le`);
    return { failure: "the connection was closed within the headers" };
  },
  "cut-body"({ response, honest }) {
    const length = { "content-length": String(Buffer.byteLength(honest.body)) };
    writeRaw(response.socket!, `${headText(honest, length)}\r\n\r\n${half(honest.body)}`);
    return { failure: "the connection was closed within the body" };
  },
  "short-body"({ response, honest }) {
    writeRaw(response.socket!, `${headText(honest, { connection: "close" })}\r\n\r\n${half(honest.body)}`);
    return { status: honest.status, headers: honest.headers, body: half(honest.body) };
  },
  silence: () => ({ failure: "no response was sent" }),
  drip({ response, honest, timeoutMs }) {
    const bytes = Buffer.from(honest.body);
    response.writeHead(honest.status, { ...honest.headers, "content-length": bytes.length });
    let sent = 0;
    repeat(response, Math.ceil(timeoutMs / 8), () => {
      // The last byte is never sent.
      if (sent < bytes.length - 1) response.write(bytes.subarray(sent, (sent += 1)));
      return true;
    });
    return { failure: "the body was sent byte by byte, and never ended" };
  },
  endless({ response, honest }) {
    response.writeHead(honest.status, honest.headers);
    response.write(honest.body.slice(0, -1));
    let sent = 0;
    repeat(response, 10, () => {
      response.write(chunk);
      sent += chunk.length;
      if (sent < mostBytes) return true;
      response.destroy();
      return false;
    });
    return { failure: "the body never ended" };
  },
  garbage({ response }) {
    writeRaw(response.socket!, "\u0016\u0003\u0001 this is no HTTP\r\n\r\n");
    return { failure: "what was sent is no HTTP" };
  },
};

function complete(response: ServerResponse, { status, headers, body }: Honest): Sent {
  response.writeHead(status, headers).end(body);
  return { status, headers, body };
}

function forge(forged: Forged, { response, honest, fill }: Delivery): Sent {
  const { status, headers = {}, body = "", honestBody } = forged;
  const isText = typeof body === "string";
  const text = honestBody ? honest.body : fill(isText ? body : JSON.stringify(body));
  const filled = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value)]));
  return complete(response, { status, headers: { ...(isText || honestBody ? {} : json), ...filled }, body: text });
}

/** Sends a response. Returns what the client can have received of it. */
export const send = (answer: Answer, delivery: Delivery): Sent =>
  typeof answer === "string" ? senders[answer](delivery) : forge(answer, delivery);
