// What happens to a request: whether the service processes it, and what the client receives: the response as sent,
// damaged by a bad network, or replaced by a gateway.
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { pick, type Random } from "../../generate/random.ts";
import type { Reply } from "../../model/messages.ts";
import type { Outcome } from "../exchange.ts";

/**
 * What the client receives. `honest` is what a sound service sends. The texts of a forged response and of a `location`
 * may contain placeholders. `{origin}` is the service's address. `{foreign}` is another server's address, and
 * `{foreign-host}` the same address without the scheme. `{reference}` is the service's reference of the payout,
 * `{first}` that of the scenario's first payout, and `{entry.amount}` a field of the request. `{date+2}` is the service's
 * time in two seconds.
 */
export type Answer = keyof typeof senders | Forged;

export type Forged = {
  status: number;
  headers?: Readonly<Record<string, string>>;
  /** Outcome as it is if it is a text, otherwise as JSON. */
  body?: unknown;
  /** Instead of `body`: the body of the honest response. */
  honestBody?: true;
};

/** What happens to a request that creates a payout: whether the service processes it, and what the client receives. */
export type Step = {
  /**
   * `late`: the service processes it only when the program has ended, unless another request recorded the entry first.
   */
  process: "now" | "never" | "late" | "twice";
  answer: Answer;
};

/** The page of a gateway that stands before the service. */
export const gateway = (status: number): Forged => ({
  status,
  headers: { "content-type": "text/html" },
  body: "<html><body>Something went wrong</body></html>",
});

/** An error as the service sends it. */
export const serviceError = (status: number, code: string, headers: Record<string, string> = {}): Forged => ({
  status,
  headers,
  body: { statusCode: status, error: "Error", message: "Try again later.", code },
});

/** JSON that is not written as `JSON.stringify` writes it, or a text that is called JSON. */
export const asJson = (body: string): Forged => ({
  status: 200,
  headers: { "content-type": "application/json" },
  body,
});

export const never = (answer: Answer): Step => ({ process: "never", answer });
export const recorded = (answer: Answer): Step => ({ process: "now", answer });
/** The payout is recorded, and the connection is closed. */
export const lost = recorded("drop");

/** The inputs for sending a response. */
export type Delivery = {
  response: ServerResponse;
  honest: Reply;
  /** The same response about another payout. */
  someoneElses: Reply;
  /** The time limit for an attempt that the client was told, in ms. */
  timeoutMs: number;
  /** Replaces the placeholders of a scenario's texts. */
  fill: (text: string) => string;
};

const mostBytes = 32 * 1024 * 1024;
const chunk = Buffer.alloc(64 * 1024, " ");

/** Writes a text directly to the socket, because the HTTP server would correct it, and closes the connection. */
const raw =
  (textOf: (honest: Reply) => string, failure: string) =>
  ({ response, honest }: Delivery): Outcome => {
    const socket: Socket = response.socket!;
    socket.write(textOf(honest), () => socket.destroy());
    return { failure };
  };

const half = (text: string) => text.slice(0, Math.floor(text.length / 2));

const headText = ({ status, headers }: Reply, more: Record<string, string> = {}) =>
  [
    `HTTP/1.1 ${status} OK`,
    ...Object.entries({ ...headers, ...more }).map(([name, value]) => `${name}: ${String(value)}`),
  ].join("\r\n");

/** Calls `step` at intervals until the connection ends. */
function repeat(response: ServerResponse, everyMs: number, step: () => void) {
  const timer = setInterval(step, everyMs);
  response.on("close", () => clearInterval(timer));
}

function complete(response: ServerResponse, { status, headers, text }: Reply): Outcome {
  response.writeHead(status, headers).end(text);
  return { status, headers, body: text };
}

const senders = {
  honest: ({ response, honest }: Delivery) => complete(response, honest),
  /** The honest response of another payout with the same fields, except the references. */
  "someone-elses": ({ response, someoneElses }: Delivery) => complete(response, someoneElses),
  drop({ response }: Delivery) {
    response.destroy();
    return { failure: "the connection was closed without a response" };
  },
  reset({ response }: Delivery) {
    response.socket!.resetAndDestroy();
    return { failure: "the connection was reset without a response" };
  },
  "cut-status": raw(() => "HTTP/1.1 20", "the connection was closed within the status line"),
  "cut-headers": raw((honest) => `${headText(honest)}\r\ncontent-le`, "the connection was closed within the headers"),
  "cut-body": raw((honest) => {
    const length = String(Buffer.byteLength(honest.text));
    return `${headText(honest, { "content-length": length })}\r\n\r\n${half(honest.text)}`;
  }, "the connection was closed within the body"),
  /** The body is cut, but the response looks complete, because only the end of the connection marks its end. */
  "short-body"(delivery: Delivery) {
    const { status, headers, text } = delivery.honest;
    raw((honest) => `${headText(honest, { connection: "close" })}\r\n\r\n${half(text)}`, "")(delivery);
    return { status, headers, body: half(text) };
  },
  /** Nothing is sent, and the connection stays open. */
  silence: () => ({ failure: "no response was sent" }),
  /** The honest body comes byte by byte, and never ends in time. */
  drip({ response, honest, timeoutMs }: Delivery) {
    const bytes = Buffer.from(honest.text);
    response.writeHead(honest.status, { ...honest.headers, "content-length": bytes.length });
    let sent = 0;
    repeat(response, Math.ceil(timeoutMs / 8), () => {
      // The last byte is never sent.
      if (sent < bytes.length - 1) response.write(bytes.subarray(sent, (sent += 1)));
    });
    return { failure: "the body was sent byte by byte, and never ended" };
  },
  endless({ response, honest }: Delivery) {
    response.writeHead(honest.status, honest.headers);
    response.write(honest.text.slice(0, -1));
    let sent = 0;
    repeat(response, 10, () => {
      response.write(chunk);
      sent += chunk.length;
      if (sent >= mostBytes) response.destroy();
    });
    return { failure: "the body never ended" };
  },
  garbage: raw(() => "\u0016\u0003\u0001 this is no HTTP\r\n\r\n", "what was sent is no HTTP"),
} satisfies Record<string, (delivery: Delivery) => Outcome>;

function forge({ status, headers = {}, body = "", honestBody }: Forged, { response, honest, fill }: Delivery): Outcome {
  const isText = typeof body === "string";
  const text = honestBody ? honest.text : fill(isText ? body : JSON.stringify(body));
  const type = isText || honestBody ? {} : { "content-type": "application/json; charset=utf-8" };
  const filled = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value)]));
  return complete(response, { status, headers: { ...type, ...filled }, text });
}

/** Sends a response. Returns the most that the client can have received of it: no status without a complete head. */
export const send = (answer: Answer, delivery: Delivery): Outcome =>
  typeof answer === "string" ? senders[answer](delivery) : forge(answer, delivery);

/** The faults of a bad network. */
const badAnswers: readonly [Answer, ...Answer[]] = [
  "drop",
  "cut-headers",
  "cut-body",
  "short-body",
  "garbage",
  "someone-elses",
  gateway(200),
  gateway(401),
  gateway(403),
  gateway(404),
  gateway(500),
  gateway(502),
  gateway(503),
  gateway(504),
  { status: 200, body: {} },
  { status: 204 },
];
const processing: readonly [Step["process"], ...Step["process"][]] = ["now", "never", "twice"];

/** The largest number of faults in a row for one kind of request about one payout. */
const mostFaults = 3;

/**
 * Draws the fault of a request; undefined if it has no fault.
 * @param percent how often a request has a fault
 * @param count how many requests there were before it
 */
export function drawFault(random: Random, percent: number, count: number, kind: "create" | "read"): Step | undefined {
  if (count >= mostFaults || random(1, 100) > percent) return undefined;
  return { process: kind === "create" ? pick(random, processing) : "never", answer: pick(random, badAnswers) };
}
