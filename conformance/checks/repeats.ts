// Checks that the reference alone decides whether a disbursement is a duplicate, whichever other fields differ (§2.1,
// §7).
import type { Check, Context } from "../check.ts";
import { payeeAbroad } from "../allowances/fit.ts";
import { pairOf, payeeIn } from "../generate/countries.ts";
import { serialisations, type Serialisation } from "../generate/serialisations.ts";
import { allowsMadeUpNumbers } from "../run-options.ts";
import { expectStatus, same } from "./expect.ts";
import { differentBodies, recordIn, recordOf } from "./records.ts";
import { atOnce, dataOf, get, paid, pay, pays, someAddress, usualAmount, verified } from "./requests.ts";
import { listed } from "./sandbox-controls.ts";

const concurrency = 12;
/** The most variants of one disbursement that are sent. */
const maxVariants = 9 + serialisations.length;

type Body = Record<string, unknown>;
type Variant = { what: string; over: Body; foreign?: boolean; serialisation?: Serialisation };

/** A target that does not pay this recipient, country or currency may refuse the request for that reason. */
const statusesOf = ({ foreign, serialisation }: Variant) =>
  foreign ? [409, 400, 422] : serialisation?.optional ? "4xx" : 409;

/** Returns changes of a disbursement: of one field each, of all fields but the reference, and of the JSON alone. */
function variantsOf(context: Context, body: Body): Variant[] {
  const { options, random } = context;
  const amount = 1 + ((Number(body["amount"]) + random(0, usualAmount - 3)) % usualAmount);
  const webhookURL = `${someAddress(context)}&repeat=1`;
  const safe: Variant[] = [
    { what: "no difference", over: {} },
    { what: "a different amount", over: { amount } },
    { what: "a different webhookURL", over: { webhookURL } },
    { what: "no webhookURL", over: { webhookURL: undefined } },
    ...serialisations.map((serialisation) => ({ what: `a body ${serialisation.what}`, over: {}, serialisation })),
  ];
  if (!allowsMadeUpNumbers(options)) return safe;
  const { phoneNumber } = payeeIn(pairOf(body["phoneNumber"]), options.recipient, random);
  const abroad = payeeAbroad(options, body["phoneNumber"], random);
  const foreign: Variant[] = [
    { what: "a different phone number", over: { phoneNumber } },
    { what: "a different currency", over: { currency: "USD" } },
    { what: "a different country", over: { country: abroad?.country } },
    { what: "a different recipient, country and currency", over: { ...abroad } },
    { what: "a different value of every other field", over: { ...abroad, amount, webhookURL } },
  ];
  return [...safe, ...foreign.map((variant) => ({ ...variant, foreign: true }))];
}

/** Sends a variant of a disbursement. */
const repeat = (context: Context, { over, serialisation }: Variant, body: Body) =>
  serialisation
    ? pay(context, undefined, serialisation.write({ ...body, ...over }))
    : pay(context, { ...body, ...over });

/** Sends every variant of a new disbursement, with its reference. Returns the disbursement. */
async function repeatAll(context: Context, judge: (variant: Variant, reference: string, body: Body) => Promise<void>) {
  const first = await paid(context, { webhookURL: someAddress(context) });
  for (const variant of variantsOf(context, first.body)) await judge(variant, first.reference, first.body);
  return first;
}

export const checks: Check[] = [
  {
    name: "Duplicate reference is refused whichever other fields differ",
    ids: ["create.duplicate-any-field"],
    ...pays(1 + maxVariants),
    async run(context) {
      const id = "create.duplicate-any-field";
      const { body, data, reference } = await repeatAll(context, async (variant, _, sent) => {
        const response = await repeat(context, variant, sent);
        expectStatus(context, id, response, statusesOf(variant), `for a duplicate reference with ${variant.what}`);
      });
      const { response } = await verified(context, reference);
      const expected = recordOf(body, data);
      same(context, id, { what: "record of the first", actual: recordIn(response, body), expected }, response);
    },
  },
  {
    name: `Of ${concurrency} concurrent disbursements with the same reference and different other fields, one is accepted`,
    ids: ["create.duplicate-race-any-field"],
    ...pays(concurrency),
    alone: true,
    async run(context) {
      const id = "create.duplicate-race-any-field";
      const reference = context.fresh();
      const bodies = differentBodies(context, concurrency).map((body) => ({ ...body, reference }));
      const responses = await atOnce(context, bodies);
      const accepted = responses.findIndex(({ status }) => status === 200);
      for (const [index, response] of responses.entries()) {
        const statuses =
          index === accepted ? [200] : [409, ...(allowsMadeUpNumbers(context.options) ? [400, 422] : [])];
        expectStatus(context, id, response, accepted < 0 ? 200 : statuses, "for one request, and 409 for the others");
      }
      const [body, response] = [bodies[accepted], responses[accepted]];
      if (!body || !response) return;
      const found = await verified(context, String(dataOf(response)["reference"]));
      const expected = recordOf(body, dataOf(response));
      const actual = recordIn(found.response, body);
      same(context, id, { what: "record", actual, expected }, [response, found.response]);
    },
  },
  {
    name: "Refused duplicates add no record to the list",
    ids: ["uniqueness.one-record"],
    ...pays(1 + maxVariants),
    async run(context) {
      const { body, reference } = await repeatAll(context, async (variant, _, sent) => {
        await repeat(context, variant, sent);
      });
      const path = `/v1/disbursements?merchantsReference=${encodeURIComponent(String(body["reference"]))}`;
      const response = await get(context, path);
      const actual = listed(response).map((item) => item["reference"]);
      same(context, "uniqueness.one-record", { what: "listed records", actual, expected: [reference] }, response);
    },
  },
];
