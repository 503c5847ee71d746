import { MOST_WAITING_COUNTED, type ReceiverAttempt } from "../../domain/figures.ts";
import { attributes, markup, type Html } from "./html.ts";
import { link, table, under, type Column } from "./parts.ts";
import { mayDo, type View } from "./view.ts";
import { share } from "./overview-figures.ts";

/** The number of webhooks whose attempts show how healthy their receivers are. */
export const HEALTH_OF = 500;
/** The number of attempts in the strip, and of receivers in the list. */
const STRIP = 30;
const MOST_RECEIVERS = 20;

interface Receiver {
  host: string;
  waiting: number;
  attempts: readonly ReceiverAttempt[];
}

/** How well a merchant's receivers work. Receivers with waiting webhooks come first. Undefined without receivers. */
export async function receiverPart(view: View, merchantId: string) {
  const { storage } = view.context;
  const [attempts, failing] = await Promise.all([
    storage.readReceiverAttempts(merchantId, HEALTH_OF),
    storage.listFailingReceivers({ merchantId, limit: MOST_RECEIVERS }),
  ]);
  const byHost = Map.groupBy(attempts, ({ host }) => host);
  const hosts = new Set([...failing.map(({ host }) => host), ...byHost.keys()]);
  const receivers = [...hosts].slice(0, MOST_RECEIVERS).map((host): Receiver => {
    const waiting = failing.find((each) => each.host === host)?.waiting ?? 0;
    return { host, waiting, attempts: byHost.get(host) ?? [] };
  });
  if (receivers.length === 0) return undefined;
  return {
    table: table(view, receivers, columns(view), ({ host }) => host),
    isWaiting: receivers.some(({ waiting }) => waiting > 0),
  };
}

function columns(view: View): Column<Receiver>[] {
  const { t, area } = view;
  const within = (part: number) => (receiver: Receiver) => {
    const times = receiver.attempts.map(({ latencyMs }) => latencyMs).toSorted((a, b) => a - b);
    return times.length > 0 && `${times[Math.ceil(part * times.length) - 1]} ms`;
  };
  return [
    {
      title: "host",
      cell: ({ host }) => link(`${area}/webhooks?host=${encodeURIComponent(host)}`, host),
    },
    {
      title: "delivered",
      class: "number",
      cell: ({ attempts }) =>
        attempts.length === 0
          ? t("notTried")
          : share(attempts.filter(({ isDelivered }) => isDelivered).length, attempts.length, view),
    },
    { title: "halfWithin", class: "number wide", cell: within(0.5) },
    { title: "mostWithin", class: "number wide", cell: within(0.95) },
    { title: "lastAttempts", class: "wide", cell: ({ attempts }) => attempts.length > 0 && strip(view, attempts) },
    {
      title: "waiting",
      class: "number",
      cell({ host, waiting }) {
        if (waiting === 0) return 0;
        const of = `status=pending&host=${encodeURIComponent(host)}`;
        const count = waiting >= MOST_WAITING_COUNTED ? t("orMore", { number: MOST_WAITING_COUNTED }) : waiting;
        return [
          link(`${area}/webhooks?${of}`, count),
          mayDo(view, "replay.start") && under(link(`${area}/replays/new?${of}`, t("sendNow"))),
        ];
      },
    },
  ];
}

/** A bar for each of the last attempts. */
function strip({ t, time, word }: View, attempts: readonly ReceiverAttempt[]): Html {
  const last = attempts
    .toSorted((a, b) => b.at - a.at)
    .slice(0, STRIP)
    .toReversed();
  const good = last.filter(({ isDelivered }) => isDelivered).length;
  const width = last.length * 6;
  const bars = last.map(({ at, isDelivered }, index) => {
    const place = isDelivered ? { class: "success", y: 0, height: 16 } : { class: "failed", y: 6, height: 10 };
    return markup`<rect${attributes({ ...place, x: index * 6, width: 4 })}><title>${time(at)} UTC: ${word("status", isDelivered ? "delivered" : "failed")}</title></rect>`;
  });
  const size = attributes({ viewBox: `0 0 ${width} 16`, width, height: 16 });
  return markup`<svg class="strip"${size} role="img" aria-label="${t("lastDelivered", { number: last.length, good })}">${bars}</svg>`;
}
