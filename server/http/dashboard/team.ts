import { Router, type Response } from "express";
import {
  createLink,
  LINK_LIFETIMES,
  LINK_MS,
  linkAddress,
  readTeam,
  TEAM_SHOWN,
  type EndedSessions,
  type Person,
  type Team,
} from "../../domain/sign-in.ts";
import type { Merchant } from "../../domain/merchants.ts";
import { ROLES, roleOf, type Role } from "../../domain/roles.ts";
import { createRequestLimit } from "../request-limit.ts";
import { stateOf } from "../request-state.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { showPage } from "./show-page.ts";
import { actorIn, field, PageError, requireOperator, rootOf, seeOther, visitOf } from "./visit.ts";
import type { English } from "./words.ts";

/** The most links per minute, for a person and for all people of a merchant. */
const LINKS_PER_MINUTE = { person: 10, team: 30 };

const SHORTEST = ["10 minutes", LINK_MS] as const;

const ROLE_MEANINGS: Record<Role, English> = {
  viewer: "looks at everything, changes nothing",
  support: "also replays webhooks, uses the sandbox, pauses rails",
  finance: "approves and decides about payments, uses the sandbox, pauses rails",
  administrator: "does everything, also keys, secrets, limits and people",
};

/** A person with their sessions and unused links. */
interface Member extends Person, Team {
  /** When one of the sessions was last used; absent without sessions. */
  lastSeenAt?: number;
}

/**
 * Who can see the dashboard. `/dashboard/team` shows operators everyone, and manages operators. The team page of a
 * merchant manages its own people.
 */
export function teamPages(context: DashboardContext): Router {
  const { config, storage } = context;
  const router = Router({ caseSensitive: true, strict: true });
  const root = rootOf(config.publicUrl);
  const message = "Too many links were made. Wait a minute, then make the next.";
  const ofPerson = createRequestLimit({ perMinute: LINKS_PER_MINUTE.person, message });
  const ofTeam = createRequestLimit({ perMinute: LINKS_PER_MINUTE.team, message });
  const pageOf = ({ merchantId }: Scope) =>
    merchantId === undefined ? `${root}/team` : `${root}/m/${merchantId}/team`;

  async function show(res: Response, newLink?: { name: string; role: Role; within: string; address: string }) {
    const scope = scopeIn(res);
    const team = await readTeam(context, scope);
    const members = membersOf(team);
    showPage(
      context,
      res,
      { template: "team", title: "Team", section: "team" },
      {
        members,
        merchants: scope.merchantId === undefined ? await merchantsOf(context, members) : new Map(),
        isWhole: team.sessions.length < TEAM_SHOWN && team.links.length < TEAM_SHOWN,
        newLink,
        page: pageOf(scope),
        roles: ROLE_MEANINGS,
        lifetimes: Object.keys(LINK_LIFETIMES),
      },
    );
  }

  async function end(res: Response, which: EndedSessions) {
    const ended = await storage.endSessions(which, actorIn(res));
    if (ended === 0) throw new PageError(404, "There is no such session or link. It may have ended already.");
    seeOther(res, pageOf(which));
  }

  router.get("/dashboard/team", (_req, res, next) => {
    const { merchantId } = visitOf(res).session;
    return merchantId === undefined ? next() : seeOther(res, pageOf({ merchantId }));
  });
  router.use("/dashboard/team", requireOperator);
  for (const path of ["/dashboard/team", "/dashboard/m/:merchant/team"]) {
    router.get(path, (_req, res) => show(res));
    router.post(`${path}/links`, async (req, res) => {
      const name = field(req.body, "name");
      const { session } = visitOf(res);
      // One person may have any number of sessions.
      ofPerson.count(JSON.stringify([session.merchantId, session.name]));
      ofTeam.count(scopeIn(res).merchantId ?? "operators");
      const role = roleOf(field(req.body, "role"));
      if (!role) throw new PageError(422, `Choose a role: ${ROLES.join(", ")}.`);
      const chosen = field(req.body, "lifetime");
      const [words, lifetime] = Object.entries(LINK_LIFETIMES).find(([each]) => each === chosen) ?? SHORTEST;
      const token = await createLink(context, { ...scopeIn(res), name, role }, actorIn(res), lifetime);
      const address = linkAddress(config.publicUrl, token);
      stateOf(res).shownOnce = address;
      await show(res, { name, role, within: words, address });
    });
    router.post(`${path}/end`, (req, res) => end(res, { ...scopeIn(res), id: field(req.body, "session") }));
    router.post(`${path}/end-all`, (req, res) =>
      end(res, { ...scopeIn(res), name: field(req.body, "name"), invited: true }),
    );
  }
  return router;
}

/** The team that a request is about: the team of the merchant in its path, or the operators. */
type Scope = { merchantId?: string };
function scopeIn(res: Response): Scope {
  const { merchant } = stateOf(res);
  return merchant ? { merchantId: merchant.id } : {};
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
  for (const link of links) memberOf(link).links.push(link);
  return [...members.values()].map((member) =>
    member.sessions.length === 0
      ? member
      : { ...member, lastSeenAt: Math.max(...member.sessions.map(({ usedAt }) => usedAt)) },
  );
}

/** Finds the merchants of people, by id. */
async function merchantsOf({ storage }: DashboardContext, members: readonly Member[]): Promise<Map<string, Merchant>> {
  const ids = new Set(members.flatMap(({ merchantId }) => merchantId ?? []));
  const merchants = await Promise.all([...ids].map((id) => storage.findMerchant(id)));
  return new Map(merchants.flatMap((merchant) => (merchant ? [[merchant.id, merchant]] : [])));
}
