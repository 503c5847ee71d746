import type { Clock } from "../domain/clock.ts";
import { masked, redacted } from "../domain/redaction.ts";
import { FIRST_FAILED_STATUS, type LoggedRequest } from "../domain/request-log.ts";
import type { Storage } from "../domain/storage.ts";
import type { Exchange, Telemetry } from "../domain/telemetry.ts";
import type { Logger } from "pino";
import { startLoop } from "./loop.ts";

/** How often the requests that have ended are stored, in milliseconds. */
const STORE_EVERY_MS = 500;
/**
 * How many successful requests, and how many failed requests, are stored at most each time. More requests would delay
 * payments, and nobody reads all requests of a merchant that sends so many.
 */
const MOST = { ofMerchant: 50, total: 100 };

interface Context {
  storage: Pick<Storage, "insertRequests">;
  telemetry: Telemetry;
  clock: Clock;
  log: Logger;
}

export interface RequestLogWriter {
  /** Stores the waiting requests, then ends. */
  stop(): Promise<void>;
}

/** A request that waits to be stored, as it was sent. */
interface Waiting {
  exchange: Exchange;
  at: number;
  number: number;
}

/**
 * Keeps the log of requests (D66). A request that has ended is only noted; a moment later the requests of all merchants
 * are redacted and stored together. Requests that do not fit, or cannot be stored, are dropped and counted (D72). The
 * merchant's last stored request, or its next stored request, shows the count.
 */
export function startRequestLog({ storage, telemetry, clock, log }: Context): RequestLogWriter {
  let places = { succeeded: createPlaces(), failed: createPlaces() };
  let dropped = 0;
  let number = 0;
  /** The number of dropped requests of each merchant that no stored request shows yet. */
  const untold = new Map<string, number>();
  const addUntold = (merchantId: string, count: number) =>
    untold.set(merchantId, (untold.get(merchantId) ?? 0) + count);

  const end = telemetry.on("exchange", (exchange) => {
    const { merchantId, status = FIRST_FAILED_STATUS } = exchange;
    number += 1;
    const kind = places[status < FIRST_FAILED_STATUS ? "succeeded" : "failed"];
    const loser = kind.add(merchantId, { exchange, at: clock.now(), number });
    if (loser === undefined) return;
    dropped += 1;
    addUntold(loser, 1);
  });

  /**
   * Returns the request as it is stored, or undefined if it cannot be redacted, so that other requests are stored
   * nevertheless.
   */
  function readable(request: Waiting): LoggedRequest[] {
    try {
      return [toLogged(request)];
    } catch (error) {
      const { requestId, merchantId } = request.exchange;
      addUntold(merchantId, 1);
      // The message of the error may quote the request.
      const { name, stack = "" } = error as Error;
      const at = stack.split("\n").filter((line) => /^\s+at /.test(line));
      log.error(
        { requestId, error: name, at },
        "a request could not be redacted and is missing from the log of requests",
      );
      return [];
    }
  }

  async function store() {
    const ended = [...places.succeeded.all(), ...places.failed.all()].toSorted((a, b) => a.number - b.number);
    const missing = dropped;
    [places, dropped] = [{ succeeded: createPlaces(), failed: createPlaces() }, 0];
    if (ended.length + missing === 0) return;
    const requests = ended.flatMap(readable);
    for (const request of requests.toReversed()) {
      const leftOut = untold.get(request.merchantId);
      if (untold.delete(request.merchantId)) request.leftOut = leftOut!;
    }
    let stored = 0;
    try {
      await storage.insertRequests(requests);
      stored = requests.length;
    } catch (error) {
      for (const { merchantId, leftOut = 0 } of requests) addUntold(merchantId, leftOut + 1);
      throw error;
    } finally {
      telemetry.emit("requestLog", { stored, dropped: ended.length - stored + missing });
    }
  }

  const loop = startLoop(store, STORE_EVERY_MS, { clock, log });
  return {
    async stop() {
      end();
      await loop.stop();
      await store().catch(() => undefined);
    },
  };
}

/** The requests of one kind that wait for the next storing. */
function createPlaces() {
  const lists = new Map<string, Waiting[]>();
  let total = 0;
  return {
    all: () => [...lists.values()].flat(),
    /**
     * Keeps a request. If no place is left, the merchant with the most requests loses its last one, so that merchants that
     * send much do not push out others. Returns the merchant that has lost a request.
     */
    add(merchantId: string, request: Waiting): string | undefined {
      const own = lists.get(merchantId) ?? [];
      if (own.length === MOST.ofMerchant) return merchantId;
      let loser: string | undefined;
      if (total === MOST.total) {
        const [name, longest] = [...lists].reduce((one, other) => (other[1].length > one[1].length ? other : one));
        if (longest.length <= own.length + 1) return merchantId;
        longest.pop();
        loser = name;
      } else total += 1;
      own.push(request);
      lists.set(merchantId, own);
      return loser;
    },
  };
}

function toLogged({ exchange, at, number }: Waiting): LoggedRequest {
  const { requestId, merchantId, operationId, method, status, durationMs, key, keyId } = exchange;
  const program = programOf(exchange);
  const [sent, returned] = [redacted(exchange.sent, key), redacted(exchange.returned, key)];
  const { code } = partOf(exchange.returned);
  const { reference } = partOf(exchange.sent);
  const [service, merchants] = [
    referenceOf(exchange),
    partOf(partOf(exchange.returned).data).merchantsReference ?? reference,
  ];
  return {
    requestId,
    merchantId,
    at,
    number,
    operation: operationId,
    method,
    path: pathOf(exchange),
    ...(status !== undefined && { status }),
    ...(typeof code === "string" && { code }),
    durationMs: Math.round(durationMs * 10) / 10,
    ...(service !== undefined && { reference: service }),
    ...(typeof merchants === "string" && { merchantsReference: masked(merchants, key) }),
    ...(program !== "" && { program }),
    ...(keyId !== undefined && { keyId }),
    ...(sent !== undefined && { sent }),
    ...(returned !== undefined && { returned }),
  };
}

/** The fields of an object; no fields for anything else. */
const partOf = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};

const SERVICE_REFERENCE = /(?:DSB|CHK)[0-9A-Z]{24}/;

/** The payment that a request was about: from its response, its path, or the address of the existing payment. */
function referenceOf({ returned, parameters, location }: Exchange): string | undefined {
  const places = [partOf(partOf(returned).data).reference, parameters.reference, location];
  return places.map((place) => SERVICE_REFERENCE.exec(String(place ?? ""))?.[0]).find((found) => found !== undefined);
}

/** The path with its identifiers, which are masked if they must not be shown. */
const pathOf = ({ route, parameters, key }: Exchange): string =>
  route.replace(/:(\w+)/g, (_, name: string) => masked(parameters[name] ?? "", key));

const LONGEST_NAME = 100;

/**
 * The name of the program that sent a request. The name is shortened after redaction, because a part of a key would not
 * be recognised.
 */
const programOf = ({ program = "", key }: Exchange): string =>
  masked(program.replace(/[^!-~]+/g, " ").trim(), key).slice(0, LONGEST_NAME);
