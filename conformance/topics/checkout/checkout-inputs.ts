// Creates checkouts under every pair of conditions, ends them in turn, and uses their references again
// (generate/inputs.ts; §2.4, §4.3, D6, D3).
import { describeResponse, given, type Check, type Context } from "../../check.ts";
import { hasControl } from "../../run-options.ts";
import type { TargetResponse } from "../../target/exchange.ts";
import { verifyCheckout } from "../checkout-request/checkout-record.ts";
import { linkOf } from "./checkout.ts";
import { expectStatus, same } from "../../steps/expect.ts";
import { planOf, type Planned } from "../../generate/plan.ts";
import { fieldsOf, send } from "../inputs/inputs.ts";
import type { Body } from "../create/records.ts";
import {
  checkoutBody,
  dataOf,
  is2xx,
  is4xx,
  siteOf,
  someAddress,
  startCheckout,
  startInvalidCheckout,
} from "../../steps/requests.ts";
import { finishAny } from "../../steps/sandbox-controls.ts";
import { several } from "../../steps/several.ts";
import { textOf } from "../../target/values.ts";

const concurrency = 12;
const outcomes = ["success", "failed", "cancelled", undefined];
const accepted = "checkout.optional-fields";
const kept = "checkout-record.agrees";
const used = "checkout-request.reference-unique";

type Made = { planned: Planned; body: Body; response: TargetResponse };

/**
 * Creates a checkout. If the target refuses it, it must accept a checkout with usual values and the same optional
 * fields.
 */
async function create(context: Context, planned: Planned): Promise<Made> {
  const { form, digits } = planned.conditions;
  const { amount, country, currency, webhookURL, reference } = fieldsOf(context, planned);
  const redirectURL = digits.round ? `https://${siteOf(context)}/orders/1?step=done&item=2#top` : undefined;
  const named = context.options.profile === "extended" ? { reference } : {};
  const body: Body = { amount, country, currency, webhookURL, redirectURL, ...named };
  const response = await send(context, form, body, startCheckout);
  if (is2xx(response)) return { planned, body, response };
  const usual = checkoutBody(context, { webhookURL: webhookURL && someAddress(context), redirectURL, ...named });
  const again = is4xx(response) ? await startCheckout(context, usual) : response;
  expectStatus(
    context,
    accepted,
    again,
    "2xx",
    `for ${Object.keys(JSON.parse(JSON.stringify(usual)) as Body).join(", ")}`,
  );
  return { planned, body: usual, response: again };
}

/** Judges that a checkout's record has the values of its request and of its response. */
async function judgeRecord(context: Context, { body, response }: Made, ended: Body) {
  const { url: _, ...created } = dataOf(response);
  const { reference: merchantsReference, webhookURL, redirectURL, ...asked } = body;
  const addresses = { ...(webhookURL ? { webhookURL } : {}), ...(redirectURL ? { redirectURL } : {}) };
  const expected: Body = { ...created, ...asked, ...addresses, merchantsReference, ...ended };
  const found = await verifyCheckout(context, textOf(created["reference"]));
  const actual = Object.fromEntries(Object.keys(expected).map((name) => [name, dataOf(found)[name]]));
  same(context, kept, { what: "record", actual, expected }, [response, found]);
}

/** Judges that the reference of a checkout cannot be used again, and that the refusal names the checkout. */
async function judgeRepeat(context: Context, { planned, body, response }: Made) {
  const { repeatForm } = planned.conditions;
  const again = await send(context, repeatForm, { ...body, amount: 99 }, startInvalidCheckout);
  const { location = "missing" } = again.headers;
  const ok = again.status === 409 && location.endsWith(`/v1/checkouts/${textOf(dataOf(response)["reference"])}`);
  const expected = `409 with the checkout's Location for a duplicate reference, as ${repeatForm.what}`;
  context.judge(used, ok, expected, `${describeResponse(again)}, Location: ${location}`, again);
}

export const checks: Check[] = [
  {
    name: "Checkouts under every pair of conditions are recorded as requested, and their references are used",
    ids: [accepted, kept, used],
    effect: "moves-money",
    async run(context) {
      const made = await several(planOf(context.options), concurrency, (planned) => create(context, planned));
      const all = made.filter(({ response }) => is2xx(response) && linkOf(response) !== undefined);
      given(all.length > 0, "a 2xx with a link for a checkout", made[0]!.response);
      context.judge(accepted, true, "2xx", `2xx for ${all.length} checkouts`, all[0]!.response);
      const ends = hasControl(context.options, "finish");
      await several([...all.entries()], concurrency, async ([index, each]) => {
        const outcome = ends ? outcomes[index % outcomes.length] : undefined;
        const ended = outcome !== undefined && (await finishAny(context, each.response, outcome)) !== undefined;
        if (context.options.profile === "core") return;
        await judgeRecord(context, each, ended ? { status: outcome } : {});
        await judgeRepeat(context, each);
      });
    },
  },
];
