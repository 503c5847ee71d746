import type { Clock } from "../domain/clock.ts";
import { masked, redacted } from "../domain/redaction.ts";
import type { Storage } from "../domain/storage.ts";
import type { Exchange, Telemetry } from "../domain/telemetry.ts";
import type { LoggedRequest } from "../domain/types.ts";
import type { Logger } from "pino";
import { startLoop } from "./loop.ts";

/** How often the requests that have ended are stored, in milliseconds. */
const STORE_EVERY_MS = 500;
/**
 * The most requests that are stored each time. More would cost payments their time, and of a merchant that sends this
 * many nobody reads them all.
 */
const MOST = { ofMerchant: 50, total: 100 };

interface Context {
  storage: Pick<Storage, "insertRequests">;
  telemetry: Telemetry;
  clock: Clock;
  log: Logger;
}

export interface RequestLogWriter {
  /** Stores what waits, then ends. */
  stop(): Promise<void>;
}

/** A request that waits to be stored, as it was sent. */
interface Waiting {
  exchange: Exchange;
  at: number;
  number: number;
}

/**
 * Keeps the log of requests (D66). A request that has ended is only noted; a moment later those of all merchants are
 * redacted and stored together. What does not fit, or cannot be stored, is dropped and counted.
 */
export function startRequestLog({ storage, telemetry, clock, log }: Context): RequestLogWriter {
  let waiting: Waiting[] = [];
  let counts = new Map<string, number>();
  let dropped = 0;
  let number = 0;

  const end = telemetry.on("exchange", (exchange) => {
    const count = counts.get(exchange.merchantId) ?? 0;
    if (count >= MOST.ofMerchant || waiting.length >= MOST.total) {
      dropped += 1;
      return;
    }
    counts.set(exchange.merchantId, count + 1);
    number += 1;
    waiting.push({ exchange, at: clock.now(), number });
  });

  async function store() {
    const [ended, missing] = [waiting, dropped];
    [waiting, counts, dropped] = [[], new Map(), 0];
    if (ended.length + missing === 0) return;
    let stored = 0;
    try {
      await storage.insertRequests(ended.map(toLogged));
      stored = ended.length;
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

function toLogged({ exchange, at, number }: Waiting): LoggedRequest {
  const { requestId, merchantId, operationId, method, status, durationMs, key } = exchange;
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
    ...(sent !== undefined && { sent }),
    ...(returned !== undefined && { returned }),
  };
}

/** The fields of an object, or none of anything else. */
const partOf = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};

const SERVICE_REFERENCE = /(?:DSB|CHK)[0-9A-Z]{24}/;

/** The payment that a request was about: in its response, its path, or the address of the one that exists already. */
function referenceOf({ returned, parameters, location }: Exchange): string | undefined {
  const places = [partOf(partOf(returned).data).reference, parameters.reference, location];
  return places.map((place) => SERVICE_REFERENCE.exec(String(place ?? ""))?.[0]).find((found) => found !== undefined);
}

/** The path with its identifiers, as far as they may be shown. */
const pathOf = ({ route, parameters, key }: Exchange): string =>
  route.replace(/:(\w+)/g, (_, name: string) => masked(parameters[name] ?? "", key));
