// Servers with faults in checkouts (§4.3, D6, D3, D10).
import { type Fault, fault, type Hooks, quickFault } from "../fault.ts";
import {
  responses,
  createCheckout,
  createDisbursement,
  data,
  dataOf,
  fieldsOf,
  html,
  instead,
  isAccepted,
  isOf,
  lastPart,
  verifyCheckout,
  refusal,
  requests,
  withBody,
  withHeader,
  withStatus,
  without,
} from "../ways.ts";

const finish = "finishCheckout";
const minute = 60_000;

/** Makes an unpaid checkout expire this many minutes after its creation. */
const expires = (minutes: number): Hooks => ({
  storage: (inner) => ({
    insertCheckout: (draft) =>
      inner.insertCheckout({ ...draft, due: { afterMs: minutes * minute, status: "cancelled" } }),
  }),
});
const page = (change: (text: string) => string): Hooks => ({
  async handle(call, ask) {
    const reply = await ask(call);
    return reply && call.path.startsWith("/checkouts/") ? { ...reply, text: change(reply.text) } : reply;
  },
});
const pageResponses = (status: number): Hooks => ({
  handle: async (call, ask) => (call.path.startsWith("/checkouts/") ? html(status) : ask(call)),
});
export const faults: readonly Fault[] = [
  fault(
    "checkout-refused",
    "A checkout without redirectURL is refused.",
    "checkout.accepted checkout.optional-fields",
    () =>
      instead(
        createCheckout,
        ({ redirectURL }) => redirectURL === undefined,
        () => refusal(422),
      ),
  ),
  fault("checkout-redirect", "Creating a checkout returns a redirect to the payment page.", "checkout.accepted", () =>
    responses(createCheckout, (reply) => (isAccepted(reply) ? withStatus(reply, 303) : reply)),
  ),
  fault(
    "checkout-addresses-refused",
    "A checkout with both webhookURL and redirectURL is refused.",
    "checkout.optional-fields",
    () =>
      instead(
        createCheckout,
        (fields) => "webhookURL" in fields && "redirectURL" in fields,
        () => refusal(422),
      ),
  ),
  quickFault("checkout-201", "Creating a checkout returns 201.", "checkout-body.shape", () =>
    responses(createCheckout, (reply) => (isAccepted(reply) ? withStatus(reply, 201) : reply)),
  ),
  quickFault("link-missing", "The checkout response has no link.", "checkout.link", () =>
    data(createCheckout, (created) => without(created, "url")),
  ),
  fault("link-relative", "The link to the payment page is relative.", "checkout.link", () =>
    data(createCheckout, (created) => ({ ...created, url: new URL(String(created["url"])).pathname })),
  ),
  fault("link-dead", "The link leads to a page that does not exist.", "checkout.link-opens", () =>
    data(createCheckout, (created) => ({ ...created, url: `${String(created["url"])}0` })),
  ),
  fault("link-refused", "The link leads to a closed port.", "checkout.link-opens", () =>
    data(createCheckout, (created) => ({ ...created, url: "http://127.0.0.1:1/pay" })),
  ),
  fault("page-500", "The payment page returns 500.", "checkout.link-opens", () => pageResponses(500)),
  fault("page-401", "The payment page returns 401.", "checkout.link-opens", () => pageResponses(401)),
  fault("page-as-download", "Browsers download the payment page instead of showing it.", "checkout.page-html", () => ({
    async handle(call, ask) {
      const reply = await ask(call);
      const isPage = call.path.startsWith("/checkouts/");
      return reply && isPage ? withHeader(reply, "content-type", "application/octet-stream") : reply;
    },
  })),
  fault("page-loops", "The payment page redirects to itself.", "checkout.link-opens", () => ({
    handle: async (call, ask) =>
      call.path.startsWith("/checkouts/") ? withHeader(html(302), "location", call.path) : ask(call),
  })),
  fault("checkout-reference-missing", "The checkout response has no reference.", "checkout.reference", () =>
    data(createCheckout, ({ url }) => ({ url: String(url) })),
  ),
  fault("checkout-reference-shared", "Every checkout has the same reference.", "checkout.reference", () =>
    data(createCheckout, (created) => ({ ...created, reference: "CHK1", merchantsReference: "CHK1" })),
  ),
  fault("checkout-flat", "The checkout response has no envelope.", "checkout.response-body checkout-body.shape", () =>
    responses(createCheckout, (reply) => (isAccepted(reply) ? withBody(reply, dataOf(reply)) : reply)),
  ),
  fault("checkout-reference-lost", "The merchant's reference of a checkout is dropped.", "checkout-body.echo", () =>
    requests(createCheckout, (fields) => without(fields, "reference")),
  ),
  fault(
    "checkout-repeat-made",
    "A duplicate reference creates another checkout.",
    "checkout-request.reference-unique",
    () => requests(createCheckout, (fields) => ({ ...fields, reference: undefined })),
  ),
  fault(
    "checkout-repeat-no-location",
    "The 409 for a duplicate checkout has no Location.",
    "checkout-request.reference-unique",
    () => responses(createCheckout, (reply) => (reply.status === 409 ? withHeader(reply, "location") : reply)),
  ),
  fault(
    "references-shared",
    "A reference used by a checkout is refused for a payout.",
    "checkout-request.reference-apart",
    () => {
      const used = new Set<unknown>();
      return {
        async handle(call, ask) {
          const { reference } = fieldsOf(call.body) ?? {};
          if (isOf(call, createCheckout)) used.add(reference);
          return isOf(call, createDisbursement) && used.has(reference) ? refusal(409) : ask(call);
        },
      };
    },
  ),
  fault("locale-french-refused", "The locale fr is refused.", "checkout-request.locale", () =>
    instead(
      createCheckout,
      ({ locale }) => locale === "fr",
      () => refusal(422),
    ),
  ),
  fault("checkout-record-missing", "Verifying a checkout always returns 404.", "checkout-record.shape", () =>
    instead(
      verifyCheckout,
      () => true,
      () => refusal(404),
    ),
  ),
  fault("checkout-record-any", "Verifying an unknown checkout returns 200.", "checkout-record.unknown-404", () =>
    responses(verifyCheckout, (reply) =>
      reply.status === 404 ? { ...withBody(reply, { data: {} }), status: 200 } : reply,
    ),
  ),
  fault(
    "checkout-status-paid",
    "A successful checkout has the status paid.",
    "checkout.states checkout-states.outcomes",
    () => data(verifyCheckout, (record) => (record["status"] === "success" ? { ...record, status: "paid" } : record)),
  ),
  quickFault("checkout-success-only", "A failed checkout has the status success.", "checkout-states.outcomes", () =>
    data(verifyCheckout, (record) => (record["status"] === "failed" ? { ...record, status: "success" } : record)),
  ),
  fault(
    "checkout-starts-open",
    "A new checkout has the status open.",
    "checkout-states.outcomes checkout-body.shape",
    () => data(createCheckout, (created) => ({ ...created, status: "open" })),
  ),
  fault(
    "checkout-ends-twice",
    "A final checkout can be finished again with another outcome.",
    "checkout-states.final",
    () => {
      const ended = new Map<string, unknown>();
      return {
        async handle(call, ask) {
          const reply = await ask(call);
          if (isOf(call, finish) && reply?.status === 409) {
            ended.set(call.path.split("/")[3] ?? "", fieldsOf(call.body)?.["outcome"]);
            return { ...reply, status: 200 };
          }
          const status = isOf(call, verifyCheckout) ? ended.get(lastPart(call)) : undefined;
          return reply && status ? withBody(reply, { statusCode: 200, data: { ...dataOf(reply), status } }) : reply;
        },
      };
    },
  ),
  fault(
    "checkout-ends-silently-twice",
    "Finishing a final checkout returns 200 and changes nothing.",
    "checkout-states.final",
    () => responses(finish, (reply) => (reply.status === 409 ? withStatus(reply, 200) : reply)),
  ),
  fault("checkout-expiry-missing", "An unpaid checkout never expires.", "checkout-states.expiry", () =>
    expires(1_000_000),
  ),
  fault("checkout-expiry-early", "An unpaid checkout expires after 10 minutes.", "checkout-states.expiry", () =>
    expires(10),
  ),
  fault("checkout-expiry-late", "An unpaid checkout expires after an hour.", "checkout-states.expiry", () =>
    expires(60),
  ),
  fault("checkout-finish-nothing", "Finishing a checkout changes nothing.", "sandbox.finish", () => ({
    storage: () => ({ finishCheckout: async () => true }),
  })),
  fault("checkout-finish-success", "Finishing a checkout always makes it succeed.", "sandbox.finish", () =>
    requests(finish, (fields) => ({ ...fields, outcome: "success" })),
  ),
  fault(
    "page-without-amount",
    "The payment page shows zeros for every digit of the amount.",
    "money.page-divides",
    () => page((text) => text.replaceAll(/\d/g, "0")),
  ),
  fault("page-without-millions", "The payment page drops the millions of the amount.", "money.page-divides", () =>
    page((text) => text.replaceAll(/\d+,(\d{3},\d{3}\.\d\d)/g, "$1")),
  ),
  quickFault(
    "page-not-divided",
    "The payment page shows the amount undivided, in the lowest denomination.",
    "money.page-divides",
    () => page((text) => text.replaceAll(/([\d\u202f\u00a0,]+)\.(\d\d)/g, "$1$2")),
  ),
];
