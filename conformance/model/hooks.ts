// How a caller changes the model.
import type { IncomingHttpHeaders } from "node:http";
import type { components } from "../../generated/openapi.ts";
import type { Changeable } from "./merchant.ts";

type Schemas = components["schemas"];

/** A request to the model. */
export type Call = {
  method: string;
  /** The request target, including the query. */
  path: string;
  headers: Record<string, string | string[]>;
  body: Buffer;
  /** Set if the body was sent in chunks. */
  chunked?: boolean;
};

/** A response of the model. */
export type Reply = {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** Set to send a 100 Continue first. */
  continued?: true;
};

/** Lets the model respond. Resolves with undefined if the connection is to be closed without a response. */
export type Ask = (call: Call) => Promise<Reply | undefined>;

/** An outgoing webhook. */
export type Message = {
  url: string;
  headers: Record<string, string>;
  body: string;
  event: Schemas["SandboxEvent"];
  /** The merchant's secrets that sign now, the current one first. */
  secrets: readonly string[];
  /** When the attempt is made, on the merchant's clock, in ms. */
  at: number;
};

/** Sends a webhook to its receiver. Rejects if the receiver does not respond. */
export type Deliver = (message: Message) => Promise<Reply>;

/** What to change. What is omitted stays as it is. */
export type Hooks = {
  /** Handles each request in place of the model. If it resolves with undefined, the connection is closed. */
  handle?: (call: Call, ask: Ask) => Promise<Reply | undefined>;
  /** Delivers each webhook in place of the model. */
  webhook?: (message: Message, deliver: Deliver) => Promise<Reply>;
  /** Returns replacements for what a merchant's account does; `account` does it as the model. */
  merchant?: (account: Changeable) => Partial<Changeable>;
  settings?: {
    /** False for a live service: no /sandbox, and the phone number forces nothing. */
    sandbox?: boolean;
    /** How long a payment stays pending that its number does not force. */
    settleMs?: number;
    requestsPerSecond?: number;
  };
};
