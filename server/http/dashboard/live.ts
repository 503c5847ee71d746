import type { Writable } from "node:stream";
import { Router, type Request, type Response } from "express";
import type { Topic } from "../../workers/changes.ts";
import type { DashboardContext } from "./context.ts";
import { script, scriptName } from "./live-script.ts";
import { watchSession } from "./sessions.ts";
import { merchantIn, PageError, visitOf } from "./visit.ts";

/**
 * The most pages that are told of changes at a time, and what each may leave unread. Browsers open six connections to a
 * server without HTTP/2, of which some must stay free. Pages beyond the limit ask every two seconds.
 */
const MOST = { ofSession: 4, ofMerchant: 16, total: 512, unreadBytes: 1_024 };
/** How often a page hears that its connection works, and its session is looked up, in milliseconds. */
const BEAT_MS = 5_000;

/** Serves the script, which is the same for everybody. */
export function liveScript(): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get(`/dashboard/${scriptName}`, (_req, res) => {
    res.removeHeader("Vary");
    res.set("Cache-Control", "public, max-age=31536000, immutable").type("text/javascript").send(script);
  });
  return router;
}

/**
 * Tells the pages of a merchant, as server-sent events, that something has changed; they then read themselves again
 * (D66). An event's data is what has changed (`payments` or `requests`), `alive`, or `signed-out`.
 */
export function livePages(context: DashboardContext): Router {
  const { changes, clock, draining } = context;
  /** The session and merchant of each open stream, and what ends it. */
  const streams = new Map<AbortController, { session: string; merchant: string }>();
  draining.addEventListener("abort", () => {
    for (const ending of streams.keys()) ending.abort();
  });

  function requireRoom(session: string, merchant: string) {
    if (draining.aborted) throw new PageError(503, "The server is stopping.");
    const open = [...streams.values()];
    const isFull =
      open.length >= MOST.total ||
      open.filter((each) => each.session === session).length >= MOST.ofSession ||
      open.filter((each) => each.merchant === merchant).length >= MOST.ofMerchant;
    if (isFull) throw new PageError(429, "Too many pages are live already.");
  }

  async function stream(req: Request, res: Response): Promise<void> {
    if (req.method === "HEAD") return void res.end();
    // The browser may have gone while its session was looked up. Its response would never close again.
    if (res.closed) return;
    const [session, merchant] = [visitOf(res).session.id, merchantIn(res).id];
    requireRoom(session, merchant);
    const ending = new AbortController();
    streams.set(ending, { session, merchant });
    res.once("close", () => ending.abort());
    // Reverse proxies that collect responses must pass this one on.
    res.set({ "Content-Type": "text/event-stream", "X-Accel-Buffering": "no" }).flushHeaders();
    const send = sender(res);
    /** A session may have ended since the last beat. Its page is told nothing more. */
    async function tell(topic: Topic) {
      // Without the storage nothing can be told.
      const isKnown = await isSignedIn().catch(() => undefined);
      if (ending.signal.aborted || isKnown === undefined) return;
      send(isKnown ? topic : "signed-out");
      if (!isKnown) ending.abort();
    }
    const isSignedIn = watchSession(context, req);
    const unwatch = changes.watch(merchant, (topic) => void tell(topic));
    try {
      await beat(send, isSignedIn, ending.signal);
    } catch {
      // Without the storage the page cannot be read either. It asks again.
    } finally {
      unwatch();
      streams.delete(ending);
      res.end();
    }
  }

  /** Shows that the connection works, until it ends or the session does. */
  async function beat(send: Send, isSignedIn: () => Promise<boolean>, ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      send("alive");
      await clock.sleep(BEAT_MS, ended);
      if (ended.aborted || (await isSignedIn())) continue;
      return send("signed-out");
    }
  }

  const router = Router({ caseSensitive: true, strict: true });
  router.get("/dashboard/m/:merchant/live", (req, res) => stream(req, res));
  return router;
}

type Send = (data: string) => void;

/** Returns a function that sends an event. The connection of a browser that does not read them is closed. */
export function sender(res: Pick<Writable, "writableLength" | "write" | "destroy">): Send {
  return (data) => {
    if (res.writableLength > MOST.unreadBytes) res.destroy();
    else res.write(`data: ${data}\n\n`);
  };
}
