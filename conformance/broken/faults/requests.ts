// Servers that misinterpret JSON values, paths or methods (§9, D53, D15, D26).
import { type Fault, fault, type Call, type Hooks, quickFault } from "../fault.ts";
import {
  accepts,
  createCheckout,
  createDisbursement,
  data,
  fieldsOf,
  instead,
  isFraction,
  isOf,
  refusal,
  verifyDisbursement,
  withFields,
  withHeader,
  hasExtra,
  extraIn,
  type Fields,
} from "../ways.ts";

const payments = [createDisbursement, createCheckout];
const textOf = ({ body }: Call) => body.toString("utf8");

/** Parses matching bodies with `JSON.parse`, which keeps the last of two equal keys and rounds long fractions. */
const parsesLeniently = (operation: string, pattern: RegExp): Hooks => ({
  handle: (call, ask) =>
    ask(isOf(call, operation) && pattern.test(textOf(call)) ? withFields(call, fieldsOf(call.body)) : call),
});
const refuses = (pattern: RegExp): Hooks => ({
  handle: async (call, ask) => (isOf(call, payments) && pattern.test(textOf(call)) ? refusal(400) : ask(call)),
});

const twice = /"(amount|country)":.*"\1":/;
const tinyFraction = /"amount":\d+\.0+[1-9]/;

export const faults: readonly Fault[] = [
  fault(
    "unknown-refused-by-checkout",
    "A checkout with an unknown field is refused.",
    "json-values.unknown-ignored",
    () => instead(createCheckout, hasExtra, () => refusal(400)),
  ),
  fault(
    "unknown-fraction-refused",
    "A body with a fraction in an unknown field is refused as malformed.",
    "json-values.unknown-ignored",
    () => ({
      handle(call, ask) {
        const { amount: _amount, ...others } = isOf(call, payments) ? (fieldsOf(call.body) ?? {}) : {};
        return ask(Object.values(others).some(isFraction) ? { ...call, body: Buffer.from("{") } : call);
      },
    }),
  ),
  fault("unknown-kept", "An unknown field of a request appears in the record.", "json-values.unknown-ignored", () => {
    const extras = new Map<unknown, Fields>();
    const shown = data(verifyDisbursement, (record) => {
      const extra = extras.get(record["merchantsReference"]);
      return extra === undefined ? record : { ...record, ...extra };
    });
    return {
      handle(call, ask) {
        const fields = isOf(call, createDisbursement) ? (fieldsOf(call.body) ?? {}) : {};
        const name = extraIn(fields);
        if (name !== undefined) extras.set(fields["reference"], { [name]: fields[name] });
        return shown.handle?.(call, ask) ?? ask(call);
      },
    };
  }),
  fault(
    "surrogate-replaced",
    "Half of a surrogate pair in a reference becomes a replacement character.",
    "json-values.lone-surrogate",
    () =>
      accepts(
        createDisbursement,
        "reference",
        (value) => typeof value === "string" && !value.isWellFormed(),
        (value) => String(value).toWellFormed(),
      ),
  ),
  fault("duplicate-key-last", "If a key has two values, the last value counts.", "json-values.duplicate-key", () =>
    parsesLeniently(createDisbursement, twice),
  ),
  fault(
    "duplicate-key-last-in-checkout",
    "If a key of a checkout has two values, the last value counts.",
    "json-values.duplicate-key",
    () => parsesLeniently(createCheckout, twice),
  ),
  fault("fraction-rounded", "A tiny fraction in an amount is rounded away.", "json-values.inexact-fraction", () =>
    parsesLeniently(createDisbursement, tinyFraction),
  ),
  fault(
    "fraction-rounded-in-checkout",
    "A tiny fraction in a checkout's amount is rounded away.",
    "json-values.inexact-fraction",
    () => parsesLeniently(createCheckout, tinyFraction),
  ),
  fault("point-refused", "An amount of 100.0 is refused.", "json-values.exact-integer", () =>
    refuses(/"amount":\d+\.0\b/),
  ),
  fault("exponent-refused", "An amount of 1e2 is refused.", "json-values.exact-integer", () =>
    refuses(/"amount":\d+e/),
  ),
  quickFault("head-405", "HEAD is refused.", "methods.head", () => ({
    handle: async (call, ask) => (call.method === "HEAD" ? refusal(405) : ask(call)),
  })),
  fault("head-of-list-405", "HEAD on a list is refused.", "methods.head", () => ({
    handle: async (call, ask) =>
      call.method === "HEAD" && call.path.startsWith("/v1/disbursements?") ? refusal(405) : ask(call),
  })),
  fault("head-untyped", "HEAD returns other headers than GET.", "methods.head", () => ({
    async handle(call, ask) {
      const reply = await ask(call);
      return reply && call.method === "HEAD" ? withHeader(reply, "content-type", "text/plain") : reply;
    },
  })),
  fault("options-204", "A CORS preflight succeeds.", "methods.options-405", () => ({
    handle: async (call, ask) =>
      call.method === "OPTIONS"
        ? { status: 204, headers: { allow: "GET, POST", "access-control-allow-origin": "*" }, text: "" }
        : ask(call),
  })),
  fault("options-with-origin", "A refused preflight allows every origin.", "methods.options-405", () => ({
    async handle(call, ask) {
      const reply = await ask(call);
      return reply && call.method === "OPTIONS" ? withHeader(reply, "access-control-allow-origin", "*") : reply;
    },
  })),
  fault("checkouts-moved", "A checkout without fields is redirected to another version.", "versioning.paths", () => ({
    handle: async (call, ask) =>
      isOf(call, createCheckout) && textOf(call) === "{}"
        ? withHeader(refusal(308), "location", "/v2/checkouts")
        : ask(call),
  })),
  quickFault("checkouts-missing", "A checkout without fields returns 404.", "versioning.paths", () => ({
    handle: async (call, ask) => (isOf(call, createCheckout) && textOf(call) === "{}" ? refusal(404) : ask(call)),
  })),
];
