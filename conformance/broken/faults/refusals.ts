// Servers that refuse with the wrong status or check a request in the wrong order (D1).
import { type Fault, fault, type Call, type Hooks, quickFault } from "../fault.ts";
import {
  responses,
  createCheckout,
  createDisbursement,
  fieldsOf,
  isAccepted,
  isOf,
  keyOf,
  refusal,
  withHeader,
  withStatus,
  type Fields,
} from "../ways.ts";

const payments = [createDisbursement, createCheckout];

/** Returns status `to` instead of `from` to matching requests. */
const becomes = (
  from: number,
  to: number,
  fits: (fields: Fields | undefined, call: Call) => boolean = () => true,
): Hooks =>
  responses(payments, (reply, call) =>
    reply.status === from && fits(fieldsOf(call.body), call) ? withStatus(reply, to) : reply,
  );
const fields = ["reference", "amount", "phoneNumber", "country", "currency"];
const lacks = (body: Fields | undefined) => body !== undefined && fields.some((field) => body[field] === undefined);
const before = (fits: (call: Call) => boolean, status: number): Hooks => ({
  handle: async (call, ask) => (fits(call) ? refusal(status) : ask(call)),
});
const withoutKey = (call: Call) => keyOf(call) === undefined;
const type = ({ headers }: Call) => String(headers["content-type"] ?? "");
const known = (path: string) => /^\/(v1|sandbox|healthz|readyz|checkouts)\b/.test(path);

export const faults: readonly Fault[] = [
  quickFault("malformed-422", "A malformed body returns 422.", "refusal.malformed-400", () =>
    becomes(400, 422, (body) => body === undefined),
  ),
  fault("checkout-malformed-422", "A malformed checkout body returns 422.", "refusal.malformed-400", () =>
    responses(createCheckout, (reply, call) =>
      reply.status === 400 && fieldsOf(call.body) === undefined ? withStatus(reply, 422) : reply,
    ),
  ),
  fault("missing-422", "A missing field returns 422.", "refusal.missing-field-400", () => becomes(400, 422, lacks)),
  fault("checkout-missing-422", "A missing checkout field returns 422.", "refusal.missing-field-400", () =>
    responses(createCheckout, (reply, call) =>
      reply.status === 400 && fieldsOf(call.body) !== undefined ? withStatus(reply, 422) : reply,
    ),
  ),
  fault("type-422", "A field of the wrong type returns 422.", "refusal.wrong-type-400", () =>
    becomes(400, 422, (body) => body !== undefined && !lacks(body)),
  ),
  fault("value-400", "An invalid value returns 400.", "refusal.bad-value-422", () => becomes(422, 400)),
  fault(
    "checkout-value-400",
    "An invalid checkout value returns 400.",
    "refusal.bad-value-422 checkout-request.generated-refused",
    () => responses(createCheckout, (reply) => (reply.status === 422 ? withStatus(reply, 400) : reply)),
  ),
  fault("address-400", "An invalid webhookURL returns 400.", "refusal.bad-value-422 addresses.refused", () =>
    becomes(422, 400, (body) => body?.["webhookURL"] !== undefined),
  ),
  fault("mixed-422", "A request with one error of 400 and one of 422 returns 422.", "refusal.mixed-400", () =>
    becomes(
      400,
      422,
      (body) => body !== undefined && (!/^\d{10,15}$/.test(String(body["phoneNumber"])) || body["country"] === "ci"),
    ),
  ),
  fault("text-plain-accepted", "JSON with Content-Type text/plain is accepted.", "refusal.media-type-415", () => ({
    handle: (call, ask) =>
      ask(
        type(call) === "text/plain"
          ? { ...call, headers: { ...call.headers, "content-type": "application/json" } }
          : call,
      ),
  })),
  fault("no-content-type-accepted", "JSON without a Content-Type is accepted.", "refusal.media-type-415", () => ({
    handle: (call, ask) =>
      ask(
        isOf(call, payments) && type(call) === ""
          ? { ...call, headers: { ...call.headers, "content-type": "application/json" } }
          : call,
      ),
  })),
  fault("media-type-400", "An unsupported media type returns 400.", "refusal.media-type-415", () => becomes(415, 400)),
  fault("unknown-path-401", "An unknown path returns 401 without a key.", "refusal.unknown-path-404", () =>
    before((call) => withoutKey(call) && !known(call.path), 401),
  ),
  fault("unknown-path-200", "An unknown path returns 200.", "refusal.unknown-path-404", () =>
    before(({ path }) => path === "/nothing", 200),
  ),
  fault("path-in-any-case", "Paths are matched without regard to case.", "refusal.unknown-path-404", () => ({
    handle: (call, ask) => ask({ ...call, path: call.path.replace(/^\/V1/, "/v1") }),
  })),
  fault("method-404", "A wrong method returns 404.", "refusal.wrong-method-405", () => ({
    async handle(call, ask) {
      const reply = await ask(call);
      return reply?.status === 405 ? withStatus(reply, 404) : reply;
    },
  })),
  fault("allow-missing", "A 405 has no Allow header.", "refusal.wrong-method-405", () =>
    responses("every", (reply) => withHeader(reply, "allow")),
  ),
  fault("allow-everything", "The Allow header lists methods that are not allowed.", "refusal.wrong-method-405", () =>
    responses("every", (reply) =>
      reply.status === 405 ? withHeader(reply, "allow", "GET, POST, PUT, PATCH, DELETE") : reply,
    ),
  ),
  fault("key-before-method", "The key is checked before the method.", "refusal.order", () =>
    before((call) => withoutKey(call) && call.method === "DELETE", 401),
  ),
  fault("key-before-path", "The key is checked before the path.", "refusal.order refusal.unknown-path-404", () =>
    before((call) => withoutKey(call) && call.path === "/v1/nothing", 401),
  ),
  fault("size-before-key", "The body size is checked before the key.", "refusal.order", () =>
    before((call) => withoutKey(call) && call.body.length > 16_384, 413),
  ),
  fault("type-before-key", "The media type is checked before the key.", "refusal.order", () =>
    before((call) => withoutKey(call) && type(call) === "text/plain", 415),
  ),
  fault("type-before-size", "The media type is checked before the body size.", "refusal.order", () =>
    before((call) => !withoutKey(call) && type(call) === "text/plain" && call.body.length > 16_384, 415),
  ),
  fault("syntax-before-type", "The JSON syntax is checked before the media type.", "refusal.order", () =>
    before((call) => type(call) === "text/plain" && call.body.toString() === "not json", 400),
  ),
  fault("duplicate-before-value", "Uniqueness is checked before the values.", "refusal.order", () => {
    const used = new Set<unknown>();
    return {
      async handle(call, ask) {
        const reference = isOf(call, createDisbursement) ? fieldsOf(call.body)?.["reference"] : undefined;
        if (reference !== undefined && used.has(reference)) return refusal(409);
        const reply = await ask(call);
        if (reply && isAccepted(reply)) used.add(reference);
        return reply;
      },
    };
  }),
];
