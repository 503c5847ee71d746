import type { ActorName } from "../../domain/audit.ts";
import { TEAM_SHOWN, type Session, type UnusedLink } from "../../domain/sign-in.ts";
import { whoIs } from "./audit.ts";
import { form } from "./forms.ts";
import { bdi, column, link, section, soft, tag, under, type Part } from "./html.ts";
import { list } from "./page.ts";
import { mayDo, type View } from "./view.ts";

/** A session, or a link that nobody has used yet. */
type Access = UnusedLink & Partial<Session>;

const byPerson = (one: Access, other: Access) =>
  (one.merchantId ?? "").localeCompare(other.merchantId ?? "") || one.name.localeCompare(other.name);

/**
 * Who can see the dashboard. Operators see everyone, and manage operators. The team page of a merchant manages its own
 * people.
 */
export const teamPage = list<Access>({
  at: "{scope}/team",
  title: "team",
  isWhole: true,
  async read({ context, merchant }) {
    const { sessions, links } = await context.storage.listTeam(merchant?.id);
    const isCut = sessions.length === TEAM_SHOWN || links.length === TEAM_SHOWN;
    return { items: [...sessions, ...links].toSorted(byPerson), isCut };
  },
  columns: (view) => [
    column("name", "who", (access) => [
      bdi(access.name),
      access.id === view.visit.session.id && [" ", tag("", view.t("you"))],
      !view.merchant && under(whoseOf(view, access)),
    ]),
    column("role", "wide", ({ role }) => view.word("role", role)),
    column("access", "wide", (access) => [accessOf(view, access), endOf(view, access)]),
  ],
  below: (view) =>
    mayDo(view, "dashboard.link") &&
    view.merchant?.state !== "closed" &&
    section("link", view.t("letAColleagueIn"), [
      soft(view.merchant ? view.t("invite.merchant") : view.t("invite.all")),
      form(view, "dashboard.link", { class: "inline" }),
    ]),
});

const whoseOf = ({ t, whose }: View, { merchantId }: Access): Part =>
  merchantId === undefined ? t("operator") : [t("merchant"), " ", whose(merchantId)];

function accessOf(view: View, { createdAt, usedAt, expiresAt, invitedBy }: Access): Part {
  const { t, time } = view;
  const by = invitedBy !== undefined && view.t("letInBy", { by: whoIs(invitedBy as ActorName, view) });
  const access =
    createdAt !== undefined && usedAt !== undefined
      ? t("sessionSince", { since: time(createdAt), seen: time(usedAt) })
      : t("unusedLink", { until: time(expiresAt) });
  return [access, " ", by];
}

/** The forms that end access. */
function endOf(view: View, { id, name, merchantId }: Access): Part {
  if (!view.merchant && merchantId !== undefined)
    return under(link(`${view.root}/m/${merchantId}/team`, view.t("team")));
  return [
    id !== undefined && form(view, "session.end", { values: { session: id } }),
    form(view, "session.end-all", { values: { name } }),
  ];
}
