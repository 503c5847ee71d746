// Defines a scenario: data that says what the service and the network do, and how the client is started.
import type { PlannedEntry } from "./entries.ts";

/**
 * What the client receives. `honest` is what a sound service sends. In the texts of a forged response and of a
 * `location`, `{origin}` is the service's address, `{foreign}` that of another server (`{foreign-host}` without the scheme),
 * `{reference}` the service's reference of the payout, `{entry.amount}` a field of its request, and `{date+2}` the
 * service's time in two seconds.
 */
export type Answer =
  | "honest"
  /** The connection is closed without a byte. */
  | "drop"
  /** The connection is closed within the status line, the headers, or the body. */
  | "cut-status"
  | "cut-headers"
  | "cut-body"
  /** The body is cut, but the response looks complete, because only the end of the connection marks its end. */
  | "short-body"
  /** Nothing is sent, and the connection stays open. */
  | "silence"
  /** The honest body comes byte by byte, and never ends in time. */
  | "drip"
  /** The body never ends. */
  | "endless"
  /** The bytes are no HTTP. */
  | "garbage"
  /** The honest response of another payout. */
  | "someone-elses"
  | Forged;

export type Forged = {
  status: number;
  headers?: Readonly<Record<string, string>>;
  /** Sent as it is if it is a text, otherwise as JSON. */
  body?: unknown;
  /** Instead of `body`: the body of the honest response. */
  honestBody?: true;
};

/** What happens to a request that creates a payout: whether the service processes it, and what the client receives. */
export type Step = {
  /** `late`: only when the program has ended, unless another request recorded the entry first. */
  process: "now" | "never" | "late" | "twice";
  answer: Answer;
};

/** When the program is killed: at a moment of the create with this number, or at a random one. */
export type Kill = { on: "received" | "recorded" | "answered"; create: number } | { on: "random" };

export type Start = {
  kill?: Kill;
  /** The program does not find what earlier starts stored. */
  freshState?: true;
  /** The program has no place to store anything, so it cannot know what earlier starts sent. */
  withoutState?: true;
  /** What happens to every create of this start, instead of what the scenario says. */
  creates?: Step;
  /** The response to every read and list of this start. */
  reads?: Answer;
  /** The number of copies of the program that work at the same time, each with its own storage. The default is 1. */
  workers?: number;
};

export type Scenario = {
  id: string;
  /** What the service and the network do, or how the program is started. */
  name: string;
  /** The default is one entry for each fate except `refused`. */
  entries?: readonly PlannedEntry[];
  /** The input has every entry twice. */
  repeated?: true;
  /** What happens to the first creates of each entry. */
  creates?: readonly Step[];
  /** What happens to later creates. By default they are processed and get the honest response. */
  afterwards?: Step;
  /** The responses to the first reads of each payout. */
  reads?: readonly Answer[];
  /** The responses to the first requests for the list of payouts; `none`: the service has no lists. */
  lists?: readonly Answer[] | "none";
  /** The `Location` of a 409; null for no header. The default is as in the contract. */
  location?: string | null;
  /**
   * The share of requests, in percent, with a fault that the seed draws. An entry has at most three faults in a row.
   */
  weather?: number;
  /** What the service does to connections that are kept alive. */
  connections?: "close-after-response" | "break-when-reused";
  /** How far the service's clock is ahead, in seconds. */
  clockAhead?: number;
  /** Refuses every repeated create of a recorded entry with 422, because the balance is used up. */
  balanceForOne?: true;
  /** How the program is started, one start after the other. The default is once, to its end. */
  starts?: readonly Start[];
  /** The largest share of entries, in percent, that may be reported as unknown. The default is 0. */
  mayBeUnknown?: number;
  /** Set if a sound client may leave entries unpaid. */
  mayGiveUp?: true;
  /** Requirements that only some scenarios judge. */
  judges?: readonly ("client.no-redirect" | "client.key-stays" | "client.waits-as-told" | "client.backs-off")[];
};
