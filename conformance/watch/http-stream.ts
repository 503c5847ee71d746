// Reads exchanges from the bytes of a connection. bare-http-parser takes bytes as they come, is strict where HTTP/1.1
// leaves room to smuggle, and has no dependencies; Node's own parser is not open to programs.
import HTTPParser from "bare-http-parser";
import { decodedText, type Absent, type Body, type Exchange, type Headers } from "./traffic.ts";

const { REQUEST, RESPONSE, DATA } = HTTPParser.constants;

const createParser = () => new HTTPParser({ maxHeaderSize: 64 * 1024 });

const headersOf = (event: { headers: HTTPParser.Headers }): Headers =>
  Object.fromEntries(Object.entries(event.headers).map(([name, value]) => [name, [value].flat().join(", ")]));

/** No body of the contract comes near this size, in bytes. */
const largestBody = 1024 * 1024;

const cut: Absent = { absent: "cut" };

/** @param bytes in Latin 1: a text grows more cheaply than a buffer, and holds nothing else that came with it */
const bodyOf = (bytes: string, headers: Headers): Body =>
  bytes.length > largestBody ? cut : decodedText(Buffer.from(bytes, "latin1"), headers["content-encoding"]);

/** What is told of one connection between a caller and the service. */
export type Told = {
  sent(chunk: Buffer): void;
  received(chunk: Buffer): void;
  /** The service will send no more. A response without a length ends here. */
  ended(): void;
  /** The connection is over. An exchange that is not complete is told as it is. */
  closed(): void;
};

/**
 * Reads both directions of a connection whose caller waits for each response before the next request, as nearly all do.
 * After a gap, the requests of another caller would be paired with the wrong responses.
 * @param see is told each exchange once request and response have ended
 * @param missed is told why the rest of the connection, or a part, is not read
 * @param now returns milliseconds since 1970
 */
export function createHttpStream(see: (exchange: Exchange) => void, missed: (reason: string) => void, now = Date.now) {
  let requests = createParser();
  let responses = createParser();
  let state: "reading" | "in a gap" | "over" = "reading";
  /** When the request began of which bytes have come. */
  let beganAt: number | undefined;
  /** The exchange that is open. */
  let exchange: Exchange | undefined;
  let sent = "";
  let received = "";
  let isSent = false;
  let isAnswered = false;
  let continued = false;
  let hasRead = false;
  /** True if the last bytes came from the service. */
  let isServicesTurn = false;

  function stop(next: "in a gap" | "over", reason: string): void {
    missed(reason);
    state = next;
    exchange = undefined;
    isServicesTurn = false;
  }

  function finish(): void {
    if (exchange) see(exchange);
    exchange = undefined;
    hasRead = true;
  }

  function inRequest(event: HTTPParser.Event): void {
    if (event.type === REQUEST) {
      if (exchange) return stop("over", "connections whose caller does not wait for responses");
      const { method, url: path } = event;
      if (method === "HEAD") responses.skipBody();
      exchange = { kind: "exchange", sentAt: beganAt!, endedAt: 0, method, path, headers: headersOf(event), body: cut };
      sent = received = "";
      isSent = isAnswered = continued = false;
    } else if (event.type === DATA) sent += sent.length > largestBody ? "" : event.data.toString("latin1");
    else {
      exchange!.body = bodyOf(sent, exchange!.headers);
      isSent = true;
      beganAt = undefined;
      if (isAnswered) finish();
    }
  }

  function endResponse(): void {
    if (!exchange?.response) return;
    exchange.response.body = bodyOf(received, exchange.response.headers);
    exchange.endedAt = now();
    isAnswered = true;
    if (isSent) finish();
  }

  function inResponse(event: HTTPParser.Event): void {
    if (!exchange || isAnswered) return stop("over", "responses to requests that were not seen");
    if (event.type === RESPONSE) {
      const { code: status } = event;
      if (status === 101) return stop("over", "connections that switched to another protocol");
      if (status < 200 && exchange.method === "HEAD") responses.skipBody();
      continued ||= status === 100 && exchange.headers["expect"] === undefined;
      if (status >= 200)
        exchange.response = { status, headers: headersOf(event), body: cut, ...(continued && { continued }) };
    } else if (event.type === DATA) received += received.length > largestBody ? "" : event.data.toString("latin1");
    else endResponse();
  }

  /** Handles events until reading stops. Errors of who sees the exchanges are not those of the connection. */
  function read(events: Generator<HTTPParser.Event, void>, handle: (event: HTTPParser.Event) => void): void {
    try {
      for (const event of events) {
        handle(event);
        if (state !== "reading") return;
      }
    } catch (error) {
      if ((error as Error).name !== "HTTPParserError") throw error;
      stop("over", "parts of connections that cannot be read as HTTP/1.1");
    }
  }

  return {
    sent(chunk: Buffer) {
      if (state === "in a gap" && isServicesTurn) {
        requests = createParser();
        responses = createParser();
        beganAt = undefined;
        state = "reading";
      }
      isServicesTurn = false;
      if (state !== "reading") return;
      beganAt ??= now();
      read(requests.push(chunk), inRequest);
    },
    received(chunk: Buffer) {
      isServicesTurn = true;
      if (state === "reading") read(responses.push(chunk), inResponse);
    },
    ended() {
      const { headers } = exchange?.response ?? {};
      if (headers && !headers["content-length"] && !headers["transfer-encoding"]) endResponse();
    },
    closed() {
      if (exchange && !isAnswered) exchange.endedAt = now();
      finish();
    },
    /** Bytes are missing here. Reading goes on with the request after a response, if the caller is known to wait for it. */
    lose(reason: string) {
      if (state !== "over") stop(hasRead ? "in a gap" : "over", reason);
    },
    /** Returns true if every request has its response. */
    isIdle: () => state === "reading" && !exchange && beganAt === undefined,
  };
}
