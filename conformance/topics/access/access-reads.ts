// Checks that only a POST pays, and that verify neither creates nor changes anything (§4.1, §4.2).
import type { Check, Context } from "../../check.ts";
import type { TargetRequest } from "../../target/exchange.ts";
import { allowsMadeUpNumbers } from "../../run-options.ts";
import { sameRecord } from "../refused/refused-existing.ts";
import { awaitWebhook, costOf, judgeAddresses, refuseThenPay, type Refusable } from "../refused/refused-requests.ts";
import { get, paid, pays, verified } from "../../steps/requests.ts";
import { settled } from "../../steps/settlement.ts";
import { textOf } from "../../target/values.ts";

const effect = "must-be-rejected";
const overrides = {
  "x-http-method-override": "POST",
  "x-method-override": "POST",
  "x-http-method": "POST",
};

const withBody = (method: string, path: string, headers: Record<string, string> = {}): Refusable => ({
  what: `${method} ${path} ${Object.keys(headers).join(", ")}`.trim(),
  send: (context, json) => context.target.send({ method, path, effect, json, headers }),
});

/** Puts the fields of a create into the query. A phone number of a real person must not appear in a log of URLs. */
const inQuery = (method: string): Refusable => ({
  what: `${method} /v1/disbursements with the fields in the query`,
  send(context, body) {
    const fields = Object.entries(body).map(([name, value]) => [name, textOf(value)]);
    const query = allowsMadeUpNumbers(context.options) ? `?${new URLSearchParams(fields)}` : "";
    return context.target.send({ method, path: `/v1/disbursements${query}`, effect });
  },
});

const reads: Refusable[] = [
  withBody("GET", "/v1/disbursements"),
  withBody("HEAD", "/v1/disbursements"),
  withBody("OPTIONS", "/v1/disbursements"),
  withBody("GET", "/v1/disbursements", overrides),
  withBody("GET", "/v1/disbursements?_method=POST"),
  inQuery("GET"),
  inQuery("HEAD"),
];

const verifying = (what: string, more: (body: Record<string, unknown>) => Partial<TargetRequest>): Refusable => ({
  what,
  send(context, body) {
    const path = `/v1/disbursements/${encodeURIComponent(textOf(body["reference"]))}`;
    return get(context, path, { effect, ...more(body) });
  },
});
const verifies: Refusable[] = [
  verifying("verify", () => ({})),
  verifying("verify with HEAD", () => ({ method: "HEAD" })),
  verifying("verify with the body of a create", (json) => ({ json })),
];

/** Requests that read a record, but might change it on a faulty target. */
const looks: Partial<TargetRequest & { query: string }>[] = [
  {},
  { method: "HEAD" },
  { query: "?status=failed&amount=1" },
  { json: { status: "failed", amount: 1 } },
  { headers: { "x-http-method-override": "DELETE" } },
  { headers: { accept: "text/html, application/xml, application/json" } },
  { key: "none" },
];

async function look(context: Context, reference: string) {
  for (const { query = "", ...more } of looks) {
    const path = `/v1/disbursements/${encodeURIComponent(reference)}${query}`;
    await get(context, path, { effect, ...more });
  }
}

export const checks: Check[] = [
  {
    name: "GET, HEAD and OPTIONS pay nothing",
    ids: ["reads.pay-nothing", "refused.no-webhook"],
    ...costOf(reads),
    async *run(context) {
      // A list of disbursements would be a correct response too, so the status does not matter.
      const { paid: valid } = await refuseThenPay(context, "reads.pay-nothing", reads, () => true);
      yield;
      if (valid) await awaitWebhook(context, valid);
      judgeAddresses(context);
    },
  },
  {
    name: "Verify creates nothing",
    ids: ["reads.verify-creates-nothing"],
    ...costOf(verifies),
    async run(context) {
      await refuseThenPay(context, "reads.verify-creates-nothing", verifies, () => true);
    },
  },
  {
    name: "Verify changes nothing",
    ids: ["reads.verify-changes-nothing"],
    ...pays(1),
    async *run(context) {
      const { reference } = await paid(context);
      yield;
      const { data: before } = await settled(context, reference);
      await look(context, reference);
      const { data, response } = await verified(context, reference);
      const what = "after it was verified several times, the record";
      sameRecord(context, "reads.verify-changes-nothing", what, [before, data], [response]);
    },
  },
];
