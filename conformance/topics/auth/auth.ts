// Checks authentication: sends every probe of the table to every operation, also while the owner's requests are served
// (§5).
import { given, type Check, type Context } from "../../check.ts";
import type { Effect } from "../../results.ts";
import type { TargetRequest, TargetResponse } from "../../target/exchange.ts";
import { expectStatus } from "../../steps/expect.ts";
import { probesOf, sendProbe, wrongKey, type Probe } from "../../steps/probes.ts";
import { checkoutBody, disbursementBody, get, is2xx, paid, pays } from "../../steps/requests.ts";
import { invalidAtOnce, several } from "../../steps/several.ts";
import { textOf } from "../../target/values.ts";

const readsAtOnce = 12;
/** This number of probes is sent for each request of the owner. */
const probesPerRead = 2;

/** Expects 401 for a request without a key, and with an unknown key. */
export async function expectKeyNeeded(
  context: Context,
  id: string,
  what: string,
  send: (key: TargetRequest["key"]) => Promise<TargetResponse>,
) {
  expectStatus(context, id, await send("none"), 401, `for ${what} without a key`);
  expectStatus(context, id, await send(wrongKey(context)), 401, `for ${what} with an unknown key`);
}

type Operation = {
  name: string;
  /**
   * The requirement that a target violates if it accepts the probe: one requirement for all kinds of probes, or one for
   * each kind.
   */
  ids: Record<Probe["kind"], string>;
  cost: Pick<Check, "payouts" | "amount"> & { effect: Effect };
  /** Returns a function that makes a valid request without a key, and values that only its owner may see. */
  open(context: Context): Promise<{ request: () => TargetRequest; secrets?: string[] }>;
};

const stated = (prefix: string) => ({
  missing: `${prefix}-needs-key`,
  unknown: `${prefix}-refuses-wrong-key`,
  altered: "auth.whole-key-compared",
  misplaced: "auth.key-only-in-header",
  around: "auth.no-way-around",
});
const all = (id: string) => ({ missing: id, unknown: id, altered: id, misplaced: id, around: id });
const effect = "must-be-rejected";

const creating = (name: string, path: string, prefix: string, bodyOf: (context: Context) => unknown): Operation => ({
  name,
  ids: stated(prefix),
  cost: { effect },
  open: async (context) => ({ request: () => ({ method: "POST", path, effect, json: bodyOf(context) }) }),
});
const reading = (name: string, ids: Operation["ids"], pathOf: (context: Context) => string): Operation => ({
  name,
  ids,
  cost: { effect: "none" },
  open: async (context) => ({ request: () => ({ method: "GET", path: pathOf(context) }) }),
});

const operations: Operation[] = [
  creating("Creating a disbursement", "/v1/disbursements", "auth.create", disbursementBody),
  reading("Verifying a disbursement", stated("auth.verify"), (context) => `/v1/disbursements/${context.fresh()}`),
  creating("Creating a checkout", "/v1/checkouts", "auth.checkout", checkoutBody),
  {
    name: "Verifying an existing disbursement",
    ids: all("auth.record-hidden-without-key"),
    cost: pays(1),
    async open(context) {
      const { reference, body } = await paid(context);
      const path = `/v1/disbursements/${encodeURIComponent(reference)}`;
      return { request: () => ({ method: "GET", path }), secrets: [textOf(body["reference"])] };
    },
  },
  reading(
    "Retrieving a checkout",
    all("checkout-record.needs-key"),
    ({ target }) => `/v1/checkouts/${target.merchant.unknown}`,
  ),
  reading("Listing disbursements", all("lists.needs-key"), () => "/v1/disbursements"),
  reading("Listing checkouts", all("lists.needs-key"), () => "/v1/checkouts"),
];

export const checks: Check[] = operations.map(({ name, ids, cost, open }) => ({
  name: `${name} is refused without the valid key in x-api-key`,
  ids: [...new Set(Object.values(ids))],
  ...cost,
  async run(context) {
    const { request, secrets } = await open(context);
    const send = (probe: Probe) => sendProbe(context, ids[probe.kind], probe, request(), secrets);
    const [missing, unknown, ...others] = probesOf(context);
    // A target that accepts these probes accepts most of the other probes too, and each probe may pay.
    for (const probe of [missing!, unknown!]) {
      const response = await send(probe);
      given(!is2xx(response), `no 2xx ${probe.what}`, response);
    }
    const read = () => get(context, `/v1/disbursements/${context.target.merchant.unknown}`);
    const sends = others.map((probe) => () => send(probe));
    const mixed = sends.flatMap((each, index) => (index % probesPerRead === 0 ? [each] : [each, read]));
    const atOnce = cost.effect === effect ? invalidAtOnce(context) : readsAtOnce;
    await several(mixed, atOnce, (each) => each());
  },
}));
