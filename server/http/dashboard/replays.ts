import { Router, type Request, type Response } from "express";
import { PACE, requireReplayable, startReplay, type Replay, type Replayed } from "../../domain/replays.ts";
import { MOST_COUNTED } from "../../domain/storage.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { queryOf } from "./payment-filter.ts";
import { showPage } from "./show-page.ts";
import { actorIn, field, merchantIn, PageError, rootOf, seeOther } from "./visit.ts";
import { wordsIn, type English, type Words } from "./words.ts";
import { describe, searchOf, typedFor, typedIn } from "./webhook-filter.ts";

/** The number of replays in the list. */
const LISTED = 50;
/** The number of receivers that a preview names. */
const HOSTS_SHOWN = 10;

/** Replays of all webhooks that a search finds (D64): their list, a preview, and a page for each with its progress. */
export function replayPages(context: DashboardContext): Router {
  const { config, storage } = context;
  const router = Router({ caseSensitive: true, strict: true });
  const path = "/dashboard/m/:merchant/replays";
  const replayAt = (res: Response, id: string) => `${rootOf(config.publicUrl)}/m/${merchantIn(res).id}/replays/${id}`;

  router.get(path, async (_req, res) => {
    const words = wordsIn(res);
    const replays = (await storage.listReplays(merchantIn(res).id, LISTED)).map((replay) => ({
      ...replay,
      conditions: describe(replay.filter, words),
    }));
    const data = { replays, share: shareIn(words) };
    showPage(context, res, { template: "replays", title: "Replays", section: "webhooks" }, data);
  });
  router.get(`${path}/new`, (req, res) => showPreview(context, req, res));
  router.get(`${path}/:id`, (req, res) => showReplay(context, String(req.params.id), res));
  router.post(path, async (req, res) => {
    const { id: merchantId } = merchantIn(res);
    const pace = Number(field(req.body, "pace") || Number.NaN);
    const started = await startReplay(context, { merchantId, filter: filterIn(req.body), pace }, actorIn(res));
    if (!started) throw new PageError(409, "Another replay is running. Wait for its end, or stop it first.");
    seeOther(res, replayAt(res, started.id));
  });
  router.post(`${path}/:id/stop`, async (req, res) => {
    const [{ id: merchantId }, id] = [merchantIn(res), String(req.params.id)];
    const isStopped = await storage.stopReplay(merchantId, id, actorIn(res));
    // A replay that ended a moment ago cannot be stopped, but exists.
    if (!isStopped && !(await storage.findReplay(merchantId, id))) throw noSuchReplay();
    seeOther(res, replayAt(res, id));
  });
  return router;
}

/** People want to know the results of a replay's webhooks, and not only that the replay has queued them. */
function wordFor({ state, replayed }: Replay, { delivered, failed, waiting }: Replayed) {
  if (state !== "done") return state;
  if (waiting > 0) return "waiting";
  return failed > 0 ? "failed" : delivered > 0 && delivered === replayed ? "delivered" : "done";
}

/** How much of a replay is queued, for people. */
const shareIn =
  ({ t, number }: Words) =>
  ({ replayed, expected }: Replay) =>
    expected === undefined
      ? number(replayed)
      : t("{part} of {whole}", { part: number(replayed), whole: number(expected) });

const noSuchReplay = () => new PageError(404, "There is no replay with this id.");

/** @throws PageError or ServiceError if the fields are not a search whose webhooks can be replayed together */
function filterIn(fields: unknown) {
  const typed = typedIn(fields);
  if (typed.reference !== "") throw new PageError(422, "Open the payment’s webhook to replay it.");
  const filter = searchOf(typed);
  requireReplayable(filter);
  return filter;
}

const boundOf = (count: number): English => (count === MOST_COUNTED ? "More than {webhooks}" : "At least {webhooks}");

async function showPreview(context: DashboardContext, req: Request, res: Response): Promise<void> {
  const filter = filterIn(req.query);
  const typed = typedFor(filter);
  const words = wordsIn(res);
  const { count, isExact, hosts } = await context.storage.countDeliveries(merchantIn(res).id, filter);
  const data = {
    typed,
    isWaiting: filter.status === "pending",
    query: queryOf(typed),
    conditions: describe(filter, words),
    count,
    isExact,
    bound: (webhooks: string) => (isExact ? webhooks : words.t(boundOf(count), { webhooks })),
    hosts: hosts.slice(0, HOSTS_SHOWN),
    moreHosts: Math.max(0, hosts.length - HOSTS_SHOWN),
    pace: PACE,
  };
  const page = { template: "replay-new", title: "Replay webhooks", section: "webhooks" } as const;
  showPage(context, res, { ...page, query: data.query }, data);
}

async function showReplay(context: DashboardContext, id: string, res: Response): Promise<void> {
  const replay = await context.storage.findReplay(merchantIn(res).id, id);
  if (!replay) throw noSuchReplay();
  const became = await context.storage.countReplayed(replay.merchantId, id);
  const word = wordFor(replay, became);
  const words = wordsIn(res);
  const data = {
    replay,
    became,
    word,
    mostCounted: MOST_COUNTED,
    share: shareIn(words),
    conditions: describe(replay.filter, words),
    query: queryOf(typedFor(replay.filter)),
  };
  const reloads = word === "running" || word === "waiting";
  showPage(context, res, { template: "replay", title: "Replay of webhooks", section: "webhooks", reloads }, data);
}
