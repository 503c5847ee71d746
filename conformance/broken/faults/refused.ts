// Servers that refuse a request, but pay it, use its reference up or send a webhook (§5 to §7).
import { type Fault, caughtOnlyBy, fault, type Call, type How } from "../fault.ts";
import { afterRefusal, notify, pays, reserves, textOf, type Fits } from "../hidden.ts";
import { createCheckout, createDisbursement, fieldsOf, isOf, keyOf } from "../ways.ts";

const create = (call: Call) => isOf(call, createDisbursement);
const withStatus =
  (status: number, also: (call: Call) => boolean = () => true): Fits =>
  (call, reply) =>
    reply.status === status && create(call) && also(call);
const noKey = (call: Call) => keyOf(call) === undefined;
const fields = (call: Call) => fieldsOf(call.body);
const lacks = (field: string) => (call: Call) => fields(call) !== undefined && fields(call)?.[field] === undefined;
const given = (field: string) => (call: Call) => fields(call)?.[field] !== undefined;
const at =
  (method: string, path: RegExp): Fits =>
  (call) =>
    call.method === method && path.test(call.path);

const notifies = (fits: Fits): How => afterRefusal(fits, (call) => notify(textOf(call, "webhookURL") ?? ""));

const nothing = "refused.unauthenticated-leaves-nothing";
// oxfmt-ignore
const rows: [id: string, defect: string, violates: string, how: How, onlyBy?: string][] = [
  ["401-pays", "A create without a key returns 401 and is paid.", `${nothing} refused.no-webhook`, pays(withStatus(401, noKey)), `${nothing} refused.no-webhook life.webhooks-addressed`],
  ["401-reserves", "A create without a key returns 401 and uses its reference up.", nothing, reserves(withStatus(401, noKey)), nothing],
  ["wrong-key-reserves", "A create with an unknown key uses its reference up.", nothing, reserves(withStatus(401, (call) => !noKey(call)))],
  ["401-notifies", "A create without a key returns 401 and is reported as failed.", "refused.no-webhook", notifies(withStatus(401, noKey))],
  ["invalid-pays", "An invalid create returns 422 and is paid with a valid value.", "refused.invalid-leaves-nothing refused.no-webhook", pays(withStatus(422))],
  ["country-reserves", "A create without a country uses its reference up.", "refused.invalid-leaves-nothing", reserves(withStatus(400, lacks("country")))],
  ["currency-reserves", "A create with an invalid currency uses its reference up.", "refused.invalid-leaves-nothing", reserves(withStatus(422, (call) => !/^[A-Z]{3}$/.test(String(fields(call)?.["currency"])))), "refused.invalid-leaves-nothing"],
  ["address-reserves", "A create with an invalid webhookURL uses its reference up.", "refused.invalid-leaves-nothing", reserves(withStatus(422, given("webhookURL")))],
  ["nameless-pays", "A create without a reference returns 400 and sends a webhook.", "refused.no-webhook", notifies(withStatus(400, lacks("reference")))],
  ["malformed-pays", "Malformed JSON returns 400 and is paid if its fields can be read.", "refused.malformed-leaves-nothing refused.no-webhook", pays(withStatus(400, (call) => fields(call) === undefined)), "refused.malformed-leaves-nothing refused.no-webhook"],
  ["malformed-reserves", "Malformed JSON uses its reference up if it can be read.", "refused.malformed-leaves-nothing", reserves(withStatus(400, (call) => fields(call) === undefined))],
  ["list-reserves", "A refused array of one request uses that request's reference up.", "refused.malformed-leaves-nothing", reserves(withStatus(400, (call) => call.body.toString().startsWith("[")))],
  ["415-pays", "An unsupported Content-Type returns 415 and is paid.", "refused.unsupported-leaves-nothing refused.no-webhook", pays(withStatus(415)), "refused.unsupported-leaves-nothing refused.no-webhook life.webhooks-addressed"],
  ["415-reserves", "A create without a Content-Type returns 415 and uses its reference up.", "refused.unsupported-leaves-nothing", reserves(withStatus(415, ({ headers }) => !headers["content-type"]))],
  ["413-pays", "An oversized create returns 413 and is paid.", "refused.unsupported-leaves-nothing refused.no-webhook", pays(withStatus(413)), "refused.unsupported-leaves-nothing refused.no-webhook life.webhooks-addressed"],
  ["413-reserves", "A create of more than 100 KiB returns 413 and uses its reference up.", "refused.unsupported-leaves-nothing", reserves(withStatus(413, ({ body }) => body.length > 102_400))],
  ["404-pays", "A create at a misspelt path returns 404 and is paid.", "refused.unsupported-leaves-nothing refused.no-webhook", pays(at("POST", /^\/v1\/disbursement$/)), "refused.unsupported-leaves-nothing refused.no-webhook life.webhooks-addressed"],
  ["slash-reserves", "A create at a path with a trailing slash returns 404 and uses its reference up.", "refused.unsupported-leaves-nothing", reserves(at("POST", /\/disbursements\/$/))],
  ["case-notifies", "A create at a path in another case returns 404 and is reported as failed.", "refused.no-webhook", notifies(at("POST", /^\/V1/))],
  ["405-pays", "PUT returns 405 and pays.", "refused.unsupported-leaves-nothing refused.no-webhook", pays(at("PUT", /^\/v1\/disbursements$/)), "refused.unsupported-leaves-nothing refused.no-webhook life.webhooks-addressed"],
  ["delete-reserves", "DELETE with a create's body returns 405 and uses its reference up.", "refused.unsupported-leaves-nothing", reserves(at("DELETE", /^\/v1\/disbursements$/))],
  ["checkout-notifies", "A checkout without a key returns 401 and is reported as failed.", "refused.no-webhook", notifies((call, { status }) => status === 401 && isOf(call, createCheckout)), "refused.no-webhook life.webhooks-addressed"],
  ["checkout-reserves", "A refused checkout uses its reference up.", "refused.checkout-leaves-nothing", reserves((call) => isOf(call, createCheckout), createCheckout)],
];

export const faults: readonly Fault[] = rows.map(([id, defect, violates, how, onlyBy]) => {
  const refused = fault(`refused-${id}`, defect, violates, how);
  return onlyBy === undefined ? refused : caughtOnlyBy(onlyBy, refused);
});
