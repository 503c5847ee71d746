// What a broken server is: one sentence, the requirements it breaks, and a small piece of code that breaks them.
import type { IncomingHttpHeaders } from "node:http";
import type { ClaimedDelivery, Storage } from "../../server/domain/storage.ts";

/** A request on its way to the sound server. */
export type Call = {
  method: string;
  /** As it stands in the request line, query included. */
  path: string;
  headers: Record<string, string | string[]>;
  body: Buffer;
};

/** An answer on its way back. */
export type Reply = { status: number; headers: IncomingHttpHeaders; text: string };

/** Asks the sound server; no answer when it closes the connection without one. */
export type Ask = (call: Call) => Promise<Reply | undefined>;

/** A webhook on its way out. */
export type Message = {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** What the server's storage knows about it, its secrets among that. */
  claimed: ClaimedDelivery;
};

/** Delivers a webhook; a failed connection is answered with 502. */
export type Deliver = (message: Message) => Promise<Reply>;

/** What a fault knows of the server it is put into. */
export type World = {
  key: string;
  secondKey: string;
  /** Where callers reach the server. */
  origin: () => string;
  sleep: (ms: number) => Promise<void>;
};

/** Where a fault takes hold; what is left out stays sound. */
export type Hooks = {
  /** In place of passing requests on. No answer closes the connection. */
  handle?: (call: Call, ask: Ask) => Promise<Reply | undefined>;
  /** In place of methods of the storage. */
  storage?: (inner: Storage) => Partial<Storage>;
  /** In place of delivering webhooks. */
  webhook?: (message: Message, deliver: Deliver) => Promise<Reply>;
  /** Added to the server's environment variables. */
  env?: Record<string, string>;
};

export type Fault = {
  id: string;
  /** What is wrong with this server, in one sentence. */
  wrong: string;
  /** The requirements whose checks have to say so. */
  breaks: readonly string[];
  how: How;
  /** Where every answer is judged: the requirement whose checks bring the faulty one about. All checks when left out. */
  through?: string;
};

/** A fault that remembers something is a function, called for each server that is started. */
export type How = Hooks | ((world: World) => Hooks);

/** One line for one broken server. @param breaks requirement ids, separated by spaces */
export const fault = (id: string, wrong: string, breaks: string, how: How, through?: string): Fault => ({
  id,
  wrong,
  breaks: breaks.split(" "),
  how,
  ...(through === undefined ? {} : { through }),
});
