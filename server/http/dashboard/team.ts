import { scopesOf } from "../../actions/action.ts";
import { ACTION_NAMES, actionOf } from "../../actions/index.ts";
import type { ActorName } from "../../domain/audit.ts";
import { hasRight, ROLES, readTeam, TEAM_SHOWN, type Person, type Team } from "../../domain/sign-in.ts";
import { whoIs } from "./audit.ts";
import { form } from "./forms.ts";
import {
  attributes,
  bdi,
  card,
  column,
  dim,
  items,
  link,
  markup,
  pre,
  section,
  small,
  soft,
  table,
  tag,
  under,
  type Column,
  type Part,
} from "./html.ts";
import type { Page } from "./page.ts";
import { mayDo, type View } from "./view.ts";

/** A person with their sessions and unused links. */
type Member = Person & Team;

/**
 * Who can see the dashboard. Operators see everyone, and manage operators. The team page of a merchant manages its own
 * people.
 */
export const teamPage: Page = {
  at: "{scope}/team",
  title: "team",
  async show(view) {
    const { t, merchant, context } = view;
    const team = await readTeam(context, merchant ? { merchantId: merchant.id } : {});
    const members = membersOf(team);
    await view.nameMerchants(members);
    const isWhole = team.sessions.length < TEAM_SHOWN && team.links.length < TEAM_SHOWN;
    const people = [
      members.length > 0
        ? table(view, members, columns(view), ({ merchantId, name }) => `${merchantId}/${name}`)
        : markup`<p>${t("nobodyIsSignedIn")}</p>`,
      !isWhole && soft(t("moreThere")),
    ];
    const who = merchant ? t("whoSeesMerchant") : t("whoSeesDashboard");
    return markup`<h1>${t("team")}</h1>${newLink(view)}
${card(people, { id: "people", title: who, isLive: true })}${mayDo(view, "dashboard.link") && invitation(view)}`;
  },
};

function newLink(view: View): Part {
  const made = view.resultOf("dashboard.link");
  if (!made) return undefined;
  const { name, role, lifetime, address } = made;
  const within = view.t(`link.${lifetime}`);
  return markup`<div class="notice" role="status"><h2>${view.rich("linkFor", { name })}</h2>${pre(address, { id: "new-link" })}
<p>${view.t("linkShownOnce", { within, role: view.word("role", role) })}</p></div>`;
}

function invitation(view: View): Part {
  const { t, merchant, word, context } = view;
  const needed = ACTION_NAMES.map(actionOf)
    .filter(({ where }) => where === undefined || (where === "sandbox") === context.config.sandbox)
    .filter(({ at, byOperators }) => !merchant || (!byOperators && scopesOf(at).some((path) => path.startsWith("/m/"))))
    .map(({ needs }) => needs);
  const roles = ROLES.map((role) => {
    const rights = [...new Set(needed)].filter((right) => hasRight(role, right)).map((right) => t(`right.${right}`));
    const means = rights.length === 0 ? t("role.looks") : t("role.may", { rights: rights.join(", ") });
    return markup`<strong>${word("role", role)}</strong> ${means}`;
  });
  const content = [
    soft([t("invite.means"), " ", merchant ? t("invite.merchant") : t("invite.all")]),
    form(view, "dashboard.link", { class: "inline" }),
    items(roles, "soft"),
  ];
  return section("link", t("letAColleagueIn"), content);
}

function columns(view: View): (Column<Member> | false)[] {
  const { t, merchant, whose } = view;
  const roleOf = ({ merchantId }: Member) => (merchantId === undefined ? t("operator") : t("merchantPerson"));
  const isHere = ({ sessions }: Member) => sessions.some(({ id }) => id === view.visit.session.id);
  return [
    column("name", "who", (member) => [
      bdi(member.name),
      isHere(member) && [" ", tag("", t("you"))],
      !merchant && small([roleOf(member), " ", whose(member.merchantId)]),
    ]),
    !merchant &&
      column("role", "wide", (member) => [roleOf(member), whose(member.merchantId) && under(whose(member.merchantId))]),
    column("lastSeen", "wide", ({ sessions }) =>
      sessions.length === 0 ? dim(t("notYet")) : view.stampMinute(Math.max(...sessions.map(({ usedAt }) => usedAt))),
    ),
    column("access", "", (member) => {
      const { sessions, links, merchantId } = member;
      const counted = [
        ...(sessions.length > 0 ? [t("sessions", { count: sessions.length })] : []),
        ...(links.length > 0 ? [t("unusedLinks", { count: links.length })] : []),
      ].join(", ");
      if (!merchant && merchantId !== undefined) return link(`${view.root}/m/${merchantId}/team`, counted);
      return markup`<details><summary>${counted}</summary>${accessOf(view, member)}</details>`;
    }),
  ];
}

/** The sessions and links of a person, and the forms that end them. */
function accessOf(view: View, { name, sessions, links }: Member): Part {
  const { t, rich, minute, word } = view;
  const by = (invitedBy: string | undefined, id: "letInBy" | "madeBy") =>
    invitedBy !== undefined && [" ", rich(id, { by: whoIs(invitedBy as ActorName, view) })];
  return [
    sessions.map(({ id, role, createdAt, usedAt, invitedBy }) => {
      const text = t("sessionSince", { role: word("role", role), since: minute(createdAt), seen: minute(usedAt) });
      const isThis = id === view.visit.session.id && [" ", t("youUseIt")];
      return markup`<div class="access"${attributes({ "data-key": id })}>${soft([text, isThis, by(invitedBy, "letInBy")])}${form(view, "session.end", { values: { session: id } })}</div>`;
    }),
    links.map(({ role, expiresAt, invitedBy }) =>
      soft([t("unusedLink", { role: word("role", role), until: minute(expiresAt) }), by(invitedBy, "madeBy")]),
    ),
    form(view, "session.end-all", { values: { name }, texts: { name }, class: "access" }),
  ];
}

const keyOf = ({ merchantId, name }: Person) => JSON.stringify([merchantId, name]);

/** Groups sessions and links by person, and keeps their order. */
function membersOf({ sessions, links }: Team): Member[] {
  const people = Map.groupBy<string, Person>([...sessions, ...links], keyOf);
  return [...people].map(([key, [person]]) => ({
    name: person!.name,
    ...(person!.merchantId !== undefined && { merchantId: person!.merchantId }),
    sessions: sessions.filter((each) => keyOf(each) === key),
    links: links.filter((each) => keyOf(each) === key),
  }));
}
