import { hash } from "node:crypto";
import { Router, type Response } from "express";
import { v5, validate } from "uuid";
import { MOST_KEYS, SCOPES, type ApiKey, type Scope } from "../../domain/keys.ts";
import { createKey, KeyExistsError, revokeKey } from "../../domain/merchants.ts";
import type { WebhookSecrets } from "../../domain/secrets.ts";
import { parseTarget, Refusal } from "../../webhooks/guard.ts";
import type { Config } from "../../config.ts";
import { curlLine } from "../curl-line.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { LIMIT_FORM, limitsIn } from "./limits-form.ts";
import { stateOf } from "../request-state.ts";
import { showPage } from "./show-page.ts";
import { actorIn, field, merchantIn, PageError, rootOf, seeOther, visitOf } from "./visit.ts";
import type { English } from "./words.ts";

const SCOPE_MEANINGS: Record<Scope, English> = {
  read: "verify and list payments",
  disburse: "create payouts and verify them",
  checkout: "create checkouts and verify them",
};

/** The secrets that a page shows once, in the response to a form. */
interface Shown {
  newKey?: string;
  /** The key that an earlier submission of the form created. */
  knownKey?: ApiKey;
  secrets?: WebhookSecrets;
  /** True if the form to rotate was sent from a page that was rendered for an earlier secret. */
  isOutOfDate?: boolean;
}

/**
 * A merchant's settings: API keys, the webhook secret and the default address. A new key and a revealed secret are in the
 * response to the form itself, so that no address shows them again.
 */
export function settingsPages(context: DashboardContext): Router {
  const { config, storage, webhooks } = context;
  const router = Router({ caseSensitive: true, strict: true });
  const path = "/dashboard/m/:merchant/settings";
  const back = (res: Response) => seeOther(res, `${rootOf(config.publicUrl)}/m/${merchantIn(res).id}/settings`);

  async function show(res: Response, shown: Shown = {}) {
    const { id } = merchantIn(res);
    const keys = await storage.listKeysOf(id);
    const secrets = shown.secrets ?? (await webhooks.readSecrets(merchantIn(res)));
    const data = {
      keys,
      most: MOST_KEYS,
      scopes: SCOPE_MEANINGS,
      ...LIMIT_FORM,
      // A form creates its key once, however often a browser submits it.
      nextKey: v5([id, ...keys.map((key) => key.id)].join(), visitOf(res).session.id),
      // It rotates a secret once, too. The name says nothing about the secret.
      replaces: nameOf(secrets, id),
      ...shown,
      curl: curlLine(config.publicUrl, shown.newKey ?? "$API_KEY"),
    };
    showPage(context, res, { template: "settings", title: "Settings", section: "settings" }, data);
  }

  async function requireOwnKey(res: Response, keyId: string) {
    const keys = await storage.listKeysOf(merchantIn(res).id);
    if (!keys.some(({ id }) => id === keyId)) throw new PageError(404, "The merchant has no such key.");
  }

  router.get(path, (_req, res) => show(res));
  router.post(`${path}/keys`, async (req, res) => {
    const [name, given] = [field(req.body, "name"), field(req.body, "key")];
    const id = validate(given) ? given : context.ids.record(context.clock.now());
    const actor = actorIn(res);
    const scopes = SCOPES.filter((scope) => field(req.body, scope) !== "");
    const choices = { id, name, ...(scopes.length > 0 && { scopes }) };
    try {
      const newKey = await createKey({ ...context, actor }, merchantIn(res).id, choices);
      stateOf(res).shownOnce = newKey;
      return await show(res, { newKey });
    } catch (error) {
      if (!(error instanceof KeyExistsError)) throw error;
      return show(res, { knownKey: error.key });
    }
  });
  router.post(`${path}/keys/revoke`, async (req, res) => {
    const keyId = field(req.body, "key");
    await requireOwnKey(res, keyId);
    await revokeKey({ ...context, actor: actorIn(res) }, keyId);
    back(res);
  });
  router.post(`${path}/keys/limits`, async (req, res) => {
    const keyId = field(req.body, "key");
    await requireOwnKey(res, keyId);
    await storage.setKeyLimits(keyId, limitsIn(req.body), actorIn(res));
    back(res);
  });
  router.post(`${path}/secret/reveal`, async (_req, res) => {
    await show(res, { secrets: await webhooks.revealSecrets(merchantIn(res), actorIn(res)) });
  });
  router.post(`${path}/secret/rotate`, async (req, res) => {
    const merchant = merchantIn(res);
    const replaces = field(req.body, "replaces");
    if (replaces !== "" && replaces !== nameOf(await webhooks.readSecrets(merchant), merchant.id))
      return show(res, { isOutOfDate: true });
    await show(res, { secrets: await webhooks.rotateSecret(merchantIn(res), actorIn(res)) });
  });
  router.post(`${path}/default-webhook`, async (req, res) => {
    const url = field(req.body, "url");
    const address = url === "" ? undefined : webhookUrl(url, config);
    await storage.setDefaultWebhook(merchantIn(res).id, address, actorIn(res));
    back(res);
  });
  return router;
}

/** A name of the current secret, from which nobody can find the secret. */
const nameOf = ({ current }: WebhookSecrets, merchantId: string): string => hash("sha256", `${merchantId} ${current}`);

/** @throws PageError if the server would refuse to send to the URL */
function webhookUrl(text: string, { webhookAllowInsecure }: Config): string {
  if (text.length > 2_048) throw new PageError(422, "The address must have at most 2,048 characters.");
  try {
    parseTarget(text, webhookAllowInsecure);
    return text;
  } catch (error) {
    if (error instanceof Refusal) throw new PageError(422, error.message);
    throw error;
  }
}
