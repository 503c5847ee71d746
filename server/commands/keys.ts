import { createKey, createMerchant, renameMerchant, revokeKey, type Merchant } from "../domain/merchants.ts";
import { limitTexts, parseLimits, parseTerms, termTexts, type Limits, type Terms } from "../domain/limits.ts";
import { timestamp } from "../domain/representation.ts";
import { PROGRAM, UsageError } from "./command.ts";
import { LIMITED } from "./options.ts";
import { command, listing, requireYes, type Context } from "./run.ts";
import { actorName, personOf } from "../domain/audit.ts";
import { createLink, LINK_MS, linkAddress, readTeam, type Session, type UnusedLink } from "../domain/sign-in.ts";
import { dashboardRefusal } from "../config.ts";
import { formatAmount } from "../http/pages/formats.ts";
import { english } from "../texts/index.ts";

/** Merchants, their API keys, and the audit trail. */
export const keyCommands = {
  merchants: command({
    takes: "[--json]",
    summary: "List the merchants.",
    run: async ({ storage }) => {
      const items = (await storage.listMerchants()).map(({ id, name, state = "active", limits, terms, createdAt }) => {
        return { id, name, state, limits, terms, createdAt };
      });
      return listing({ items }, ({ id, name, state, limits, terms }) =>
        [id, name, ...(state === "active" ? [] : [state]), limits && limitsText(limits), terms && termsText(terms)]
          .filter((text) => text !== undefined)
          .join("  "),
      );
    },
  }),
  "create-merchant": command({
    takes: "NAME",
    summary: "Create a merchant with a first key. The key is shown only once.",
    creates: true,
    async run(context, { name }) {
      const key = context.ids.apiKey();
      const { id } = await createMerchant(context, name.trim(), key);
      return { lines: [`Merchant ${id}`, `Key (shown only once): ${key}`] };
    },
  }),
  "rename-merchant": command({
    takes: "MERCHANT NAME",
    summary: "Rename a merchant. Webhooks that exist keep the old name.",
    async run(context, { merchant, name }) {
      await renameMerchant(context, merchant, name);
      return `Renamed ${merchant.id}`;
    },
  }),
  "suspend-merchant": command({
    takes: "MERCHANT",
    summary: "Refuse new payments of a merchant. What exists goes on, with its webhooks, and can be read.",
    run: (context, { merchant }) => setState(context, merchant, "suspended"),
  }),
  "reopen-merchant": command({
    takes: "MERCHANT",
    summary: "Let a suspended merchant create payments again.",
    run: (context, { merchant }) => setState(context, merchant, undefined),
  }),
  "limit-merchant": command({
    takes: `MERCHANT ${LIMITED}`,
    summary: "Set what a merchant's payouts may be at most. Replaces its limits; without options removes them.",
    async run({ storage, actor }, { merchant, ...texts }) {
      const limits = parseLimits(texts);
      await storage.setMerchantLimits(merchant.id, limits, actor);
      return `${merchant.id}  ${limitsText(limits)}`;
    },
  }),
  "merchant-terms": command({
    takes: "MERCHANT [--disbursement-fee] [--checkout-fee] [--rate-limit]",
    summary: "Set a merchant's fees and rate limit. Replaces them; without options the server's settings apply.",
    async run({ storage, actor }, { merchant, ...texts }) {
      const terms = parseTerms(texts);
      await storage.setMerchantTerms(merchant.id, terms, actor);
      return `${merchant.id}  ${termsText(terms)}`;
    },
  }),
  "close-merchant": command({
    takes: "MERCHANT [--yes]",
    summary: "Suspend a merchant for good, revoke its keys and sign its people out. Needs --yes.",
    run(context, { merchant, ...confirmed }) {
      requireYes(
        confirmed,
        `This would close ${merchant.name} for good: no new payments, all its keys revoked, its people signed out.`,
      );
      return setState(context, merchant, "closed");
    },
  }),
  list: command({
    takes: "[--json]",
    summary: "List the keys with their names and when they were last used, showing only their last characters.",
    run: async ({ storage }) => {
      const items = (await storage.listKeys()).map(
        ({ id, merchantId, hint, name, scopes, limits, createdAt, usedAt: lastUsedAt, revokedAt }) => {
          return { id, merchantId, hint, name, scopes, limits, createdAt, lastUsedAt, revokedAt };
        },
      );
      return listing({ items }, ({ id, merchantId, hint, name, scopes, limits, createdAt, lastUsedAt, revokedAt }) => {
        const may = `may ${scopes ? scopes.join(", ") : "do everything"}${limits ? `  ${limitsText(limits)}` : ""}`;
        const used = lastUsedAt === undefined ? "never used" : `last used ${timestamp(lastUsedAt)}`;
        const state = revokedAt === undefined ? "active" : `revoked ${timestamp(revokedAt)}`;
        return `${id}  …${hint}  merchant ${merchantId}  ${name ?? "no name"}  ${may}  created ${timestamp(createdAt)}  ${used}  ${state}`;
      });
    },
  }),
  create: command({
    takes: "MERCHANT [--name] [--scopes]",
    summary: "Create a key for a merchant. The key is shown only once, and may do everything unless it has scopes.",
    run: async (context, { merchant, ...choices }) =>
      `Key (shown only once): ${await createKey(context, merchant.id, choices)}`,
  }),
  limit: command({
    takes: `KEY_ID ${LIMITED}`,
    summary: "Set what payouts with a key may be at most. Replaces its limits; without options removes them.",
    async run({ storage, actor }, { keyId, ...texts }) {
      const limits = parseLimits(texts);
      if (await storage.setKeyLimits(keyId, limits, actor)) return `${keyId}  ${limitsText(limits)}`;
      throw unknownKey(keyId);
    },
  }),
  revoke: command({
    takes: "KEY_ID",
    summary: "Revoke a key.",
    async run(context, { keyId }) {
      if (await revokeKey(context, keyId)) return `Revoked ${keyId}`;
      throw unknownKey(keyId);
    },
  }),
  audit: command({
    takes: "[MERCHANT] [--limit] [--cursor] [--json]",
    summary: "List who did what and when, newest first, for all merchants or one.",
    run: async ({ storage }, { merchant, limit, cursor }) =>
      listing(
        await storage.listAudit({ limit, ...(cursor !== undefined && { cursor }), ...of(merchant) }),
        ({ at, actor, action, merchantId, details }) =>
          [
            timestamp(at),
            actor,
            action,
            merchantId === "" ? "all merchants" : `merchant ${merchantId}`,
            ...Object.entries(details).map((pair) => pair.join(" ")),
          ].join("  "),
      ),
  }),
};

const of = (merchant: Merchant | undefined) => (merchant ? { merchantId: merchant.id } : {});

const unknownKey = (id: string) => new UsageError(`There is no key ${id}. Run \`${PROGRAM} keys list\` to list them.`);

const textsOf = (texts: Record<string, string>) =>
  Object.entries(texts)
    .map((pair) => pair.join(" "))
    .join("  ");
const termsText = (terms: Terms | undefined): string =>
  textsOf(termTexts(terms)) || "fees and rate limit as the server's settings say";
const limitsText = (limits: Limits | undefined): string => {
  const text = textsOf(limitTexts(limits));
  return text === "" ? "no limits" : `limits ${text}`;
};

async function setState({ storage, actor }: Context, { id }: Merchant, state: Merchant["state"]): Promise<string> {
  if (await storage.setMerchantState(id, state, actor)) return `The merchant ${id} is ${state ?? "active"}.`;
  throw new UsageError(`The merchant ${id} is closed for good.`);
}

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
