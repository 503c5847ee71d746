import express, { type RequestHandler, type Router } from "express";
import type { Clock } from "../domain/clock.ts";
import { ServiceError } from "../domain/errors.ts";
import type { HandoverStore, Recorded } from "../domain/handovers.ts";
import { RailError, type RailPayment, type Rails } from "../domain/rails.ts";
import { onlyFor } from "./http-error.ts";
import { arrived, bodyBytes, through } from "./json-body.ts";
import { callerAt, createRequestLimit } from "./request-limit.ts";

/** Rails of other providers may send larger bodies than this contract allows. */
const LARGEST_BODY = 65_536;
/** How many look-ups of a payment notifications without a verified answer may cause in a minute. */
const LOOKUPS_PER_MINUTE = 10;

export interface RailWebhooksContext {
  rails: Rails;
  storage: Pick<HandoverStore, "findHandover" | "recordHandover">;
  clock: Pick<Clock, "now">;
  /**
   * How many notifications in a minute an address may send that are not from the rail, or that are about no payment.
   */
  failuresPerMinute: number;
  /** Is told the result of each notification. */
  onRecorded(rail: string, payment: RailPayment, recorded: Recorded): void;
}

export const railWebhookPath = (rail: string): string => `/rails/${rail}/webhooks`;

/** Receives what rails report, at an address for each rail (D73). The rail itself verifies what it has sent. */
export function railWebhooks(context: RailWebhooksContext): Router {
  const { rails, storage, clock, onRecorded } = context;
  const router = express.Router({ caseSensitive: true, strict: true });
  const bytes = bodyBytes(LARGEST_BODY);
  const failures = createRequestLimit({
    perMinute: context.failuresPerMinute,
    message: "This address has sent too many notifications that are not a rail's.",
  });
  const lookups = createRequestLimit({
    perMinute: LOOKUPS_PER_MINUTE,
    message: "This payment has had too many notifications that prove nothing.",
  });
  const receive: RequestHandler = async (req, res) => {
    const caller = callerAt(req.ip);
    // Beyond the limit not even a body is read. Results that a rail cannot report because of the limit are found by
    // look-ups.
    failures.check(caller);
    await through(bytes, req, res);
    await through(arrived, req, res);
    const name = String(req.params.rail);
    const rail = rails.get(name);
    if (!rail?.receive) throw new ServiceError("unknown_path", "No rail reports to this path.");
    const { headers, originalUrl } = req;
    const { searchParams: query } = new URL(originalUrl, "http://localhost");
    const body = Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0);
    const { reference, amount, answer } = await rail.receive({ headers, query, body }).catch((error: unknown) => {
      if (!(error instanceof RailError)) throw error;
      failures.count(caller);
      throw new ServiceError("unauthorized", error.message);
    });
    const handover = await storage.findHandover(reference);
    if (handover?.rail !== name) {
      failures.count(caller);
      throw new ServiceError("not_found", "This service has given the rail no payment with this reference.");
    }
    const { merchantId, payment } = handover;
    const known = amount === undefined || amount === payment.amount ? answer : undefined;
    if (!known) lookups.count(reference);
    const recorded = await storage.recordHandover(
      { lane: { merchantId, host: name }, id: reference },
      {
        exchanges: [{ at: clock.now(), action: "notification", latencyMs: 0, result: known?.status ?? "unknown" }],
        ...(known && { answer: known }),
        askAgainAfterMs: 0,
      },
    );
    onRecorded(name, payment, recorded);
    res.status(204).end();
  };
  // Some providers send notifications by PUT.
  router.route("/rails/:rail/webhooks").post(receive).put(receive).all(onlyFor("POST, PUT"));
  return router;
}
