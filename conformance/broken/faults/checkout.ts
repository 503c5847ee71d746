// §4.3, D6 to D10: servers whose checkouts are broken.
import { fault, type How } from "../fault.ts";
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

/** Changes when an unpaid checkout falls due. */
const expires = (minutes: number): How => ({
  storage: (inner) => ({
    insertCheckout: (record) =>
      inner.insertCheckout({
        ...record,
        due: { at: record.createdAt + minutes * minute, status: "cancelled" },
      }),
  }),
});
const page = (change: (text: string) => string): How => ({
  async handle(call, ask) {
    const reply = await ask(call);
    return reply && call.path.startsWith("/checkouts/") ? { ...reply, text: change(reply.text) } : reply;
  },
});
const pageResponses = (status: number): How => ({
  handle: async (call, ask) => (call.path.startsWith("/checkouts/") ? html(status) : ask(call)),
});
/** The way back to the merchant. */
const back = (change: (address: URL) => string): How => ({
  async handle(call, ask) {
    const reply = await ask(call);
    const { location } = reply?.headers ?? {};
    if (!reply || !location?.startsWith("http") || !call.path.startsWith("/checkouts/")) return reply;
    return withHeader(reply, "location", change(new URL(location)));
  },
});
const losing = (name: string) => (address: URL) => {
  address.searchParams.delete(name);
  return address.href;
};

export const checkoutFaults = [
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
  fault("checkout-redirect", "A checkout is answered with a redirect to the page.", "checkout.accepted", () =>
    responses(createCheckout, (reply) => (isAccepted(reply) ? withStatus(reply, 303) : reply)),
  ),
  fault("checkout-addresses-refused", "A checkout with both addresses is refused.", "checkout.optional-fields", () =>
    instead(
      createCheckout,
      (fields) => "webhookURL" in fields && "redirectURL" in fields,
      () => refusal(422),
    ),
  ),
  fault("checkout-201", "A checkout is answered with 201.", "checkout-body.shape", () =>
    responses(createCheckout, (reply) => (isAccepted(reply) ? withStatus(reply, 201) : reply)),
  ),
  fault("link-missing", "The answer to a checkout has no link.", "checkout.link", () =>
    data(createCheckout, (made) => without(made, "url")),
  ),
  fault("link-relative", "The link to the page is only a path.", "checkout.link", () =>
    data(createCheckout, (made) => ({ ...made, url: new URL(String(made["url"])).pathname })),
  ),
  fault("link-dead", "The link leads to a page that is not there.", "checkout.link-opens", () =>
    data(createCheckout, (made) => ({ ...made, url: `${String(made["url"])}0` })),
  ),
  fault("link-refused", "Nobody listens where the link leads.", "checkout.link-opens", () =>
    data(createCheckout, (made) => ({ ...made, url: "http://127.0.0.1:1/pay" })),
  ),
  fault("page-500", "The payment page is a 500.", "checkout.link-opens", pageResponses(500)),
  fault("page-401", "The payment page asks the customer for a key.", "checkout.link-opens", pageResponses(401)),
  fault("page-loops", "The payment page redirects to itself for ever.", "checkout.link-opens", {
    handle: async (call, ask) =>
      call.path.startsWith("/checkouts/") ? withHeader(html(302), "location", call.path) : ask(call),
  }),
  fault("checkout-reference-missing", "The answer to a checkout has no reference.", "checkout.reference", () =>
    data(createCheckout, ({ url }) => ({ url: String(url) })),
  ),
  fault("checkout-reference-shared", "Every checkout has the same reference.", "checkout.reference", () =>
    data(createCheckout, (made) => ({ ...made, reference: "CHK1", merchantsReference: "CHK1" })),
  ),
  fault("checkout-flat", "A checkout's answer has no envelope.", "checkout.response-body checkout-body.shape", () =>
    responses(createCheckout, (reply) => (isAccepted(reply) ? withBody(reply, dataOf(reply)) : reply)),
  ),
  fault("checkout-reference-lost", "A checkout forgets the merchant's reference.", "checkout-body.echo", () =>
    requests(createCheckout, (fields) => without(fields, "reference")),
  ),
  fault("checkout-repeat-made", "A used reference makes another checkout.", "checkout-request.reference-unique", () =>
    requests(createCheckout, (fields) => ({ ...fields, reference: undefined })),
  ),
  fault(
    "checkout-repeat-no-location",
    "A used reference of a checkout has no Location.",
    "checkout-request.reference-unique",
    () => responses(createCheckout, (reply) => (reply.status === 409 ? withHeader(reply, "location") : reply)),
  ),
  fault(
    "references-shared",
    "Checkouts and payouts share their references.",
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
  fault("locale-french-refused", "French is refused.", "checkout-request.locale", () =>
    instead(
      createCheckout,
      ({ locale }) => locale === "fr",
      () => refusal(422),
    ),
  ),
  fault("checkout-look-missing", "Checkouts cannot be looked up.", "checkout-record.shape", () =>
    instead(
      verifyCheckout,
      () => true,
      () => refusal(404),
    ),
  ),
  fault("checkout-look-any", "A payout's reference finds a checkout.", "checkout-record.unknown-404", () =>
    responses(verifyCheckout, (reply) =>
      reply.status === 404 ? { ...withBody(reply, { data: {} }), status: 200 } : reply,
    ),
  ),
  fault(
    "checkout-states-called-otherwise",
    "A finished checkout is called paid.",
    "checkout.states checkout-states.outcomes",
    () => data(verifyCheckout, (record) => (record["status"] === "success" ? { ...record, status: "paid" } : record)),
  ),
  fault("checkout-success-only", "A checkout that failed is shown as a success.", "checkout-states.outcomes", () =>
    data(verifyCheckout, (record) => (record["status"] === "failed" ? { ...record, status: "success" } : record)),
  ),
  fault("checkout-starts-open", "A new checkout is called open.", "checkout-states.outcomes checkout-body.shape", () =>
    data(createCheckout, (made) => ({ ...made, status: "open" })),
  ),
  fault("checkout-ends-twice", "A checkout that has ended ends again.", "checkout-states.final", () => {
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
  }),
  fault("checkout-ends-silently-twice", "A second end is answered with 200.", "checkout-states.final", () =>
    responses(finish, (reply) => (reply.status === 409 ? withStatus(reply, 200) : reply)),
  ),
  fault("checkout-expiry-missing", "An unpaid checkout stays open.", "checkout-states.expiry", expires(1_000_000)),
  fault("checkout-expiry-early", "An unpaid checkout ends after ten minutes.", "checkout-states.expiry", expires(10)),
  fault("checkout-expiry-late", "An unpaid checkout ends after an hour.", "checkout-states.expiry", expires(60)),
  fault("checkout-finish-nothing", "Ending a checkout changes nothing.", "sandbox.finish", () => ({
    storage: () => ({ finishCheckout: async () => true }),
  })),
  fault("checkout-finish-success", "Whatever end is asked for, a checkout succeeds.", "sandbox.finish", () =>
    requests(finish, (fields) => ({ ...fields, outcome: "success" })),
  ),
  fault(
    "page-without-amount",
    "The payment page does not show the amount.",
    "money.page-divides",
    page((text) => text.replaceAll(/\d/g, "0")),
  ),
  fault(
    "page-not-divided",
    "The payment page shows the amount in the lowest denomination.",
    "money.page-divides",
    page((text) => text.replaceAll(/([\d\u202f\u00a0,]+)\.(\d\d)/g, "$1$2")),
  ),
  fault("back-without-status", "The way back has no status.", "redirect.parameters", back(losing("status"))),
  fault("back-without-reference", "The way back has no reference.", "redirect.parameters", back(losing("reference"))),
  fault(
    "back-without-merchants",
    "The way back has no merchantsReference.",
    "redirect.parameters",
    back(losing("merchantsReference")),
  ),
  fault(
    "back-without-query",
    "The way back loses the query that was given.",
    "redirect.parameters",
    back((address) => {
      const kept = ["reference", "merchantsReference", "status"].map((name) => [
        name,
        address.searchParams.get(name) ?? "",
      ]);
      address.search = String(new URLSearchParams(kept));
      return address.href;
    }),
  ),
  fault(
    "back-always-success",
    "The way back always says success.",
    "redirect.parameters",
    back((address) => {
      address.searchParams.set("status", address.searchParams.get("status") === "success" ? "failed" : "success");
      return address.href;
    }),
  ),
  fault("back-302", "The way back is a 302.", "redirect.parameters", {
    async handle(call, ask) {
      const reply = await ask(call);
      return reply?.headers.location?.startsWith("http") ? { ...reply, status: 302 } : reply;
    },
  }),
];
