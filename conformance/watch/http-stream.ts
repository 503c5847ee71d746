// Reads exchanges from the bytes of a connection. bare-http-parser takes bytes as they come, is strict where HTTP/1.1
// leaves room to smuggle, and has no dependencies; Node's own parser is not open to programs.
import HTTPParser from "bare-http-parser";
import { decodedText, type Body, type Exchange, type Headers } from "./traffic.ts";

const { REQUEST, RESPONSE, DATA, END } = HTTPParser.constants;

const largestHeader = 64 * 1024;
/** No body of the contract comes near this size, in bytes. */
const largestBody = 1024 * 1024;

/** A request or response of which some bytes have come. */
type Message = { headers: Headers; chunks: Buffer[]; size: number };
type Pending = {
  sentAt: number;
  method: string;
  path: string;
  request: Message;
  isSent: boolean;
  response?: Message & { status: number };
  endedAt?: number;
  continued?: true;
};

const messageOf = (headers: HTTPParser.Headers): Message => ({
  headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(", ")])),
  chunks: [],
  size: 0,
});

function add(message: Message, chunk: Buffer): void {
  message.size += chunk.length;
  if (message.size > largestBody) message.chunks = [];
  // A copy, so that a waiting body does not hold what came with it.
  else message.chunks.push(Buffer.from(chunk));
}

function bodyOf({ headers, chunks, size }: Message, isComplete: boolean): Body {
  if (!isComplete || size > largestBody) return { absent: "cut" };
  return decodedText(Buffer.concat(chunks), headers["content-encoding"]);
}

function exchangeOf(pending: Pending, closedAt: number): Exchange {
  const { sentAt, method, path, request, isSent, response, endedAt, continued } = pending;
  return {
    kind: "exchange",
    sentAt,
    endedAt: endedAt ?? closedAt,
    method,
    path,
    headers: request.headers,
    body: bodyOf(request, isSent),
    ...(response && {
      response: {
        status: response.status,
        headers: response.headers,
        body: bodyOf(response, endedAt !== undefined),
        ...(continued && { continued }),
      },
    }),
  };
}

const staysCut = () => undefined;

/** A request line at the start of a chunk. */
const requestLine = /^[A-Z-]+ \S+ HTTP\/1\.[01]\r\n/;

/** One connection between a caller and the service. All times are in milliseconds since 1970. */
export type HttpStream = {
  sent(chunk: Buffer, at: number): void;
  received(chunk: Buffer, at: number): void;
  /** The service will send no more. A response without a length ends here. */
  ended(at: number): void;
  /** The connection is over. What is not complete is told as it is. */
  closed(at: number): void;
  /** Bytes are missing from here on. Reading goes on with the next request after a response. */
  lose(reason: string): void;
  /** True if every request has its response. */
  readonly isIdle: boolean;
};

/**
 * Reads both directions of a connection.
 * @param see is told each exchange once request and response have ended
 * @param missed is told why a part of the connection cannot be read
 */
export function createHttpStream(see: (exchange: Exchange) => void, missed: (reason: string) => void): HttpStream {
  let requests: HTTPParser | undefined;
  let responses: HTTPParser;
  let pending: Pending[] = [];
  /** When the request began of which bytes have come. */
  let beganAt: number | undefined;
  let isInResponse = false;
  let isSwitched = false;
  /** True if the last bytes since something was lost came from the service. */
  let wasAnswered = false;

  function start(): void {
    requests = new HTTPParser({ maxHeaderSize: largestHeader });
    responses = new HTTPParser({ maxHeaderSize: largestHeader });
    pending = [];
    beganAt = undefined;
    isInResponse = false;
  }

  function lose(reason: string): void {
    missed(reason);
    requests = undefined;
    pending = [];
    wasAnswered = false;
  }

  /** The bytes that follow belong to another protocol. */
  function switched(): void {
    isSwitched = true;
    lose("connections that switched to another protocol");
  }

  function finish(): void {
    const [first] = pending;
    if (!first?.isSent || first.endedAt === undefined) return;
    pending.shift();
    see(exchangeOf(first, first.endedAt));
  }

  const unreadable = () => lose("parts of connections that cannot be read as HTTP/1.1");

  /** Handles events until something is lost. Errors of who sees the exchanges are not those of the connection. */
  function read(
    events: Generator<HTTPParser.Event, void>,
    handle: (event: HTTPParser.Event) => void,
    onFault: () => void = unreadable,
  ): void {
    try {
      for (const event of events) {
        handle(event);
        if (!requests) return;
      }
    } catch (error) {
      if ((error as Error).name !== "HTTPParserError") throw error;
      onFault();
    }
  }

  /** Tells the parser whether the next response has a body. */
  function beforeResponse(): void {
    if (pending[0]?.method === "HEAD") responses.skipBody();
  }

  function inRequest(event: HTTPParser.Event, at: number): void {
    if (event.type === REQUEST) {
      const { method, url: path, headers } = event;
      if (method === "CONNECT") return switched();
      pending.push({ sentAt: beganAt ?? at, method, path, request: messageOf(headers), isSent: false });
    } else if (event.type === DATA) add(pending.at(-1)!.request, event.data);
    else if (event.type === END) {
      pending.at(-1)!.isSent = true;
      beganAt = undefined;
      finish();
    }
  }

  function inResponse(event: HTTPParser.Event, at: number): void {
    const [first] = pending;
    if (!first) return lose("responses to requests that were not seen");
    if (event.type === RESPONSE) {
      isInResponse = true;
      const { code: status, headers } = event;
      if (status === 100 && first.request.headers["expect"] === undefined) first.continued = true;
      if (status >= 200 || status === 101) first.response = { ...messageOf(headers), status };
    } else if (event.type === DATA) add(first.response!, event.data);
    else if (event.type === END) {
      isInResponse = false;
      // Interim responses come before the one that counts.
      if (first.response) {
        first.endedAt = at;
        finish();
        if (first.response.status === 101) return switched();
      }
      beforeResponse();
    }
  }

  start();
  return {
    sent(chunk, at) {
      // A caller that waits for each response begins a request after it.
      if (!requests && wasAnswered && !isSwitched && requestLine.test(chunk.toString("latin1", 0, 4096))) start();
      wasAnswered = false;
      if (!requests) return;
      beganAt ??= at;
      read(requests.push(chunk), (event) => inRequest(event, at));
    },
    received(chunk, at) {
      wasAnswered = true;
      if (!requests) return;
      if (!isInResponse) beforeResponse();
      read(responses.push(chunk), (event) => inResponse(event, at));
    },
    ended(at) {
      if (requests && isInResponse) read(responses.end(), (event) => inResponse(event, at), staysCut);
    },
    closed(at) {
      for (const left of pending) see(exchangeOf(left, at));
      pending = [];
      requests = undefined;
    },
    lose,
    get isIdle() {
      return requests !== undefined && pending.length === 0 && beganAt === undefined;
    },
  };
}
