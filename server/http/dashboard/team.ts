import { scopesOf, type Action } from "../../actions/action.ts";
import { actionOf, ACTIONS, type ActionName } from "../../actions/index.ts";
import { hasRight, ROLES } from "../../domain/roles.ts";
import { readTeam, TEAM_SHOWN, type Person, type Team } from "../../domain/sign-in.ts";
import type { ActorName } from "../../domain/audit.ts";
import { whoIs } from "./audit-words.ts";
import { attributes, markup, type Html, type Part } from "./html.ts";
import type { Page } from "./page.ts";
import { bdi, card, form, link, pre, small, soft, table, under, type Column } from "./parts.ts";
import { mayDo, merchantNames, type View } from "./view.ts";

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
    const { t, rich, merchant, context } = view;
    const team = await readTeam(context, merchant ? { merchantId: merchant.id } : {});
    const members = membersOf(team);
    const names = merchant ? new Map<string, string>() : await merchantNames(context, members);
    const isWhole = team.sessions.length < TEAM_SHOWN && team.links.length < TEAM_SHOWN;
    const people =
      members.length > 0
        ? [
            table(view, members, columns(view, names), ({ merchantId, name }) => `${merchantId}/${name}`),
            !isWhole && soft(rich("morePeople")),
          ]
        : markup`<p>${t("nobodyIsSignedIn")} ${mayDo(view, "dashboard.link") && t("makeALinkBelow")}</p>`;
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

function invitation(view: View): Html {
  const { t, rich, merchant, word, context } = view;
  const isHere = ({ at, byOperators, where }: Action) =>
    (!merchant || (!byOperators && scopesOf(at).some((path) => path.startsWith("/m/")))) &&
    (where === undefined || (where === "sandbox") === context.config.sandbox);
  const needed = (Object.keys(ACTIONS) as ActionName[])
    .map(actionOf)
    .filter(isHere)
    .map(({ needs }) => needs);
  const roles = ROLES.map((role) => {
    const rights = [...new Set(needed)].filter((right) => hasRight(role, right)).map((right) => t(`right.${right}`));
    const means = rights.length === 0 ? t("role.looks") : t("role.may", { rights: rights.join(", ") });
    return markup`<li><strong>${word("role", role)}</strong> ${means}</li>`;
  });
  return card(
    markup`${soft(merchant ? rich("invite.merchant", { name: merchant.name }) : t("invite.all"))}
${form(view, "dashboard.link", { class: "inline" })}<ul class="soft">${roles}</ul>${!merchant && soft(t("invite.elsewhere"))}`,
    { id: "link", title: t("letAColleagueIn"), class: "stack" },
  );
}

function columns(view: View, names: ReadonlyMap<string, string>): Column<Member>[] {
  const { t, merchant } = view;
  const roleOf = ({ merchantId }: Member) => (merchantId === undefined ? t("operator") : t("merchantPerson"));
  const nameOf = ({ merchantId }: Member) => (merchantId === undefined ? undefined : names.get(merchantId));
  const isHere = ({ sessions }: Member) => sessions.some(({ id }) => id === view.visit.session.id);
  const role: Column<Member> = {
    title: "role",
    class: "wide",
    cell: (member) => [roleOf(member), nameOf(member) !== undefined && under(bdi(nameOf(member)))],
  };
  return [
    {
      title: "name",
      class: "who",
      cell: (member) => [
        bdi(member.name),
        isHere(member) && markup` <span class="badge">${t("you")}</span>`,
        !merchant && small([roleOf(member), " ", nameOf(member)]),
      ],
    },
    ...(merchant ? [] : [role]),
    {
      title: "lastSeen",
      class: "wide",
      cell: ({ sessions }) =>
        sessions.length === 0
          ? markup`<span class="soft">${t("notYet")}</span>`
          : view.stamp(Math.max(...sessions.map(({ usedAt }) => usedAt)), "minute"),
    },
    {
      title: "access",
      cell(member) {
        const { sessions, links, merchantId } = member;
        const counted = [
          ...(sessions.length > 0 ? [t("sessions", { count: sessions.length })] : []),
          ...(links.length > 0 ? [t("unusedLinks", { count: links.length })] : []),
        ].join(", ");
        if (!merchant && merchantId !== undefined) return link(`${view.root}/m/${merchantId}/team`, counted);
        return markup`<details><summary>${counted}</summary>${accessOf(view, member)}</details>`;
      },
    },
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

/** Groups sessions and links by person, and keeps their order. */
function membersOf({ sessions, links }: Team): Member[] {
  const members = new Map<string, Member>();
  function memberOf({ merchantId, name }: Person): Member {
    const key = JSON.stringify([merchantId, name]);
    const member = members.get(key) ?? { ...(merchantId && { merchantId }), name, sessions: [], links: [] };
    members.set(key, member);
    return member;
  }
  for (const session of sessions) memberOf(session).sessions.push(session);
  for (const unused of links) memberOf(unused).links.push(unused);
  return [...members.values()];
}
