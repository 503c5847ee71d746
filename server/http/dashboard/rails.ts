import { readRailStates, type RailState } from "../../domain/attention.ts";
import type { ActorName } from "../../domain/audit.ts";
import { whoIs } from "./audit-words.ts";
import { markup, type Html } from "./html.ts";
import type { Page } from "./page.ts";
import { card, facts, form, link, soft } from "./parts.ts";
import type { View } from "./view.ts";

/** The rails that carry payments, for operators: what waits at each, and whether it is paused. */
export const railsPage: Page = {
  at: "/rails",
  title: "rails",
  where: "live",
  async show(view) {
    const { t, root, context } = view;
    const rails = await readRailStates(context.storage, context.rails!.names);
    return markup`<div class="head"><h1>${t("rails")}</h1>${link(`${root}/rails/reconcile`, t("compareWithRail"))}</div>
${rails.map((state) => railPart(view, state))}${soft(t("railsMean"))}`;
  },
};

function railPart(view: View, state: RailState): Html {
  const { t, rich, number, root, stamp } = view;
  const { rail, waiting, accepted, conflicts, oldestUnknownSince, isConfigured, pause } = state;
  const [named, what] = pause
    ? (["stopped", "paused"] as const)
    : isConfigured
      ? (["active", "inUse"] as const)
      : (["", "notConfigured"] as const);
  const paused =
    pause &&
    rich("pausedSince", { reason: pause.reason, by: whoIs(pause.by as ActorName, view), time: stamp(pause.at) });
  const content = markup`${paused && markup`<p>${paused}</p>`}${facts([
    [t("waiting"), number(waiting)],
    [t("accepted"), number(accepted)],
    [t("conflicts"), conflicts > 0 ? link(`${root}/attention`, number(conflicts)) : 0],
    [t("oldestUnknown"), oldestUnknownSince === undefined ? t("none") : stamp(oldestUnknownSince)],
  ])}
${pause ? form(view, "rail.resume", { params: { rail }, texts: { rail } }) : isConfigured && form(view, "rail.pause", { params: { rail }, texts: { rail }, prefix: rail })}`;
  const title = markup`${rail} <span class="badge ${named}">${t(what)}</span>`;
  return card(content, { id: `rail-${rail}`, title, class: "stack", isLive: true });
}
