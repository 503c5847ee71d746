// Checks that a record stays hidden from requests without its owner's key after the owner has read or created it, so
// that neither a cache nor a kept connection shows it (§5, D4, D8, D42).
import { describeResponse, type Check, type Context, given } from "../check.ts";
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import { base64, firstHalf } from "../target/key-forms.ts";
import { almostKeys, keysElsewhere, wrongKey } from "./auth.ts";
import { started } from "./checkout-record.ts";
import { paid, pay, usualAmount, verifyDisbursement, pays, get } from "./requests.ts";

const effect = "must-be-rejected";
const one = pays(1);

type Stranger = { what: string; request: Pick<TargetRequest, "key" | "headers"> & { query?: string } };

/** Requests without a valid key. Each of them differs from the owner's on the wire. */
function strangers(context: Context): Stranger[] {
  const { key, loopback } = context.options;
  const almost = almostKeys
    .map(([what, alter]) => ({ what, request: { key: { value: alter(key) } } }))
    .filter(({ request }) => request.key.value !== key);
  return [
    { what: "no key", request: { key: "none" } },
    { what: "an unknown key", request: { key: wrongKey(context) } },
    ...almost,
    { what: firstHalf.what, request: { key: { value: firstHalf.of(key) } } },
    { what: "the key after another character", request: { key: { value: `x${key}` } } },
    { what: "the key and another word", request: { key: { value: `${key} x` } } },
    { what: base64.what, request: { key: { value: base64.of(key) } } },
    { what: "two unknown keys", request: { key: "none", headers: { "x-api-key": ["certify-a", "certify-b"] } } },
    ...keysElsewhere.map(([where, place]) => ({
      what: `the key in ${where}`,
      request: { key: "none" as const, headers: place(key).headers ?? {} },
    })),
    // A key in a URL remains in the logs of every proxy on the way.
    ...(loopback
      ? ["x-api-key", "api_key", "key"].map((name) => ({
          what: `the key in the query as ${name}`,
          request: { key: "none" as const, query: `${name}=${encodeURIComponent(key)}` },
        }))
      : []),
  ];
}

const describe = (response: TargetResponse) => describeResponse(response).slice(0, 120);

/** Judges that a stranger's request gets 401, and that the response contains none of the record's values. */
function judgeHidden(context: Context, id: string, what: string, response: TargetResponse, secrets: string[]) {
  const shown = secrets.some((secret) => response.text.includes(secret));
  const ok = response.status === 401 && !shown;
  const { method, path } = response.request;
  const where = `${method} ${path.split("?")[0]}`;
  context.judge(
    id,
    ok,
    `401 and no record at ${where} with ${what}, after its owner's request`,
    describe(response),
    response,
  );
}

/** Reads a path as its owner before each stranger's GET and HEAD, and once more at the end. */
async function judgeRead(context: Context, id: string, path: string, secrets: string[]) {
  const ownerReads = async () => {
    const response = await get(context, path);
    const seen = response.status === 200 && secrets.every((secret) => response.text.includes(secret));
    given(seen, `200 with the record for its owner at GET ${path}`, response);
  };
  for (const { what, request } of strangers(context)) {
    const { query, ...rest } = request;
    const asked = query === undefined ? path : `${path}${path.includes("?") ? "&" : "?"}${query}`;
    await ownerReads();
    judgeHidden(context, id, what, await get(context, asked, rest), secrets);
    const head = await context.target.send({ method: "HEAD", path: asked, effect, ...rest });
    const { status = 0 } = head;
    context.judge(id, status < 200 || status > 299, `no 2xx for HEAD with ${what}`, describe(head), head);
  }
  await ownerReads();
}

export const checks: Check[] = [
  {
    name: "Record stays hidden after its owner has read it",
    ids: ["access.record-hidden-after-owner"],
    ...one,
    async run(context) {
      const { reference, body } = await paid(context);
      const path = `/v1/disbursements/${encodeURIComponent(reference)}`;
      await judgeRead(context, "access.record-hidden-after-owner", path, [String(body["reference"])]);
    },
  },
  {
    name: "Repeated create without the key is refused after its owner has paid",
    ids: ["access.create-refused-after-owner"],
    ...one,
    payouts: 3,
    amount: 3 * usualAmount,
    async run(context) {
      const { reference, body } = await paid(context);
      for (const { what, request } of strangers(context)) {
        const { query, ...rest } = request;
        const path = `/v1/disbursements${query === undefined ? "" : `?${query}`}`;
        const again = await pay(context, body);
        const response = await context.target.send({ method: "POST", path, effect, json: body, ...rest });
        judgeHidden(context, "access.create-refused-after-owner", what, response, [reference]);
        // Each further round could pay again.
        if (again.status === 200 || response.status === 200) return;
      }
    },
  },
  {
    name: "Records the response to two keys, of which the first is valid",
    ids: ["access.two-keys"],
    ...one,
    async run(context) {
      const { reference } = await paid(context);
      for (const [name, keys] of [
        ["valid key first", [context.options.key, wrongKey(context).value]],
        ["valid key last", [wrongKey(context).value, context.options.key]],
      ] as const) {
        const response = await verifyDisbursement(context, reference, { headers: { "x-api-key": [...keys] } });
        context.observe("access.two-keys", name, response.status ?? "no response");
      }
    },
  },
  {
    name: "Checkout records, lists and sandbox data stay hidden after their owner has read them",
    ids: ["access.others-hidden-after-owner"],
    ...pays(1),
    needs: ["time", "secret"],
    async run(context) {
      const fresh = context.fresh();
      const { reference } = await paid(context, { reference: fresh });
      const { reference: checkout } = await started(context, { reference: fresh });
      const query = `merchantsReference=${encodeURIComponent(fresh)}`;
      const paths: [path: string, secret: string][] = [
        [`/v1/checkouts/${checkout}`, checkout],
        [`/v1/disbursements?${query}`, reference],
        [`/v1/checkouts?${query}`, checkout],
        ["/sandbox/clock", "now"],
        ["/sandbox/webhook-secret", "whsec_"],
      ];
      for (const [path, secret] of paths) {
        await judgeRead(context, "access.others-hidden-after-owner", path, [secret]);
      }
    },
  },
  {
    name: "Record stays hidden from another merchant after its owner has read it",
    ids: ["access.merchants-apart-after-owner"],
    ...pays(1),
    needs: ["second-key"],
    async run(context) {
      const id = "access.merchants-apart-after-owner";
      const fresh = context.fresh();
      const { reference } = await paid(context, { reference: fresh });
      const { reference: checkout } = await started(context, { reference: fresh });
      const paths: [path: string, secret: string, status: number][] = [
        [`/v1/disbursements/${reference}`, fresh, 404],
        [`/v1/checkouts/${checkout}`, fresh, 404],
        [`/v1/disbursements?merchantsReference=${fresh}`, reference, 200],
        [`/v1/checkouts?merchantsReference=${fresh}`, checkout, 200],
      ];
      for (const [path, secret, status] of paths) {
        const ids = ["own", "second", "own", "second", "own"] as const;
        for (const key of ids) {
          const response = await get(context, path, { key });
          const seen = response.text.includes(secret);
          const ok = key === "own" ? response.status === 200 && seen : response.status === status && !seen;
          const expected = key === "own" ? "the record for its owner" : `${status} and no record for another merchant`;
          context.judge(id, ok, `${expected} at GET ${path}`, describe(response), response);
        }
      }
    },
  },
];
