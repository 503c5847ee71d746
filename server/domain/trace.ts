/**
 * A place in a distributed trace (W3C Trace Context, https://www.w3.org/TR/trace-context/). It shows which work caused
 * which other work, and contains nothing about a merchant or a payment.
 */
export interface Trace {
  /** 32 hexadecimal digits, shared by all work of the trace. */
  traceId: string;
  /** 16 hexadecimal digits that identify this piece of work. */
  spanId: string;
  /** The piece of work that caused this one. */
  parentId?: string;
  /** Two hexadecimal digits, such as 01 if the trace is recorded. */
  flags: string;
}

/** Versions after 00 may append fields, which are ignored. */
const TRACEPARENT =
  /^(?:00|(?!ff|00)[0-9a-f]{2}(?=.{53}(?:$|-)))-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})/;
const LENGTH = 55;
/** The flags that this version defines: the trace is recorded; its id is random. */
const KNOWN_FLAGS = 0b11;

/** Reads a `traceparent` header. Returns undefined if it is absent or malformed: a caller's mistake must not fail a request. */
export function readTraceparent(header: string | undefined): Trace | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(header ?? "") ?? [];
  if (traceId === undefined || (header!.startsWith("00") && header!.length !== LENGTH)) return undefined;
  const known = (Number.parseInt(flags!, 16) & KNOWN_FLAGS).toString(16).padStart(2, "0");
  return { traceId, spanId: spanId!, flags: known };
}

/** Returns the place of work that the given work causes. */
export function childOf({ traceId, spanId: parentId, flags }: Trace, spanId: string): Trace {
  return { traceId, spanId, parentId, flags };
}

export const traceparentOf = ({ traceId, spanId, flags }: Trace): string => `00-${traceId}-${spanId}-${flags}`;
