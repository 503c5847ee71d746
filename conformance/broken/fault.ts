// A broken server: a one-sentence description, the requirements it violates, and the code that makes it violate them.
import type { IncomingHttpHeaders } from "node:http";
import type { ClaimedDelivery, Storage } from "../../server/domain/storage.ts";

/** A request to the sound server. */
export type Call = {
  method: string;
  /** The request target, including the query. */
  path: string;
  headers: Record<string, string | string[]>;
  body: Buffer;
};

/** A response from the sound server. */
export type Reply = { status: number; headers: IncomingHttpHeaders; text: string };

/** Forwards a request to the sound server. Resolves with undefined if it closes the connection without a response. */
export type Ask = (call: Call) => Promise<Reply | undefined>;

/** An outgoing webhook. */
export type Message = {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** The claimed delivery as stored, including the merchant's webhook secrets. */
  claimed: ClaimedDelivery;
};

/** Sends a webhook to its receiver. A failed connection resolves with status 502. */
export type Deliver = (message: Message) => Promise<Reply>;

/** What a fault can use of the server it is injected into. */
export type World = {
  key: string;
  secondKey: string;
  /** The base URL for clients. */
  origin: () => string;
  sleep: (ms: number) => Promise<void>;
};

/** The points at which a fault can intervene. Anything omitted behaves as in the sound server. */
export type Hooks = {
  /** Replaces the forwarding of requests. Resolving with undefined closes the connection. */
  handle?: (call: Call, ask: Ask) => Promise<Reply | undefined>;
  /** Overrides storage methods. */
  storage?: (inner: Storage) => Partial<Storage>;
  /** Replaces the delivery of webhooks. */
  webhook?: (message: Message, deliver: Deliver) => Promise<Reply>;
  /** Additional environment variables for the server. */
  env?: Record<string, string>;
};

export type Fault = {
  id: string;
  /** One sentence that describes the defect. */
  defect: string;
  /** The requirements whose checks must report it. */
  violates: readonly string[];
  how: How;
  /** For requirements judged on every response: the one whose checks provoke the faulty response. Default: all checks. */
  through?: string;
};

/** A fault with state is a function, called once for each server. */
export type How = Hooks | ((world: World) => Hooks);

/** Declares a broken server. @param violates requirement ids, separated by spaces */
export const fault = (id: string, defect: string, violates: string, how: How, through?: string): Fault => ({
  id,
  defect,
  violates: violates.split(" "),
  how,
  ...(through === undefined ? {} : { through }),
});
