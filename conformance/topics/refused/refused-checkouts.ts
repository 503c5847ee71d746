// Checks that refused checkouts leave nothing behind (§6, D6, D42), and checks the webhook addresses of all refused
// requests once more.
import { Prerequisite, type Check, type Context } from "../../check.ts";
import { hasControl } from "../../run-options.ts";
import { isRefused, type TargetRequest, type TargetResponse } from "../../target/exchange.ts";
import { wrongKey } from "../../steps/probes.ts";
import { started, verifyCheckout } from "../checkout-request/checkout-record.ts";
import { same, shows } from "../../steps/expect.ts";
import { malformed } from "../json/json.ts";
import { arrived } from "../../steps/notifications.ts";
import { addressOf, judgeAddresses, watchAddress } from "./refused-requests.ts";
import {
  asJson,
  checkoutBody,
  dataOf,
  disbursementBody,
  get,
  is2xx,
  paid,
  payInvalid,
  pays,
  startCheckout,
  startInvalidCheckout,
} from "../../steps/requests.ts";
import { advance, finishAny, listed } from "../../steps/sandbox-controls.ts";
import { invalidAtOnce, several } from "../../steps/several.ts";

type Refused = [what: string, send: (context: Context, body: Record<string, unknown>) => Promise<TargetResponse>];

const withKey = (what: string, key: (context: Context) => TargetRequest["key"]): Refused => [
  what,
  (context, body) => startInvalidCheckout(context, body, { key: key(context) }),
];
const withField = (field: string, value: unknown): Refused => [
  `${field} ${JSON.stringify(value) ?? "missing"}`,
  (context, body) => startInvalidCheckout(context, { ...body, [field]: value }),
];

const refused: Refused[] = [
  withKey("no key", () => "none"),
  withKey("an unknown key", wrongKey),
  ...["amount", "currency", "country"].map((field) => withField(field, undefined)),
  withField("amount", "2500"),
  withField("country", "CIV"),
  ...malformed({}).map(([what], index): Refused => [
    what,
    (context, body) => startInvalidCheckout(context, undefined, asJson(malformed(body)[index]![1])),
  ]),
  ["an array of one request", (context, body) => startInvalidCheckout(context, [body])],
  ...["PUT", "PATCH", "DELETE"].map((method): Refused => [
    `${method} /v1/checkouts`,
    (context, body) => context.target.send({ method, path: "/v1/checkouts", effect: "must-be-rejected", json: body }),
  ]),
];

/** Sends every refused checkout, each with a separate address. Returns the refusals. */
async function refuseAll(context: Context, over: Record<string, unknown> = {}): Promise<TargetResponse[]> {
  const sent = await several(refused, invalidAtOnce(context), async ([what, send]) => {
    const box = context.receiver?.openMailbox();
    return { what, box, response: await send(context, checkoutBody(context, { ...over, ...addressOf(box) })) };
  });
  const refusals = sent.filter(({ response }) => isRefused(response));
  for (const { what, box, response } of refusals) watchAddress(context, `${what} (checkout)`, box, response);
  if (refusals.length === 0) throw new Prerequisite("a refusal of an invalid checkout", "all were accepted");
  return refusals.map(({ response }) => response);
}

/** Judges how many disbursements and checkouts with this reference of the merchant are listed. */
async function judgeListed(context: Context, reference: string, expected: number, refusals: TargetResponse[]) {
  for (const kind of ["disbursements", "checkouts"]) {
    const query = `merchantsReference=${encodeURIComponent(reference)}`;
    const response = await get(context, `/v1/${kind}?${query}`);
    const actual = listed(response).length;
    same(context, "refused.not-listed", { what: `number of listed ${kind}`, actual, expected }, [
      ...refusals,
      response,
    ]);
  }
}

export const checks: Check[] = [
  {
    name: "Refused checkout sends no webhook",
    ids: ["refused.no-webhook"],
    effect: "moves-money",
    needs: ["receiver"],
    async run(context) {
      await refuseAll(context);
      // The webhook of a valid checkout arrives after any webhook of an earlier request.
      const box = context.receiver?.openMailbox();
      const valid = await startCheckout(context, checkoutBody(context, addressOf(box)));
      const finish = hasControl(context.options, "finish");
      const finished = finish && (await finishAny(context, valid, "success")) !== undefined;
      if (box && finished) await arrived(context, box);
      judgeAddresses(context);
    },
  },
  {
    name: "Refused checkout leaves its reference free and expires unnoticed",
    ids: ["refused.checkout-leaves-nothing", "refused.no-webhook"],
    effect: "moves-money",
    needs: ["clock"],
    async run(context) {
      const id = "refused.checkout-leaves-nothing";
      const reference = context.fresh();
      const responses = await refuseAll(context, { reference, amount: 77 });
      await verifyCheckout(context, reference);
      const body = checkoutBody(context, { reference, amount: 88 });
      const response = await startCheckout(context, body);
      const expected = "200 with amount 88 for a checkout whose reference was only in refused requests";
      const ok = is2xx(response) && dataOf(response)["amount"] === 88;
      shows(context, id, response, ok, expected, [...responses, response]);
      await advance(context, 1860);
      judgeAddresses(context);
    },
  },
  {
    name: "Refused requests are not listed",
    ids: ["refused.not-listed"],
    ...pays(6),
    async run(context) {
      const reference = context.fresh();
      const responses = await refuseAll(context, { reference });
      for (const key of ["none", wrongKey(context)] as const) {
        responses.push(await payInvalid(context, disbursementBody(context, { reference }), { key }));
      }
      for (const over of [{ amount: "100" }, { phoneNumber: "12" }, { currency: undefined }]) {
        responses.push(await payInvalid(context, disbursementBody(context, { reference, ...over })));
      }
      await judgeListed(context, reference, 0, responses);
      // As soon as there are records with this reference, the lists show them.
      await paid(context, { reference });
      await started(context, { reference });
      await judgeListed(context, reference, 1, responses);
    },
  },
  {
    name: "No webhook was sent for a refused request by the end of the run",
    ids: ["refused.no-webhook"],
    effect: "moves-money",
    needs: ["receiver"],
    phase: "closing",
    offline: true,
    run: async (context) => judgeAddresses(context, true),
  },
];
