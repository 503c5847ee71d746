import { MOST_WAITING_COUNTED, type ReceiverAttempt } from "../../domain/figures.ts";
import type { Storage } from "../../domain/storage.ts";
import { share } from "./overview-figures.ts";
import type { Words } from "./words.ts";

/** The number of webhooks whose attempts show how healthy their receivers are. */
export const HEALTH_OF = 500;
/** The number of attempts in the strip, and of receivers in the list. */
const STRIP = 30;
const MOST_RECEIVERS = 20;

/** How well a merchant's receivers work. Receivers with waiting webhooks come first. */
export async function healthOf(storage: Storage, merchantId: string, words: Words) {
  const [attempts, failing] = await Promise.all([
    storage.readReceiverAttempts(merchantId, HEALTH_OF),
    storage.listFailingReceivers({ merchantId, limit: MOST_RECEIVERS }),
  ]);
  const byHost = Map.groupBy(attempts, ({ host }) => host);
  const hosts = new Set([...failing.map(({ host }) => host), ...byHost.keys()]);
  return [...hosts].slice(0, MOST_RECEIVERS).map((host) => {
    const waiting = failing.find((each) => each.host === host)?.waiting ?? 0;
    return {
      host,
      waiting:
        waiting >= MOST_WAITING_COUNTED
          ? words.t("{count} or more", { count: words.number(MOST_WAITING_COUNTED) })
          : waiting,
      ...figuresOf(byHost.get(host) ?? [], words),
    };
  });
}

function figuresOf(attempts: readonly ReceiverAttempt[], words: Words) {
  const delivered = attempts.filter(({ isDelivered }) => isDelivered).length;
  const times = attempts.map(({ latencyMs }) => latencyMs).toSorted((a, b) => a - b);
  const within = (part: number) => (times.length === 0 ? "" : `${times[Math.ceil(part * times.length) - 1]} ms`);
  const last = attempts
    .toSorted((a, b) => b.at - a.at)
    .slice(0, STRIP)
    .toReversed();
  const good = last.filter(({ isDelivered }) => isDelivered).length;
  return {
    delivered: attempts.length === 0 ? undefined : share(delivered, attempts.length, words),
    half: within(0.5),
    most: within(0.95),
    last: last.map(({ at, isDelivered, result }) => ({
      isDelivered,
      text: `${words.time(at)} UTC: ${words.said(result)}`,
    })),
    summary: words.t("Of the last {count} attempts, {good} were delivered.", { count: last.length, good }),
  };
}
