import type { Clock } from "../domain/clock.ts";
import { InProgress } from "../domain/in-progress.ts";
import { masked, redacted } from "../domain/redaction.ts";
import { FIRST_FAILED_STATUS, type LoggedRequest } from "../domain/request-log.ts";
import type { Storage } from "../domain/storage.ts";
import type { Exchange, Telemetry } from "../domain/telemetry.ts";
import type { Logger } from "pino";
import { startLoop } from "./loop.ts";

/** How often the requests that have ended are stored, in milliseconds. */
const STORE_EVERY_MS = 500;
/**
 * How many successful requests, and how many failed requests, wait to be stored at most. Of these, a merchant alone gets
 * 50, and a newcomer finds room. More requests would delay payments, and nobody reads all requests of a merchant that
 * sends so many.
 */
const WAITING = { total: 114 };

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

/**
 * Keeps the log of requests (D72). A request that has ended is only noted; a moment later the requests of all merchants
 * are redacted and stored together. Requests that do not fit, or cannot be stored, are dropped and counted (D72).
 */
export function startRequestLog({ storage, telemetry, clock, log }: Context) {
  let waiting: Waiting[] = [];
  let room = emptyRoom(clock);
  let ended = 0;
  let number = 0;

  const end = telemetry.on("exchange", (exchange) => {
    const { merchantId, status = FIRST_FAILED_STATUS } = exchange;
    number += 1;
    ended += 1;
    const alike = status < FIRST_FAILED_STATUS ? room.succeeded : room.failed;
    if (!alike.hasRoom({ merchantId })) return;
    alike.begin({ merchantId });
    waiting.push({ exchange, at: clock.now(), number });
  });

  async function store() {
    if (ended === 0) return;
    const [requests, count] = [waiting.map(toLogged), ended];
    [waiting, room, ended] = [[], emptyRoom(clock), 0];
    let stored = 0;
    try {
      await storage.insertRequests(requests);
      stored = requests.length;
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

const emptyRoom = (clock: Clock) => ({
  succeeded: new InProgress(WAITING, clock),
  failed: new InProgress(WAITING, clock),
});

function toLogged({ exchange, at, number }: Waiting): LoggedRequest {
  const { requestId, merchantId, operation, method, status, durationMs, key, keyId, sent, returned } = exchange;
  const common = { requestId, merchantId, operation, method, status, keyId };
  const { code, data } = partOf(returned);
  const merchants = partOf(data).merchantsReference ?? partOf(sent).reference;
  return {
    ...common,
    at,
    number,
    path: pathOf(exchange),
    code: typeof code === "string" ? code : undefined,
    durationMs: Math.round(durationMs * 10) / 10,
    reference: referenceOf(exchange),
    merchantsReference: typeof merchants === "string" ? masked(merchants, key) : undefined,
    program: programOf(exchange) || undefined,
    sent: redacted(sent, key),
    returned: redacted(returned, key),
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
