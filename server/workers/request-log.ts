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
const MOST = { ofMerchant: 50, total: 100, waiting: 2_000 };

interface Context {
  storage: Pick<Storage, "insertRequests">;
  telemetry: Telemetry;
  clock: Clock;
  log: Logger;
}

/** A request that waits to be stored, as it was sent. */
interface Waiting {
  exchange: Exchange;
  at: number;
  number: number;
}

/** The waiting requests of each merchant. */
type Lists = Map<string, Waiting[]>;
const noRequests = (): Record<"succeeded" | "failed", Lists> => ({ succeeded: new Map(), failed: new Map() });

export type RequestLogWriter = ReturnType<typeof startRequestLog>;

/**
 * Keeps the log of requests (D72). A request that has ended is only noted; a moment later the requests of all merchants
 * are redacted and stored together. Requests that do not fit, or cannot be stored, are dropped and counted (D72). The
 * merchant's last stored request, or its next stored request, shows the count.
 */
export function startRequestLog({ storage, telemetry, clock, log }: Context) {
  let waiting = noRequests();
  /** The number of requests in `waiting`. */
  let held = 0;
  let ended = 0;
  let number = 0;
  /** The number of dropped requests of each merchant that no stored request shows yet. */
  const untold = new Map<string, number>();
  const drop = (merchantId: string, count = 1) => untold.set(merchantId, (untold.get(merchantId) ?? 0) + count);

  const end = telemetry.on("exchange", (exchange) => {
    const { merchantId, status = FIRST_FAILED_STATUS } = exchange;
    number += 1;
    ended += 1;
    const lists = waiting[status < FIRST_FAILED_STATUS ? "succeeded" : "failed"];
    const own = lists.get(merchantId) ?? [];
    lists.set(merchantId, own);
    // While the storage is slow, the lists of many merchants wait.
    const isFull = own.length >= MOST.ofMerchant || held >= MOST.waiting;
    if (isFull) return drop(merchantId);
    held += 1;
    own.push({ exchange, at: clock.now(), number });
  });

  /** Takes requests of the merchants in turn, so that merchants that send much do not push out others. */
  function take(lists: Lists): Waiting[] {
    const turns = Array.from({ length: MOST.ofMerchant }, (_, turn) =>
      [...lists.values()].flatMap((own) => own[turn] ?? []),
    );
    const requests = turns.flat();
    for (const { exchange } of requests.splice(MOST.total)) drop(exchange.merchantId);
    return requests;
  }

  async function store() {
    if (ended === 0) return;
    const [lists, count] = [waiting, ended];
    [waiting, held, ended] = [noRequests(), 0, 0];
    const taken = [...take(lists.succeeded), ...take(lists.failed)].toSorted((a, b) => a.number - b.number);
    const requests = taken.map(toLogged);
    for (const request of requests.toReversed()) {
      const leftOut = untold.get(request.merchantId);
      if (untold.delete(request.merchantId)) request.leftOut = leftOut!;
    }
    let stored = 0;
    try {
      await storage.insertRequests(requests);
      stored = requests.length;
    } catch (error) {
      for (const { merchantId, leftOut = 0 } of requests) drop(merchantId, leftOut + 1);
      throw error;
    } finally {
      telemetry.emit("requestLog", { stored, dropped: count - stored });
    }
  }

  const loop = startLoop(store, STORE_EVERY_MS, { clock, log });
  return {
    /** Stores the waiting requests, then ends. */
    async stop() {
      end();
      await loop.stop();
      await store().catch(() => undefined);
    },
  };
}

function toLogged({ exchange, at, number }: Waiting): LoggedRequest {
  const { requestId, merchantId, operationId: operation, method, status, durationMs, key, keyId } = exchange;
  const { code, data } = partOf(exchange.returned);
  const merchants = partOf(data).merchantsReference ?? partOf(exchange.sent).reference;
  return {
    requestId,
    merchantId,
    at,
    number,
    operation,
    method,
    path: pathOf(exchange),
    status,
    code: typeof code === "string" ? code : undefined,
    durationMs: Math.round(durationMs * 10) / 10,
    reference: referenceOf(exchange),
    merchantsReference: typeof merchants === "string" ? masked(merchants, key) : undefined,
    program: programOf(exchange) || undefined,
    keyId,
    sent: redacted(exchange.sent, key),
    returned: redacted(exchange.returned, key),
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
