import { v4 } from "uuid";
import { newSecret, SCOPES, type ApiKey, type Scope, type WebhookSecrets } from "../domain/keys.ts";
import { limitTexts } from "../domain/limits.ts";
import { createKey, type Merchant } from "../domain/merchants.ts";
import { ROLES, createLink, INVITATION_MS, linkAddress, type EndedAccess, type Role } from "../domain/sign-in.ts";
import { parseTarget } from "../webhooks/guard.ts";
import { say, sayDuration } from "../texts/index.ts";
import {
  action,
  aName,
  choice,
  field,
  missing,
  refused,
  repeatableRandom,
  someLimits,
  typed,
  type Doer,
  type Field,
  type Told,
} from "./action.ts";

const SETTINGS = { needs: "change settings", leadsTo: "/m/:merchant/settings" } as const;
const TEAM = { needs: "change settings", leadsTo: "{scope}/team" } as const;

async function ownKey({ context, merchant }: Doer, keyId: string): Promise<ApiKey> {
  const key = (await context.storage.listKeysOf(merchant.id)).find(({ id }) => id === keyId);
  if (key) return key;
  throw missing();
}

/** Nothing ticked: everything. */
const scopes: Field<readonly Scope[] | undefined> = {
  legend: "scopes",
  inputs: Object.fromEntries(
    SCOPES.map((scope) => [scope, { type: "checkbox", label: `scope.${scope}`, placeholder: { text: scope } }]),
  ),
  read(sent) {
    const ticked = SCOPES.filter((scope) => typed(sent, scope) !== "");
    return ticked.length > 0 ? ticked : undefined;
  },
};

const keyId = field("key", { type: "hidden" });

const ROLE_TEXTS = Object.fromEntries(ROLES.map((role) => [role, `role.${role}`])) as Record<Role, `role.${Role}`>;

const scopeOf = ({ merchant }: Doer<Merchant | undefined>) => (merchant ? { merchantId: merchant.id } : {});

async function end(doer: Doer<Merchant | undefined>, which: EndedAccess) {
  const ended = await doer.context.storage.endSessions({ ...scopeOf(doer), ...which }, doer.actor);
  if (ended === 0) throw missing();
}

const saysSecrets = ({ current, previous }: WebhookSecrets): Told => ({
  title: say("webhookSecret"),
  secret: current,
  lines: previous.map(({ secret, expiresAt }) => say("signsToo", { time: { time: expiresAt }, secret })),
});

/**
 * What people do in a merchant's settings, and with the people who may see the dashboard. A new key, link or secret is in
 * the response to the form itself, so that no address shows it again.
 */
export const settingsActions = {
  "key.create": action({
    at: "/m/:merchant/settings/keys",
    ...SETTINGS,
    input: { name: aName("nameNewKey", { placeholder: "whichProgramUses" }), scopes, random: repeatableRandom() },
    style: "primary",
    async run({ context, actor, merchant }, { random, ...input }) {
      const id = random && { id: v4({ random: random(16) }) };
      const key = await createKey({ ...context, actor }, merchant.id, { ...id, ...input });
      if (key === undefined) throw refused(409, "error.keyExists");
      return key;
    },
    says: (key) => ({ title: say("yourNewKey"), secret: key, lines: [say("keyShownOnce")] }),
  }),
  "key.revoke": action({
    at: "/m/:merchant/settings/keys/revoke",
    ...SETTINGS,
    input: { key: keyId },
    isFolded: true,
    style: "danger",
    async run(doer, { key }) {
      await ownKey(doer, key);
      const { storage, clock } = doer.context;
      await storage.revokeKey(key, clock.now(), doer.actor);
    },
  }),
  "key.limit": action({
    at: "/m/:merchant/settings/keys/limits",
    ...SETTINGS,
    input: { key: keyId, limits: someLimits },
    isFolded: true,
    replaces: async (doer, { key }) => ({ key, ...limitTexts((await ownKey(doer, key)).limits) }),
    async run(doer, { key, limits }) {
      await ownKey(doer, key);
      await doer.context.storage.setKeyLimits(key, limits, doer.actor);
    },
  }),
  "secret.reveal": action({
    at: "/m/:merchant/settings/secret/reveal",
    ...SETTINGS,
    input: {},
    async run({ context: { storage }, actor, merchant }) {
      await storage.recordAction({ actor, action: "secret.reveal", merchantId: merchant.id, details: {} });
      return storage.readSecrets(merchant.id);
    },
    says: saysSecrets,
  }),
  "secret.rotate": action({
    at: "/m/:merchant/settings/secret/rotate",
    ...SETTINGS,
    input: {},
    isFolded: true,
    style: "danger",
    replaces: async ({ context, merchant }) => {
      const { current } = await context.storage.readSecrets(merchant.id);
      return { current };
    },
    run: ({ context, actor, merchant }) => context.storage.rotateSecret(merchant.id, newSecret(context.random), actor),
    says: saysSecrets,
  }),
  "default-webhook.set": action({
    at: "/m/:merchant/settings/default-webhook",
    ...SETTINGS,
    input: {
      url: field("url", {
        label: "address",
        type: "url",
        class: "search",
        placeholder: { text: "https://shop.example/webhooks" },
        attributes: { maxlength: 2_048, pattern: ".{1,2048}" },
      }),
    },
    run({ context: { storage, config }, actor, merchant }, { url }) {
      // The server would send nothing to an address that is refused here.
      if (url !== "") parseTarget(url, config.webhookAllowInsecure);
      return storage.setDefaultWebhook(merchant.id, url === "" ? undefined : url, actor);
    },
  }),
  "dashboard.link": action({
    at: "{scope}/team/links",
    ...TEAM,
    input: {
      name: aName("personsName"),
      role: choice("role", { label: "role", options: ROLE_TEXTS }),
    },
    style: "primary",
    async run(doer, person) {
      const { context, actor } = doer;
      const token = await createLink(context, { ...scopeOf(doer), ...person }, actor, INVITATION_MS);
      return { ...person, address: linkAddress(context.config.publicUrl, token) };
    },
    says: ({ name, role, address }) => ({
      title: say("linkFor", { name }),
      secret: address,
      lines: [say("linkShownOnce", { within: sayDuration(INVITATION_MS), role: say(`role.${role}`) })],
    }),
  }),
  "session.end": action({
    at: "{scope}/team/end",
    ...TEAM,
    input: { id: field("session", { type: "hidden" }) },
    run: (doer, { id }) => end(doer, { id }),
  }),
  "session.end-all": action({
    at: "{scope}/team/end-all",
    ...TEAM,
    input: { name: field("name", { type: "hidden" }) },
    style: "danger",
    run: (doer, { name }) => end(doer, { name, invited: true }),
  }),
};
