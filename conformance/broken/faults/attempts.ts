// Servers with faults in the log of delivery attempts, and in the reading of dates and paths.
import { type Fault, fault, quickFault } from "../fault.ts";
import { data, refusal, withHeader, without } from "../ways.ts";

type Items = { items: { attempts: Record<string, unknown>[] }[] };

/** Changes the listed attempts of all deliveries. */
const attempts = (change: (attempt: Record<string, unknown>) => Record<string, unknown>) =>
  data("listDeliveries", (page) => ({
    ...page,
    items: (page as Items).items.map((item) => ({ ...item, attempts: item.attempts.map(change) })),
  }));

const isInvalid = (path: string) => {
  try {
    return decodeURIComponent(path) === "";
  } catch {
    return true;
  }
};

export const faults: readonly Fault[] = [
  quickFault(
    "attempts-without-body",
    "The log of attempts leaves out what the receiver responded.",
    "sandbox.attempts",
    () => attempts((attempt) => without(attempt, "responseBody")),
  ),
  fault("attempts-without-reason", "The log of attempts does not say why an attempt failed.", "sandbox.attempts", () =>
    attempts((attempt) => without(attempt, "error")),
  ),
  fault(
    "attempts-without-reason-unless-answered",
    "The log of attempts gives no reason if the receiver did not respond.",
    "sandbox.attempts",
    () => attempts((attempt) => (attempt["httpStatus"] === undefined ? without(attempt, "error") : attempt)),
  ),
  fault(
    "attempts-succeed-with-reason",
    "The log of attempts gives a reason for successful attempts, too.",
    "sandbox.attempts",
    () => attempts((attempt) => ({ error: `The receiver returned ${String(attempt["httpStatus"])}.`, ...attempt })),
  ),
  fault(
    "deliveries-without-next-attempt",
    "A pending delivery does not show when it is attempted again.",
    "sandbox.attempts",
    () =>
      data("listDeliveries", (page) => ({
        ...page,
        items: (page as Items).items.map((item) => without(item, "nextAttemptAt")),
      })),
  ),
  fault("attempts-status-200", "The log shows status 200 for every attempt.", "sandbox.attempts", () =>
    attempts((attempt) => ({ ...attempt, httpStatus: 200 })),
  ),
  fault("retry-after-date-ignored", "A date in Retry-After is ignored.", "retries.retry-after-date", () => ({
    webhook: async (message, deliver) => {
      const reply = await deliver(message);
      return /^\d+$/.test(reply.headers["retry-after"] ?? "") ? reply : withHeader(reply, "retry-after");
    },
  })),
  fault("encoding-500", "Invalid percent-encoding in a path causes a 500.", "errors.no-5xx", () => ({
    handle: async (call, ask) => (isInvalid(call.path) ? refusal(500) : ask(call)),
  })),
];
