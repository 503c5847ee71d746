// Checks that a record stays hidden from requests without its owner's key after the owner has read or created it, so
// that neither a cache nor a kept connection shows it (§5, D4, D6, D42).
import { given, type Check, type Context } from "../../check.ts";
import type { TargetRequest } from "../../target/exchange.ts";
import { started } from "../checkout-request/checkout-record.ts";
import { expectHidden, shows } from "../../steps/expect.ts";
import { probesOf, sendProbe, wrongKey } from "../../steps/probes.ts";
import { get, is2xx, paid, pay, pays, usualAmount, verifyDisbursement } from "../../steps/requests.ts";
import { several } from "../../steps/several.ts";
import { textOf } from "../../target/values.ts";

const effect = "must-be-rejected";
/** How many probes are sent at the same time. */
const probesAtOnce = 6;

/**
 * Reads a path as its owner before each probe, and once more at the end. Only probes without any key try other methods
 * than GET, because services limit how many requests without a valid key they refuse with 401 per minute.
 */
async function judgeRead(context: Context, id: string, path: string, secrets: string[]) {
  const ownerReads = async () => {
    const response = await get(context, path);
    const seen = response.status === 200 && secrets.every((secret) => response.text.includes(secret));
    given(seen, `200 with the record for its owner at GET ${path}`, response);
  };
  await several(probesOf(context), probesAtOnce, async (probe) => {
    await ownerReads();
    await sendProbe(context, id, probe, { method: "GET", path }, secrets);
    if (probe.kind !== "missing") return;
    const send = (method: string) => context.target.send(probe.change({ method, path, effect, key: "none" }));
    const head = await send("HEAD");
    shows(context, id, head, !is2xx(head), `no 2xx for HEAD ${probe.what}`);
    for (const method of ["OPTIONS", "TRACE"]) {
      const response = await send(method);
      const isHidden = !secrets.some((secret) => response.text.includes(secret));
      shows(context, id, response, isHidden, `no record for ${method} ${probe.what}`);
    }
  });
  await ownerReads();
}

export const checks: Check[] = [
  {
    name: "Record stays hidden after its owner has read it",
    ids: ["access.record-hidden-after-owner"],
    ...pays(1),
    async run(context) {
      const { reference, body } = await paid(context);
      const path = `/v1/disbursements/${encodeURIComponent(reference)}`;
      await judgeRead(context, "access.record-hidden-after-owner", path, [textOf(body["reference"])]);
    },
  },
  {
    name: "Repeated create without the key is refused after its owner has paid",
    ids: ["access.create-refused-after-owner"],
    ...pays(1),
    payouts: 1 + 2 * probesAtOnce,
    amount: (1 + 2 * probesAtOnce) * usualAmount,
    async run(context) {
      const { reference, body } = await paid(context);
      const create: TargetRequest = { method: "POST", path: "/v1/disbursements", effect, json: body };
      let isPaid = false;
      await several(probesOf(context), probesAtOnce, async (probe) => {
        // If the target paid, no further round follows, because each further round could pay again.
        if (isPaid) return;
        const again = await pay(context, body);
        const response = await sendProbe(context, "access.create-refused-after-owner", probe, create, [reference]);
        isPaid ||= again.status === 200 || response.status === 200;
      });
    },
  },
  {
    name: "Records the response to two keys, of which the first is valid",
    ids: ["access.two-keys"],
    ...pays(1),
    async run(context) {
      const { reference } = await paid(context);
      for (const [name, keys] of [
        ["valid key first", [context.keyAs((key) => key), wrongKey(context).value]],
        ["valid key last", [wrongKey(context).value, context.keyAs((key) => key)]],
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
        ["/sandbox/clock", '"now"'],
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
        for (const key of ["own", "second", "own", "second", "own"] as const) {
          if (key === "second") {
            const hidden = { secrets: [secret], status, whom: "another merchant" };
            await expectHidden(context, id, { method: "GET", path, key }, hidden);
            continue;
          }
          const response = await get(context, path);
          const isSeen = response.status === 200 && response.text.includes(secret);
          shows(context, id, response, isSeen, `the record for its owner at GET ${path}`);
        }
      }
    },
  },
];
