// Defines what happens to a request: what the service does, and what the client receives.

/**
 * What the client receives. `honest` is what a sound service sends. The texts of a forged response and of a `location`
 * may contain placeholders. `{origin}` is the service's address. `{foreign}` is another server's address, and
 * `{foreign-host}` the same address without the scheme. `{reference}` is the service's reference of the payout, and
 * `{entry.amount}` a field of its request. `{date+2}` is the service's time in two seconds.
 */
export type Answer =
  | "honest"
  /** The connection is closed without a byte. */
  | "drop"
  /** The connection is reset without a byte. */
  | "reset"
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
  /** The honest response of another payout with the same fields, except the references. */
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
  /**
   * `late`: the service processes it only when the program has ended, unless another request recorded the entry first.
   */
  process: "now" | "never" | "late" | "twice";
  answer: Answer;
};
