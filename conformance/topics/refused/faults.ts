// Servers that refuse a request, but pay it, use its reference up, send a webhook, change a record or list it (§5 to §7).
import type { RequirementId } from "../../../generated/requirement-ids.ts";
import { also, caughtOnlyBy, type Call, type Faults } from "../../broken/fault.ts";
import { afterRefusal, changesRecords, notifies, notify, payFrom, reserves, type Fits } from "../../broken/memory.ts";
import { disbursementIn, hasNoKey, isOf, sent, textIn, type Fields } from "../../broken/calls.ts";
import { handles } from "../../broken/changes.ts";
import { isAccepted, isError, itemsOf, withData } from "../../broken/replies.ts";

const isCreate = (call: Call) => isOf(call, "createDisbursement");
const withStatus =
  (status: number, fits: (call: Call) => boolean = () => true): Fits =>
  (call, reply) =>
    reply.status === status && isCreate(call) && fits(call);
const at =
  (method: string, path: RegExp): Fits =>
  (call) =>
    call.method === method && path.test(call.path);
const lacks = (field: string) => (call: Call) => disbursementIn(call)?.[field] === undefined && !isMalformed(call);
const isMalformed = (call: Call) => disbursementIn(call) === undefined;

const pays = (fits: Fits) => afterRefusal(fits, payFrom);
/** Requirements that a webhook about a refused request violates. */
const strays = ["refused.no-webhook", "life.webhooks-addressed", "webhook.only-with-address"] as const;
/** A refused request that is paid, as the webhook of its payout shows. */
const paysVisibly = (id: RequirementId, fits: Fits) =>
  caughtOnlyBy([id, "create.references-apart", ...strays], also("refused.no-webhook", pays(fits)));
const paysUnsupported = (fits: Fits) => paysVisibly("refused.unsupported-leaves-nothing", fits);

export const faults: Faults = {
  "refused.unauthenticated-leaves-nothing: A create without a key returns 401 and is paid.": paysVisibly(
    "refused.unauthenticated-leaves-nothing",
    withStatus(401, hasNoKey),
  ),
  "refused.invalid-leaves-nothing: An invalid create returns 422 and is paid with a valid value.": also(
    "refused.no-webhook",
    pays(withStatus(422)),
  ),
  "refused.invalid-leaves-nothing: A create with an invalid currency uses its reference up.": caughtOnlyBy(
    ["refused.invalid-leaves-nothing", "create.references-apart", "create.amount-required", "create.phone-pattern"],
    reserves(withStatus(422, (call) => !/^[A-Z]{3}$/.test(String(sent(call)["currency"])))),
  ),
  "refused.malformed-leaves-nothing: Malformed JSON returns 400 and is paid if its fields can be read.": paysVisibly(
    "refused.malformed-leaves-nothing",
    withStatus(400, isMalformed),
  ),
  "refused.unsupported-leaves-nothing: An unsupported Content-Type returns 415 and is paid.": paysUnsupported(
    withStatus(415),
  ),
  "refused.unsupported-leaves-nothing: An oversized create returns 413 and is paid.": paysUnsupported(withStatus(413)),
  "refused.unsupported-leaves-nothing: A create at a misspelt path returns 404 and is paid.": paysUnsupported(
    at("POST", /^\/v1\/disbursement$/),
  ),
  "refused.unsupported-leaves-nothing: PUT returns 405 and pays.": paysUnsupported(at("PUT", /^\/v1\/disbursements$/)),
  "refused.no-webhook: A create without a reference returns 400 and sends a webhook.": notifies(
    withStatus(400, lacks("reference")),
  ),
  "refused.no-webhook: A checkout without a key returns 401 and is reported as failed.": caughtOnlyBy(
    strays,
    notifies((call, { status }) => status === 401 && isOf(call, "createCheckout")),
  ),
  "refused.no-webhook: A request that loses a race for its reference is reported as failed.": () => {
    const arrivals = new Map<unknown, number>();
    return handles(async (call, ask) => {
      const reference = disbursementIn(call)?.["reference"];
      const first = arrivals.get(reference) ?? Date.now();
      const isRaced = Date.now() - first < 5;
      arrivals.set(reference, first);
      const reply = await ask(call);
      if (reply?.status === 409 && isRaced) await notify(textIn(call, "webhookURL"));
      return reply;
    });
  },
  "refused.existing-unchanged: A duplicate returns 409 and overwrites the webhookURL.": caughtOnlyBy(
    ["refused.existing-unchanged", "create.duplicate-any-field", "life.facts-kept"],
    changesRecords((call, { status }) => {
      const { reference, webhookURL } = disbursementIn(call) ?? {};
      return status === 409 && webhookURL !== undefined ? [reference, { webhookURL }] : undefined;
    }),
  ),
  "refused.checkout-leaves-nothing: A refused checkout uses its reference up.": reserves(
    (call) => isOf(call, "createCheckout"),
    "createCheckout",
  ),
  "refused.not-listed: A list contains the disbursements that were refused.": also("uniqueness.one-record", () => {
    const refused = new Map<unknown, Fields>();
    return handles(async (call, ask) => {
      const reply = await ask(call);
      if (!reply) return reply;
      if (isCreate(call) && isError(reply)) refused.set(sent(call)["reference"], sent(call));
      const asked = new URL(call.path, "http://x").searchParams.get("merchantsReference");
      const more = isOf(call, "listDisbursements") && isAccepted(reply) ? refused.get(asked) : undefined;
      return more ? withData(reply, { items: [...itemsOf(reply), more] }) : reply;
    });
  }),
};
