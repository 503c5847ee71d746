import { actorName, personOf } from "../domain/audit.ts";
import type { Merchant } from "../domain/merchants.ts";
import { timestamp } from "../domain/representation.ts";
import { createLink, LINK_MS, linkAddress, readTeam, type Session, type UnusedLink } from "../domain/sign-in.ts";
import { dashboardRefusal } from "../config.ts";
import { formatAmount } from "../http/pages/money.ts";
import { english } from "../texts/index.ts";
import { UsageError } from "./command.ts";
import { command, listing, type Context } from "./run.ts";

const MOST = 1_000;

/** Payouts that wait for a person (D93), and people of the dashboard: operators, or those of a MERCHANT. */
export const peopleCommands = {
  approvals: command({
    takes: "[MERCHANT] [--json]",
    summary: "List the payouts that wait for approval, oldest first.",
    async run({ storage }, { merchant }) {
      const waiting = await storage.listWaiting({ merchantId: merchant?.id, limit: MOST });
      const items = waiting.map(({ merchantId, reference, merchantsReference, customer, amount, currency, due }) => {
        const { phoneNumber } = customer;
        return { merchantId, reference, merchantsReference, phoneNumber, amount, currency, failsAt: due!.at };
      });
      return listing({ items }, ({ merchantId, reference, phoneNumber, amount, currency, failsAt }) => {
        const paid = `${formatAmount(amount, currency, "en")}  to ${phoneNumber}`;
        return `${reference}  merchant ${merchantId}  ${paid}  fails at ${timestamp(failsAt)}`;
      });
    },
  }),
  approve: command({
    takes: "MERCHANT REFERENCE",
    summary: "Approve the payout with the service's reference REFERENCE. It goes its way immediately.",
    run: decide,
  }),
  reject: command({
    takes: "MERCHANT REFERENCE --reason",
    summary: "Reject a payout that waits for approval. It fails with not_approved, and its webhook is sent.",
    run: decide,
  }),
  "dashboard-link": command({
    takes: "[MERCHANT] [--name] [--role]",
    summary: "Print a link that signs one person in to the dashboard: for all merchants, or for one only.",
    async run(context, { merchant, name, role }) {
      const { config, actor } = context;
      if (!config.dashboard) throw new UsageError("DASHBOARD is false, so the server has no dashboard.");
      const refusal = dashboardRefusal(config);
      if (refusal !== undefined) throw new UsageError(refusal);
      const person = { ...scopeOf(merchant), name: name ?? personOf(actorName(actor)), role };
      const link = linkAddress(config.publicUrl, await createLink(context, person, actor));
      const whom = merchant ? "this merchant only" : "all merchants";
      return { lines: [link, `It works once, within ${LINK_MS / 60_000} minutes, for ${whom}.`] };
    },
  }),
  sessions: command({
    takes: "[MERCHANT] [--json]",
    summary:
      "List who is signed in to the dashboard, and the links that were not used yet: everyone, or of one merchant.",
    async run(context, { merchant }) {
      const { sessions, links } = await readTeam(context, scopeOf(merchant));
      const items = [
        ...sessions.map((session) => {
          const { id, createdAt, usedAt: lastSeenAt } = session;
          return { kind: "session" as const, id, ...accessOf(session), createdAt, lastSeenAt };
        }),
        ...links.map((link) => ({ kind: "link" as const, ...accessOf(link) })),
      ];
      return listing({ items }, (access) => {
        const { name, role, merchantId = "", may, expiresAt } = access;
        const person = `${name}  ${`${role} ${merchantId}`.trim()}  ${may}`;
        return access.kind === "link"
          ? `unused link  ${person}  works until ${timestamp(expiresAt)}`
          : `${access.id}  ${person}  since ${timestamp(access.createdAt)}  last seen ${timestamp(access.lastSeenAt)}`;
      });
    },
  }),
  "end-sessions": command({
    takes: "[MERCHANT] [--name] [--session]",
    summary: "Sign an operator, or a person of the merchant, out: all sessions and unused links, or one session.",
    async run({ storage, actor }, { merchant, name, session }) {
      if ((name === undefined) === (session === undefined))
        throw new UsageError(
          "Give either --name, for all sessions and links of a person, or --session for one session.",
        );
      const which = session === undefined ? { name: name!, invited: true as const } : { id: session };
      const ended = await storage.endSessions({ ...scopeOf(merchant), ...which }, actor);
      if (ended > 0) return `Ended: ${ended}`;
      const whose = merchant ? "Nobody of this merchant" : "No operator";
      throw new UsageError(`${whose} has such a session or link. List them with the command sessions.`);
    },
  }),
};

async function decide(
  { storage, actor }: Context,
  { merchant, reference, reason }: { merchant: Merchant; reference: string; reason?: string },
) {
  const result = await storage.decideApproval(merchant.id, reference, actor, reason);
  if (result !== "decided") throw new UsageError(english(`undecided.payout.${result}`));
  return `${reason === undefined ? "Approved" : "Rejected"} ${reference}`;
}

const scopeOf = (merchant: Merchant | undefined) => (merchant ? { merchantId: merchant.id } : {});

const accessOf = ({ name, merchantId, role: may, expiresAt }: Session | UnusedLink) => {
  return { name, role: merchantId === undefined ? "operator" : "merchant", may, merchantId, expiresAt };
};
