import { actorName, personOf } from "../domain/audit.ts";
import {
  createLink,
  LINK_MS,
  linkAddress,
  readTeam,
  type Session,
  type EndedSessions,
  type UnusedLink,
} from "../domain/sign-in.ts";
import { timestamp } from "../domain/representation.ts";
import { dashboardRefusal } from "../config.ts";
import { UsageError, type Commands } from "./command.ts";
import { merchantOf, type CommandContext } from "./command-context.ts";
import type { Options } from "./options.ts";
import { listing } from "./listing.ts";

/**
 * Commands for access to the dashboard. Without a MERCHANT, `dashboard-link` and `end-sessions` are about operators.
 */
export const dashboardCommands: Commands<CommandContext> = {
  "dashboard-link": {
    args: ["[MERCHANT]"],
    options: ["name", "role"],
    summary: "Print a link that signs one person in to the dashboard: for all merchants, or for one only.",
    async run(context, [id], { name, role = "administrator" }) {
      const { config, actor } = context;
      if (!config.dashboard) throw new UsageError("DASHBOARD is false, so the server has no dashboard.");
      const refusal = dashboardRefusal(config);
      if (refusal !== undefined) throw new UsageError(refusal);
      const person = { ...(await scopeOf(context, id)), name: name ?? personOf(actorName(actor)), role };
      const token = await createLink(context, person, actor);
      return {
        lines: [
          linkAddress(config.publicUrl, token),
          `It works once, within ${LINK_MS / 60_000} minutes, for ${id === undefined ? "all merchants" : "this merchant only"}.`,
        ],
      };
    },
  },
  sessions: {
    args: ["[MERCHANT]"],
    options: ["json"],
    summary:
      "List who is signed in to the dashboard, and the links that were not used yet: everyone, or of one merchant.",
    async run(context, [id]) {
      const { sessions, links } = await readTeam(context, await scopeOf(context, id));
      return listing({ items: [...sessions, ...links] }, accessView, accessLines);
    },
  },
  "end-sessions": {
    args: ["[MERCHANT]"],
    options: ["name", "session"],
    summary: "Sign an operator, or a person of the merchant, out: all sessions and unused links, or one session.",
    async run(context, [id], options) {
      const ended = await context.storage.endSessions(
        { ...(await scopeOf(context, id)), ...chosen(options) },
        context.actor,
      );
      if (ended > 0) return { lines: [`Ended: ${ended}`] };
      const whose = id === undefined ? "No operator" : "Nobody of this merchant";
      throw new UsageError(`${whose} has such a session or link. List them with the command sessions.`);
    },
  },
};

async function scopeOf(context: CommandContext, merchantId: string | undefined): Promise<{ merchantId?: string }> {
  return merchantId === undefined ? {} : { merchantId: (await merchantOf(context, merchantId)).id };
}

function chosen({ name, session }: Options): EndedSessions {
  if (name !== undefined && session === undefined) return { name, invited: true };
  if (session !== undefined && name === undefined) return { id: session };
  throw new UsageError("Give either --name, for all sessions and links of a person, or --session for one session.");
}

function accessView(access: Session | UnusedLink) {
  const { name, merchantId, role: may, expiresAt } = access;
  const role = merchantId === undefined ? "operator" : "merchant";
  const person = { name, role, may, ...(merchantId && { merchantId }) };
  const until = { expiresAt: timestamp(expiresAt) };
  if (!("id" in access)) return { kind: "link", ...person, ...until } as const;
  const { id, createdAt, usedAt } = access;
  return {
    kind: "session",
    id,
    ...person,
    createdAt: timestamp(createdAt),
    lastSeenAt: timestamp(usedAt),
    ...until,
  } as const;
}

function accessLines(access: ReturnType<typeof accessView>): string[] {
  const { name, merchantId, may, expiresAt } = access;
  const person = `${name}  ${merchantId === undefined ? "operator" : `merchant ${merchantId}`}  ${may}`;
  return access.kind === "link"
    ? [`unused link  ${person}  works until ${expiresAt}`]
    : [`${access.id}  ${person}  since ${access.createdAt}  last seen ${access.lastSeenAt}`];
}
