// Checks the paths of the endpoints, and the methods HEAD and OPTIONS (§9, D26).
import { describeResponse, type Check, type Context } from "../../check.ts";
import { shows } from "../../steps/expect.ts";
import {
  get,
  is4xx,
  paid,
  payInvalid,
  pays,
  siteOf,
  startInvalidCheckout,
  verifyDisbursement,
} from "../../steps/requests.ts";

/** Statuses that mean that the requested path or method does not exist. */
const absent = [404, 405, 410];

const paths = ({ target: { merchant } }: Context): [path: string, allowed: string][] => [
  ["/v1/disbursements", "POST"],
  [`/v1/disbursements/${merchant.unknown}`, "GET"],
  ["/v1/checkouts", "POST"],
];

export const checks: Check[] = [
  {
    name: "Endpoints are under /v1 of the base address",
    ids: ["versioning.paths"],
    effect: "must-be-rejected",
    async run(context) {
      for (const response of [await payInvalid(context, {}), await startInvalidCheckout(context, {})]) {
        const { method, path } = response.request;
        const found = is4xx(response) && !absent.includes(response.status ?? 0);
        const expected = `a 4xx other than ${absent.join(", ")} for an empty object at ${method} ${path}`;
        shows(context, "versioning.paths", response, found, expected);
      }
      const unknown = await verifyDisbursement(context, context.fresh());
      const expected = "the service's own 404, in JSON, for an unknown reference";
      shows(context, "versioning.paths", unknown, unknown.status === 404 && unknown.json !== undefined, expected);
    },
  },
  {
    name: "HEAD returns what GET returns, without a body",
    ids: ["methods.head"],
    ...pays(1),
    async run(context) {
      const { reference } = await paid(context);
      for (const asked of [`/${reference}`, `/${context.fresh()}`, "?limit=1"]) {
        const path = `/v1/disbursements${asked}`;
        const shown = await get(context, path);
        const head = await context.target.send({ method: "HEAD", path, effect: "must-be-rejected" });
        const type = "content-type";
        const same =
          shown.status !== undefined &&
          head.status === shown.status &&
          head.text === "" &&
          head.headers[type] === shown.headers[type];
        const expected = `${shown.status} with Content-Type ${shown.headers[type]} and no body`;
        const actual = `${describeResponse(head)}, Content-Type ${head.headers[type] ?? "missing"}`;
        context.judge("methods.head", same, expected, actual, [shown, head]);
      }
    },
  },
  {
    name: "OPTIONS is refused with 405",
    ids: ["methods.options-405"],
    effect: "must-be-rejected",
    async run(context) {
      for (const [path, allowed] of paths(context)) {
        const headers = { origin: `https://${siteOf(context)}`, "access-control-request-method": allowed };
        const request = { method: "OPTIONS", path, key: "none", effect: "must-be-rejected", headers } as const;
        const response = await context.target.send(request);
        const { allow = "", "access-control-allow-origin": origin } = response.headers;
        const ok = response.status === 405 && allow.split(/\s*,\s*/).includes(allowed) && origin === undefined;
        const expected = `405 for a CORS preflight of ${path}, with ${allowed} in Allow`;
        const actual = `${describeResponse(response)}, Allow: ${allow || "missing"}, allowed origin: ${origin ?? "none"}`;
        context.judge("methods.options-405", ok, expected, actual, response);
      }
    },
  },
];
