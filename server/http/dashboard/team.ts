import type { ActorName } from "../../domain/audit.ts";
import { TEAM_SHOWN, type Access } from "../../domain/sign-in.ts";
import { whoIs } from "./audit.ts";
import { form } from "./forms.ts";
import { bdi, column, section, soft, tag, type Part } from "./html.ts";
import { list } from "./page.ts";
import { mayDo, type View } from "./view.ts";

/** Who can see the pages of a merchant, or of all merchants. */
export const teamPage = list<Access>({
  at: "{scope}/team",
  title: "team",
  isWhole: true,
  async read({ context, merchant }) {
    const items = await context.storage.listTeam(merchant?.id);
    return {
      items: items.toSorted((one, other) => one.name.localeCompare(other.name)),
      isCut: items.length === TEAM_SHOWN,
    };
  },
  columns: (view) => [
    column("name", "who", (access) => [
      bdi(access.name),
      access.id === view.visit.session.id && [" ", tag("", view.t("you"))],
    ]),
    column("role", "wide", ({ role }) => view.word("role", role)),
    column("access", "wide", (access) => [
      accessOf(view, access),
      form(view, "session.end", { values: { session: access.id } }),
      form(view, "session.end-all", { values: { name: access.name } }),
    ]),
  ],
  below: (view) =>
    mayDo(view, "dashboard.link") &&
    view.merchant?.state !== "closed" &&
    section("link", view.t("letAColleagueIn"), [
      soft(view.merchant ? view.t("invite.merchant") : view.t("invite.all")),
      form(view, "dashboard.link", { class: "inline" }),
    ]),
});

function accessOf(view: View, { createdAt, usedAt, expiresAt, invitedBy }: Access): Part {
  const { t, time } = view;
  const access =
    usedAt === undefined
      ? t("unusedLink", { until: time(expiresAt) })
      : t("sessionSince", { since: time(createdAt), seen: time(usedAt) });
  return [access, " ", invitedBy !== undefined && t("letInBy", { by: whoIs(invitedBy as ActorName, view) })];
}
