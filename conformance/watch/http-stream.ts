// Reads exchanges from the bytes of a connection. bare-http-parser takes bytes as they come, is strict where HTTP/1.1
// leaves room to smuggle, and has no dependencies; Node's own parser is not open to programs.
import HTTPParser from "bare-http-parser";
import type { Missed, Recorded } from "./recorded.ts";

const { REQUEST, RESPONSE, DATA } = HTTPParser.constants;

const limits = { maxHeaderSize: 64 * 1024 };
/** No body of the contract comes near this size, in bytes. */
const largestBody = 256 * 1024;

/** An exchange whose request or response has not ended. Bodies are in Latin 1, which keeps no other bytes alive. */
type Open = { exchange: Recorded; sent: string; received: string; isSent: boolean; isAnswered: boolean };

const cut = { absent: "cut" };
const bodyOf = (bytes: string) => (bytes.length > largestBody ? cut : { base64: btoa(bytes), isWhole: true });
const withMore = (bytes: string, more: Buffer) =>
  bytes.length > largestBody ? bytes : bytes + more.toString("latin1", 0, largestBody + 1);

/**
 * Reads both directions of a connection whose caller waits for each response before the next request, as nearly all do.
 * @param kind what a request and its response are
 * @param tell is told each exchange once request and response have ended, and why the rest of the connection is not read
 */
export function createHttpStream(kind: "exchange" | "webhook", tell: (line: Recorded | Missed) => void) {
  const requests = new HTTPParser(limits);
  const responses = new HTTPParser(limits);
  let isReadable = true;
  /** When the request began of which bytes have come. */
  let beganAt: number | undefined;
  let open: Open | undefined;
  /** True if a 100 Continue came for which the request did not ask. */
  let continued = false;

  function stop(reason: string): void {
    tell({ kind: "missed", reason });
    isReadable = false;
    open = undefined;
  }

  function finish(): void {
    if (open) tell(open.exchange);
    open = undefined;
  }

  function inRequest(event: HTTPParser.Event): void {
    if (event.type === REQUEST) {
      if (open) return stop("connections whose caller does not wait for responses");
      const { method, url: path, headers } = event;
      if (method === "HEAD") responses.skipBody();
      continued = false;
      const exchange = { kind, sentAt: beganAt!, method, path, headers, body: cut };
      open = { exchange, sent: "", received: "", isSent: false, isAnswered: false };
    } else if (event.type === DATA) open!.sent = withMore(open!.sent, event.data);
    else {
      beganAt = undefined;
      open!.exchange.body = bodyOf(open!.sent);
      open!.isSent = true;
      if (open!.isAnswered) finish();
    }
  }

  function endResponse(): void {
    if (!open?.exchange.response) return;
    open.exchange.response.body = bodyOf(open.received);
    open.exchange.endedAt = Date.now();
    open.isAnswered = true;
    if (open.isSent) finish();
  }

  function inResponse(event: HTTPParser.Event): void {
    if (!open || open.isAnswered) return stop("responses to requests that were not seen");
    const { exchange } = open;
    if (event.type === RESPONSE) {
      const { code: status, headers } = event;
      if (status === 101) return stop("connections that switched to another protocol");
      if (status < 200 && exchange.method === "HEAD") responses.skipBody();
      continued ||= status === 100 && !("expect" in exchange.headers!);
      if (status >= 200) exchange.response = { status, headers, body: cut, continued };
    } else if (event.type === DATA) open.received = withMore(open.received, event.data);
    else endResponse();
  }

  /** Handles events until reading stops. No fault of the reader may end the forward. */
  function read(events: Generator<HTTPParser.Event, void>, handle: (event: HTTPParser.Event) => void): void {
    try {
      for (const event of events) {
        handle(event);
        if (!isReadable) return;
      }
    } catch {
      stop("parts of connections that cannot be read as HTTP/1.1");
    }
  }

  return {
    sent(chunk: Buffer) {
      if (!isReadable) return;
      beganAt ??= Date.now();
      read(requests.push(chunk), inRequest);
    },
    received(chunk: Buffer) {
      if (isReadable) read(responses.push(chunk), inResponse);
    },
    /** The service will send no more. A response without a length ends here. */
    ended() {
      const { headers } = open?.exchange.response ?? {};
      if (headers && !("content-length" in headers) && !("transfer-encoding" in headers)) endResponse();
    },
    /** The connection is over. An exchange that is not complete is told as it is. */
    closed() {
      if (open && !open.isAnswered) open.exchange.endedAt = Date.now();
      finish();
    },
    /** Returns true if every request has its response. */
    isIdle: () => isReadable && !open && beganAt === undefined,
  };
}
