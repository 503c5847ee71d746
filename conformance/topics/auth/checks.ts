// Checks authentication: sends every probe of the table to every operation, also while the owner's requests are served
// (§5).
import { define, type Context, given } from "../../check.ts";
import { type Probe, probesOf, sendProbe } from "../../steps/probes.ts";
import { checkoutBody, disbursementBody } from "../../steps/bodies.ts";
import { get } from "../../steps/requests.ts";
import { is2xx } from "../../steps/responses.ts";
import { paid } from "../../steps/records.ts";
import { invalidAtOnce, several } from "../../steps/several.ts";
import type { TargetRequest } from "../../target/exchange.ts";
import { textOf } from "../../target/values.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

const readsAtOnce = 12;

/** This number of probes is sent for each request of the owner. */
const probesPerRead = 2;

type Operation = {
  name: string;
  /**
   * The requirement that a target violates if it accepts the probe: one requirement for all kinds of probes, or one for
   * each kind.
   */
  ids: Record<Probe["kind"], RequirementId>;
  pays?: number;
  /** Returns a function that makes a valid request without a key, and values that only its owner may see. */
  open(context: Context): Promise<{ request: () => TargetRequest; secrets?: string[] }>;
};

const stated = (missing: RequirementId, unknown: RequirementId): Operation["ids"] => ({
  missing,
  unknown,
  altered: "auth.whole-key-compared",
  misplaced: "auth.key-only-in-header",
  around: "auth.no-way-around",
});
const all = (id: RequirementId) => ({ missing: id, unknown: id, altered: id, misplaced: id, around: id });

const creating = (path: string, bodyOf: (context: Context) => unknown) => async (context: Context) => ({
  request: () => ({ method: "POST", path, effect: "must-be-rejected", json: bodyOf(context) }) as const,
});
const reading = (pathOf: (context: Context) => string) => async (context: Context) => ({
  request: () => ({ method: "GET", path: pathOf(context) }),
});

const operations: Operation[] = [
  {
    name: "Creating a disbursement",
    ids: stated("auth.create-needs-key", "auth.create-refuses-wrong-key"),
    open: creating("/v1/disbursements", disbursementBody),
  },
  {
    name: "Verifying a disbursement",
    ids: stated("auth.verify-needs-key", "auth.verify-refuses-wrong-key"),
    open: reading((context) => `/v1/disbursements/${context.fresh()}`),
  },
  {
    name: "Creating a checkout",
    ids: stated("auth.checkout-needs-key", "auth.checkout-refuses-wrong-key"),
    open: creating("/v1/checkouts", checkoutBody),
  },
  {
    name: "Verifying an existing disbursement",
    ids: all("auth.record-hidden-without-key"),
    pays: 1,
    async open(context) {
      const { reference, body } = await paid(context);
      const path = `/v1/disbursements/${encodeURIComponent(reference)}`;
      return { request: () => ({ method: "GET", path }), secrets: [textOf(body["reference"])] };
    },
  },
  {
    name: "Retrieving a checkout",
    ids: all("checkout-record.needs-key"),
    open: reading(({ target }) => `/v1/checkouts/${target.merchant.unknown}`),
  },
  { name: "Listing disbursements", ids: all("lists.needs-key"), open: reading(() => "/v1/disbursements") },
  { name: "Listing checkouts", ids: all("lists.needs-key"), open: reading(() => "/v1/checkouts") },
];

export const checks = define(
  operations.map(({ name, ids, pays = 0, open }) => ({
    name: `${name} is refused without the valid key in x-api-key`,
    ids: [...new Set(Object.values(ids))],
    pays,
    async run(context: Context) {
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
      const atOnce = request().method === "POST" ? invalidAtOnce(context) : readsAtOnce;
      await several(mixed, atOnce, (each) => each());
    },
  })),
);
