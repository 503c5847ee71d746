// Checks authentication: sends every probe of the table to every operation, also while the owner's requests are served
// (§5).
import { judges, type Check, type Context, given } from "../../check.ts";
import { type Probe, probesOf, sendProbe } from "../../steps/probes.ts";
import { type Body, checkoutBody, disbursementBody } from "../../steps/bodies.ts";
import { get } from "../../steps/requests.ts";
import { isAccepted, type TargetRequest } from "../../target/exchange.ts";
import { existingPayout, paid } from "../../steps/records.ts";
import { invalidAtOnce, several } from "../../steps/several.ts";
import { textOf } from "../../target/values.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

const readsAtOnce = 12;

/** This number of probes is sent for each request of the owner. */
const probesPerRead = 2;

/** A function that makes a valid request without a key, and values that only its owner may see. */
type Opened = { request: () => TargetRequest; secrets?: string[] };
/** The requirement that an accepted probe of each kind violates, the requests, and the payouts that `open` creates. */
type Operation = [
  ids: Record<Probe["kind"], RequirementId>,
  open: (context: Context) => Opened | Promise<Opened>,
  more?: { pays?: number; name?: string; existing?: true },
];

const byKind = (missing: RequirementId, unknown: RequirementId): Operation[0] => ({
  missing,
  unknown,
  altered: "auth.whole-key-compared",
  misplaced: "auth.key-only-in-header",
  around: "auth.no-way-around",
});
const always = (id: RequirementId) => ({ missing: id, unknown: id, altered: id, misplaced: id, around: id });

const creating = (path: string, bodyOf: (context: Context) => unknown) => (context: Context) => ({
  request: () => ({ method: "POST", path, effect: "must-be-rejected", json: bodyOf(context) }) as const,
});
const reading = (pathOf: (context: Context) => string) => (context: Context) => ({
  request: () => ({ method: "GET", path: pathOf(context) }),
});

/** Reads a payout that `open` makes or finds, with a secret that is in no response by chance. */
const readingOf =
  (open: typeof paid | typeof existingPayout, secretIn: (payout: { body: Body; data: Body }) => unknown) =>
  async (context: Context): Promise<Opened> => {
    const payout = await open(context);
    const path = `/v1/disbursements/${encodeURIComponent(payout.reference)}`;
    return { request: () => ({ method: "GET", path }), secrets: [textOf(secretIn(payout))] };
  };

const operations: Operation[] = [
  [byKind("auth.create-needs-key", "auth.create-refuses-wrong-key"), creating("/v1/disbursements", disbursementBody)],
  [
    byKind("auth.verify-needs-key", "auth.verify-refuses-wrong-key"),
    reading((context) => `/v1/disbursements/${context.fresh()}`),
  ],
  [byKind("auth.checkout-needs-key", "auth.checkout-refuses-wrong-key"), creating("/v1/checkouts", checkoutBody)],
  [always("auth.record-hidden-without-key"), readingOf(paid, ({ body }) => body["reference"]), { pays: 1 }],
  [always("auth.record-hidden-without-key"), readingOf(existingPayout, ({ data }) => data["id"]), { existing: true }],
  [always("checkout-record.needs-key"), reading(({ target }) => `/v1/checkouts/${target.merchant.unknown}`)],
  [always("lists.needs-key"), reading(() => "/v1/disbursements")],
  [always("lists.needs-key"), reading(() => "/v1/checkouts"), { name: "Listing checkouts needs a key" }],
];

export const checks: readonly Check[] = operations.map(([ids, open, more = {}]) =>
  judges([...new Set(Object.values(ids))], more, async (context) => {
    const { request, secrets } = await open(context);
    const send = (probe: Probe) => sendProbe(context, ids[probe.kind], probe, request(), secrets);
    const [missing, unknown, ...others] = probesOf(context);
    // Stop here if the target accepts these probes: it would accept most others too, and each may pay.
    for (const probe of [missing!, unknown!]) {
      const response = await send(probe);
      given(!isAccepted(response), `no 2xx ${probe.what}`, response);
    }
    const read = () => get(context, `/v1/disbursements/${context.target.merchant.unknown}`);
    const sends = others.map((probe) => () => send(probe));
    const mixed = sends.flatMap((each, index) => (index % probesPerRead === 0 ? [each] : [each, read]));
    const atOnce = request().method === "POST" ? invalidAtOnce(context) : readsAtOnce;
    await several(mixed, atOnce, (each) => each());
  }),
);
