import { TEAM_SHOWN, type Access } from "../../domain/sign-in.ts";
import { whoIs } from "./audit.ts";
import { form } from "./forms.ts";
import { bdi, column, section, soft, tag } from "./html.ts";
import { list } from "./page.ts";
import { mayDo } from "./view.ts";

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
    column("access", "wide", ({ id, name, createdAt, usedAt, expiresAt, invitedBy }) => [
      usedAt === undefined
        ? view.t("unusedLink", { until: view.time(expiresAt) })
        : view.t("sessionSince", { since: view.time(createdAt), seen: view.time(usedAt) }),
      " ",
      invitedBy && view.t("letInBy", { by: whoIs(invitedBy, view) }),
      form(view, "session.end", { values: { session: id } }),
      form(view, "session.end-all", { values: { name } }),
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
