import type { ClockReport } from "./clock.ts";
import type { DeliveryStatus } from "./deliveries.ts";
import type { RailExchange, Recorded } from "./handovers.ts";

/**
 * The events by which the server reports its own work. Except for `exchange`, they contain no key, secret, phone
 * number, amount or merchant's text.
 */
export interface TelemetryEvents {
  /** A request has ended: its response was sent, or its connection was lost. */
  request: RequestEnded;
  /** A request of a merchant has ended, with its bodies. A subscriber may keep them only after redaction. */
  exchange: Exchange;
  /** Requests were stored in their log, or dropped because there were too many or the storage did not work. */
  requestLog: { stored: number; dropped: number };
  /** A transaction was committed. */
  commit: { items: number; durationMs: number };
  /** A record got its final status, with the delay since it was due. */
  settled: RecordSettled;
  /** An attempt to deliver a webhook has ended and was recorded. */
  attempt: AttemptEnded;
  /** A call to a rail has ended. */
  railCall: { rail: string; action: RailExchange["action"]; result: RailExchange["result"]; durationMs: number };
  /** The effect of an attempt or a notification of a rail, and how old the payment is. */
  railResult: { rail: string; result: Recorded; ageMs: number };
  /** The storage stopped or started working. `message` is for the operator; `error` is the cause. */
  storage: { working: boolean; message: string; error?: unknown };
  /** The process's clock began or ceased to differ from the server's time, or the clock that the server follows jumped. */
  clock: ClockReport;
}

export interface RecordSettled {
  merchantId: string;
  delayMs: number;
}

export interface RequestEnded {
  /** Returned to the caller as `x-request-id`. */
  requestId: string;
  method: string;
  /** The pattern of the path, such as `/v1/disbursements/:reference`; `unknown` if no path matched. */
  route: string;
  /** Its `operationId`; absent if the request is no operation of the contract. */
  operation?: string;
  /** Absent if the connection ended before a response was sent. */
  status?: number;
  durationMs: number;
  /** Absent if the request had no valid key. */
  merchantId?: string;
  /** The client's network. */
  client?: string;
}

/** An operation of the contract, called with a valid key. An exchange contains the key, secrets and phone numbers. */
export interface Exchange extends Omit<RequestEnded, "client"> {
  merchantId: string;
  operation: string;
  parameters: Readonly<Record<string, string>>;
  /** The body, or the parameters of the query if there is none. */
  sent: unknown;
  returned: unknown;
  location: string | undefined;
  key: string | undefined;
  keyId: string | undefined;
  /** The `User-Agent`, as it was sent. */
  program: string | undefined;
}

export interface AttemptEnded {
  eventId: string;
  merchantId: string;
  /** The status of the delivery after the attempt. While it is `pending`, the attempt failed and will be repeated. */
  status: DeliveryStatus;
  durationMs: number;
  /** How long after it fell due the attempt began; absent for a replay. */
  delayMs?: number;
  /** False if the result was dropped, because the delivery was reset or claimed again meanwhile. */
  counted: boolean;
}

type Name = keyof TelemetryEvents;
type Subscriber<N extends Name> = (event: TelemetryEvents[N]) => void;

/** Reports an event. Never throws, and returns when all subscribers have been called. */
export type Emit = <N extends Name>(name: N, event: TelemetryEvents[N]) => void;

/** Reports to nobody. */
export const silent: Emit = () => undefined;

export type Telemetry = ReturnType<typeof createTelemetry>;

/**
 * The server's event stream: log and metrics subscribe to what the other parts report.
 * @param failed called with the first error that a subscriber throws; a subscriber's errors affect nothing else
 */
export function createTelemetry(failed: (error: unknown) => void) {
  const subscribers = new Map<Name, Set<Subscriber<never>>>();
  const failing = new WeakSet<Subscriber<never>>();
  const emit: Emit = (name, event) => {
    for (const subscriber of (subscribers.get(name) ?? []) as Iterable<Subscriber<typeof name>>) {
      try {
        subscriber(event);
      } catch (error) {
        if (!failing.has(subscriber)) failed(error);
        failing.add(subscriber);
      }
    }
  };
  return {
    emit,
    /** Calls `subscriber` with each event, during the reported work: it must be quick. Returns a function that ends this. */
    on<N extends Name>(name: N, subscriber: Subscriber<N>): () => void {
      const all = subscribers.get(name) ?? new Set();
      subscribers.set(name, all.add(subscriber));
      return () => void all.delete(subscriber);
    },
  };
}
