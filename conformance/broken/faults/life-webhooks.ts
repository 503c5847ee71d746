// Servers that lose, misdirect or falsify some of their webhooks, and servers that mix up checkouts (§4.3, §6, D11).
import { type Fault, caughtOnlyBy, fault, type Hooks, quickFault } from "../fault.ts";
import { changesBody, drops, isPayout } from "../messages.ts";
import { createCheckout, createDisbursement, data, fieldsOf, isAccepted, isError, isOf, type Fields } from "../ways.ts";
import { createAsk } from "../front.ts";
import { kept } from "./life.ts";

/** Loses every nth of the webhooks that `fits` accepts. */
const loses = (nth: number, fits: Parameters<typeof drops>[0]): Hooks => {
  let count = 0;
  return drops((message) => fits(message) && (count += 1) % nth === 0) as object;
};

const falsifies = (change: (record: Fields) => Fields): Hooks =>
  changesBody((body, message) =>
    message.claimed.type === "disbursement.failed" ? { ...body, data: change(body["data"] as Fields) } : body,
  );

const send = async (url: string, body: string) => {
  if (!URL.canParse(url)) return;
  const { ask, close } = createAsk(new URL(url));
  const { pathname, search } = new URL(url);
  await ask({
    method: "POST",
    path: pathname + search,
    headers: { "content-type": "application/json" },
    body: Buffer.from(body),
  });
  close();
};

/** Gives every third checkout these fields of an earlier checkout. */
const shares = (...fields: string[]): Hooks => {
  const made: Fields[] = [];
  return data(createCheckout, (checkout) => {
    made.push(checkout);
    const other = made.length % 3 === 0 ? made.at(-2) : undefined;
    return { ...checkout, ...Object.fromEntries(fields.map((field) => [field, (other ?? checkout)[field]])) };
  });
};

const webhooks = [
  fault(
    "life-webhook-lost",
    "One in four webhooks of payouts is lost.",
    "life.webhooks-sent",
    () => loses(4, isPayout),
    kept,
  ),
  caughtOnlyBy(
    "life.webhooks-sent",
    fault(
      "life-webhook-lost-in-ghana",
      "The webhooks of payouts to Ghana are lost.",
      "life.webhooks-sent",
      () => drops((message) => isPayout(message) && message.body.includes('"country":"GH"')),
      kept,
    ),
  ),
  fault(
    "life-checkout-webhook-lost",
    "Every second webhook of a checkout is lost.",
    "life.checkout-events-sent",
    () => loses(2, (message) => !isPayout(message)),
    kept,
  ),
  ...(
    [
      ["amount", (record) => ({ ...record, amount: Number(record["amount"]) + 1 })],
      ["fee", (record) => ({ ...record, fee: 0 })],
      ["reference", (record) => ({ ...record, reference: "DSB0000000000000000000000" })],
      ["merchants-reference", (record) => ({ ...record, merchantsReference: "another" })],
      ["currency", (record) => ({ ...record, currency: "USD" })],
    ] as [string, (record: Fields) => Fields][]
  ).map(([field, change]) => {
    const lies = fault(
      `life-webhook-false-${field}`,
      `The ${field} in the webhook of a failed payout is false.`,
      "life.webhooks-true life.events-agree",
      () => falsifies(change),
      kept,
    );
    return field === "amount" ? caughtOnlyBy("life.webhooks-true", lies) : lies;
  }),
  caughtOnlyBy(
    "life.ends-as-notified webhook.truth",
    fault(
      "life-webhook-false-success",
      "The webhook of a failed payout reports a success.",
      "life.ends-as-notified life.events-agree",
      () => falsifies((record) => ({ ...record, status: "success" })),
      kept,
    ),
  ),
  caughtOnlyBy(
    "life.webhooks-addressed life.webhooks-true",
    fault(
      "life-webhook-strays-late",
      "Each webhook is sent to the first address too, two seconds later.",
      "life.webhooks-addressed",
      ({ sleep, oldAge }) => {
        let first: string | undefined;
        return {
          async webhook(message, deliver) {
            first ??= message.url;
            if (message.url !== first) void sleep(oldAge).then(() => deliver({ ...message, url: String(first) }));
            return deliver(message);
          },
        };
      },
      kept,
    ),
  ),
  fault(
    "life-webhook-for-refused-late",
    "The address of a refused duplicate is notified half a second later.",
    "life.webhooks-addressed",
    ({ sleep, oldAge }) => ({
      async handle(call, ask) {
        const reply = await ask(call);
        const { webhookURL } = fieldsOf(call.body) ?? {};
        if (reply && isError(reply) && isOf(call, createDisbursement) && typeof webhookURL === "string")
          void sleep(oldAge / 4).then(() => send(webhookURL, '{"event":"disbursement.failed"}'));
        return reply;
      },
    }),
  ),
  fault(
    "life-event-false-name",
    "The webhook of a failed payout has the event of a success.",
    "life.events-agree",
    () =>
      changesBody((body) => ({
        ...body,
        event: String(body["event"]).replace("disbursement.failed", "disbursement.completed"),
      })),
    kept,
  ),
];

const checkouts = [
  caughtOnlyBy(
    "life.checkouts-apart checkout.links-differ checkout.page-amount",
    fault(
      "life-checkout-shares-link",
      "Every third checkout has the link of an earlier checkout.",
      "life.checkouts-apart",
      () => shares("url"),
      kept,
    ),
  ),
  fault(
    "life-checkout-shares-reference",
    "Every third checkout has the references of an earlier checkout.",
    "life.checkouts-apart",
    () => shares("reference", "merchantsReference"),
    kept,
  ),
  caughtOnlyBy(
    "life.checkouts-apart checkout.links-differ checkout.page-amount checkout.link-pays-nothing life.webhooks-true",
    fault(
      "life-checkout-shares-record",
      "Every third checkout is an earlier checkout.",
      "life.checkouts-apart",
      () => shares("url", "reference", "merchantsReference"),
      kept,
    ),
  ),
];

/** Parts of URLs. A webhook to a URL with such a part never arrives. */
const unreached: [id: string, what: string, pattern: RegExp][] = [
  ["escaped-slash", "an escaped slash", /%2F/],
  ["plus", "a plus sign in its path", /^[^?]*\+/],
  ["capitals", "capitals in its path", /^[^?]*[A-Z]/],
  ["long", "more than 1,024 characters", /^.{1025}/],
];
const addresses = unreached.map(([id, what, pattern]) =>
  fault(
    `address-${id}-unreached`,
    `A webhook to a URL with ${what} is never sent.`,
    "life.webhooks-sent",
    () => drops(({ url }) => pattern.test(url)),
    "records.as-requested",
  ),
);

/** Returns the value that a service compares if it does not keep payouts and checkouts apart. */
const confused = (id: string, what: string, key: (fields: Fields) => unknown): Fault =>
  fault(
    `webhooks-by-${id}`,
    `The webhook of a checkout goes to the address of a payout with the same ${what}.`,
    "life.webhooks-addressed",
    () => {
      const payouts = new Map<unknown, string>();
      return {
        async handle(call, ask) {
          const fields = isOf(call, createDisbursement) ? fieldsOf(call.body) : undefined;
          const reply = await ask(call);
          if (fields && reply && isAccepted(reply) && typeof fields["webhookURL"] === "string")
            payouts.set(key(fields), fields["webhookURL"]);
          return reply;
        },
        webhook(message, deliver) {
          const { data: record } = fieldsOf(message.body) as { data: Fields };
          const url = isPayout(message)
            ? undefined
            : payouts.get(key({ ...record, reference: record["merchantsReference"] }));
          return deliver({ ...message, url: url ?? message.url });
        },
      };
    },
  );

export const faults: readonly Fault[] = [
  quickFault(
    "address-in-lower-case",
    "Webhooks are sent to their addresses in lower case.",
    "webhook.only-with-address",
    () => ({ webhook: (message, deliver) => deliver({ ...message, url: message.url.toLowerCase() }) }),
    "records.as-requested",
  ),
  ...webhooks,
  ...checkouts,
  ...addresses,
  confused("amount", "amount and currency", ({ amount, currency }) => `${String(amount)} ${String(currency)}`),
];
