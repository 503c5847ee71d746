import type { Merchant } from "../domain/merchants.ts";
import { ROLES, roleOf } from "../domain/roles.ts";
import { createLink, LINK_LIFETIMES, linkAddress, type EndedSessions } from "../domain/sign-in.ts";
import { action, areaOf, field, type Doer } from "./action.ts";
import { aName } from "./inputs.ts";
import { refused } from "./refused.ts";

type InTeam = Doer<Merchant | undefined>;
const TEAM = { needs: "manage people", leadsTo: ({ merchant }: InTeam) => `${areaOf(merchant)}/team` } as const;
const scopeOf = ({ merchant }: InTeam) => (merchant ? { merchantId: merchant.id } : {});

type Lifetime = keyof typeof LINK_LIFETIMES;
const SHORTEST = "10 minutes" satisfies Lifetime;

async function end(doer: InTeam, which: EndedSessions) {
  const ended = await doer.context.storage.endSessions(which, doer.actor);
  if (ended === 0) throw refused(404, "error.noSession");
}

/** Who may see the dashboard: the operators, and a merchant's own people. */
export const teamActions = {
  "dashboard.link": action({
    at: "{scope}/team/links",
    ...TEAM,
    input: {
      name: aName("personsName"),
      role: field(
        "role",
        { label: "role", type: "select", options: Object.fromEntries(ROLES.map((role) => [role, `role.${role}`])) },
        (text) => {
          const role = roleOf(text);
          if (!role) throw refused(422, "error.chooseRole", { roles: ROLES.join(", ") });
          return role;
        },
      ),
      lifetime: field(
        "lifetime",
        {
          label: "linkWorksFor",
          type: "select",
          options: { "10 minutes": "link.10 minutes", "1 day": "link.1 day", "3 days": "link.3 days" },
        },
        (text): Lifetime => (Object.hasOwn(LINK_LIFETIMES, text) ? (text as Lifetime) : SHORTEST),
      ),
    },
    button: "makeLink",
    style: "primary",
    async run(doer, { name, role, lifetime }) {
      const { context, actor } = doer;
      const person = { ...scopeOf(doer), name, role };
      const token = await createLink(context, person, actor, LINK_LIFETIMES[lifetime]);
      return { name, role, lifetime, address: linkAddress(context.config.publicUrl, token) };
    },
    isShown: true,
    secretIn: ({ address }) => address,
    perMinute: { person: 10, team: 30 },
  }),
  "session.end": action({
    at: "{scope}/team/end",
    ...TEAM,
    input: { id: field("session", { type: "hidden" }) },
    button: "endSession",
    run: (doer, { id }) => end(doer, { ...scopeOf(doer), id }),
  }),
  "session.end-all": action({
    at: "{scope}/team/end-all",
    ...TEAM,
    input: { name: field("name", { type: "hidden" }) },
    hint: "endAllAccess.hint",
    button: "endAllAccess",
    style: "danger",
    run: (doer, { name }) => end(doer, { ...scopeOf(doer), name, invited: true }),
  }),
};
