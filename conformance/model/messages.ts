// What the model receives and sends.
import type { IncomingHttpHeaders } from "node:http";
import type { components } from "../../generated/openapi.ts";

type Schemas = components["schemas"];

/** A request to the model. */
export type Call = {
  method: string;
  /** The request target, including the query. */
  path: string;
  headers: Record<string, string | string[]>;
  /** The headers as they were sent, name and value in turn. */
  rawHeaders?: readonly string[];
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
