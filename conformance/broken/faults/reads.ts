// Servers on which a request that only reads pays, uses a reference up or changes a record (§4.1 to §4.3).
import { type Fault, caughtOnlyBy, fault, type Call, type How, quickFault } from "../fault.ts";
import { payFrom, referenceOf } from "../hidden.ts";
import {
  isOf,
  keyOf,
  lastPart,
  refusal,
  responses,
  verifyDisbursement,
  withBody,
  dataOf,
  isAccepted,
} from "../ways.ts";

const create = "createDisbursement";

/** Pays matching requests in addition to responding to them. */
const pays =
  (fits: (call: Call) => boolean, plain: (call: Call) => Call = (call) => call): How =>
  (world) => ({
    async handle(call, ask) {
      if (fits(call) && keyOf(call) === world.key) await payFrom(plain(call), ask, world);
      return ask(call);
    },
  });
const at = (method: string, call: Call) => call.method === method && /^\/v1\/disbursements(\?|$)/.test(call.path);
const ordered = (method: string) => (call: Call) => at(method, call) && referenceOf(call) !== undefined;
/** Turns the query of a request into its body. */
const fromQuery = (call: Call): Call => ({
  ...call,
  body: Buffer.from(JSON.stringify(Object.fromEntries(new URL(call.path, "http://x").searchParams))),
});
const inQuery = (method: string) => (call: Call) => at(method, call) && /[?&]reference=/.test(call.path);

/** Uses up the reference of matching requests to verify. */
const reserves =
  (fits: (call: Call) => boolean): How =>
  (world) => {
    const used = new Set<string>();
    return {
      async handle(call, ask) {
        if (isOf(call, create) && keyOf(call) === world.key && used.has(referenceOf(call) ?? "")) return refusal(409);
        if (isOf({ ...call, method: "GET" }, verifyDisbursement) && fits(call)) used.add(lastPart(call));
        return ask(call);
      },
    };
  };

/** Finishes a checkout whose payment page is opened by a matching request. `count` is 1 for the first such request. */
const finishes =
  (outcome: string, fits: (call: Call, count: number) => boolean): How =>
  (world) => {
    const counts = new Map<string, number>();
    return {
      async handle(call, ask) {
        const reference = /^\/checkouts\/([^/?]+)$/.exec(call.path)?.[1];
        if (reference === undefined) return ask(call);
        const count = (counts.get(reference) ?? 0) + 1;
        counts.set(reference, count);
        const reply = await ask(call);
        if (fits(call, count)) {
          await ask({
            method: "POST",
            path: `/sandbox/checkouts/${reference}/finish`,
            headers: { "x-api-key": world.key, "content-type": "application/json" },
            body: Buffer.from(JSON.stringify({ outcome })),
          });
        }
        return reply;
      },
    };
  };
const link = "checkout.link-pays-nothing checkout-states.opened-stays-pending";
const agent = (call: Call) => String(call.headers["user-agent"]);

export const faults: readonly Fault[] = [
  caughtOnlyBy(
    "reads.pay-nothing refused.no-webhook",
    quickFault("get-pays", "GET with the body of a create pays.", "reads.pay-nothing", pays(ordered("GET"))),
  ),
  fault("head-pays", "HEAD with the body of a create pays.", "reads.pay-nothing", pays(ordered("HEAD"))),
  fault("options-pays", "OPTIONS with the body of a create pays.", "reads.pay-nothing", pays(ordered("OPTIONS"))),
  fault(
    "get-query-pays",
    "GET with the fields of a create in its query pays.",
    "reads.pay-nothing",
    pays(inQuery("GET"), fromQuery),
  ),
  fault(
    "head-query-pays",
    "HEAD with the fields of a create in its query pays.",
    "reads.pay-nothing",
    pays(inQuery("HEAD"), fromQuery),
  ),
  fault(
    "get-override-pays",
    "GET with X-HTTP-Method-Override: POST pays.",
    "reads.pay-nothing",
    pays((call) => ordered("GET")(call) && call.headers["x-http-method-override"] === "POST"),
  ),
  fault(
    "get-method-pays",
    "GET with _method=POST in its query pays.",
    "reads.pay-nothing",
    pays((call) => ordered("GET")(call) && call.path.includes("_method=POST")),
  ),
  caughtOnlyBy(
    "reads.verify-creates-nothing",
    fault(
      "verify-reserves",
      "Verifying an unknown reference uses it up.",
      "reads.verify-creates-nothing",
      reserves(({ method }) => method === "GET"),
    ),
  ),
  fault(
    "verify-head-reserves",
    "HEAD with an unknown reference uses it up.",
    "reads.verify-creates-nothing",
    reserves(({ method }) => method === "HEAD"),
  ),
  fault(
    "verify-body-reserves",
    "Verify with the body of a create uses its reference up.",
    "reads.verify-creates-nothing",
    reserves(({ body }) => body.length > 0),
  ),
  fault("verify-moves-created", "Each verify with a query moves createdAt.", "reads.verify-changes-nothing", () => {
    const moved = new Map<string, number>();
    return responses(verifyDisbursement, (reply, call) => {
      const ms = (moved.get(lastPart(call)) ?? 0) + (call.path.includes("?") ? 1000 : 0);
      moved.set(lastPart(call), ms);
      if (!isAccepted(reply)) return reply;
      const record = dataOf(reply);
      const createdAt = new Date(Date.parse(String(record["createdAt"])) + ms).toJSON();
      return withBody(reply, { statusCode: 200, data: { ...record, createdAt } });
    });
  }),
  caughtOnlyBy(
    "reads.verify-changes-nothing life.facts-kept",
    fault(
      "verify-query-changes",
      "Verify writes the values of its query into the record.",
      "reads.verify-changes-nothing",
      () => {
        const changed = new Map<string, number>();
        return responses(verifyDisbursement, (reply, call) => {
          const amount = new URL(call.path, "http://x").searchParams.get("amount");
          if (amount !== null) changed.set(lastPart(call), Number(amount));
          const other = changed.get(lastPart(call));
          return isAccepted(reply) && other !== undefined
            ? withBody(reply, { statusCode: 200, data: { ...dataOf(reply), amount: other } })
            : reply;
        });
      },
    ),
  ),
  caughtOnlyBy(
    "checkout.link-pays-nothing",
    fault(
      "link-pays",
      "Opening the link to the payment page pays the checkout.",
      link,
      finishes("success", ({ method }) => method === "GET"),
    ),
  ),
  fault(
    "link-head-pays",
    "HEAD of the payment page pays the checkout.",
    link,
    finishes("success", ({ method }) => method === "HEAD"),
  ),
  fault(
    "link-second-pays",
    "Opening the link to the payment page for the third time pays the checkout.",
    link,
    finishes("success", (_, count) => count === 3),
  ),
  fault(
    "link-preview-pays",
    "A messenger's preview of the link pays the checkout.",
    link,
    finishes("success", (call) => /WhatsApp|facebook/.test(agent(call))),
  ),
  fault(
    "link-fails",
    "Opening the link to the payment page lets the checkout fail.",
    "checkout-states.opened-stays-pending",
    finishes("failed", () => true),
  ),
];
