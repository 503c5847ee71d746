// Checks that a record is seen only with its owner's key and its whole reference, that no cache or kept connection shows
// it to others, and that reading it or opening a link pays nothing (§4.1 to §4.3, §5, D3, D4, D19, D42).
import { judges, type Context, given } from "../../check.ts";
import { allowsMadeUpNumbers } from "../../run-options.ts";
import { expectData, expectHidden, expectStatus } from "../../steps/expect.ts";
import { arrived, type Box } from "../../steps/notifications.ts";
import { probesOf, sendProbe } from "../../steps/probes.ts";
import { type Body, checkoutBody } from "../../steps/bodies.ts";
import { listed } from "../../steps/responses.ts";
import { dataOf, isAccepted, type TargetRequest, type TargetResponse } from "../../target/exchange.ts";
import { get, listNamed, pay, startCheckout, verifyCheckout } from "../../steps/requests.ts";
import { existingPayout, paid, sameRecord, verified, started } from "../../steps/records.ts";
import { advance } from "../../steps/sandbox-controls.ts";
import { settled } from "../../steps/settlement.ts";
import { several } from "../../steps/several.ts";
import type { Notification, Receiver } from "../../target/receiver.ts";
import { textOf } from "../../target/values.ts";
import { finishAny, pageLink } from "../../steps/checkouts.ts";
import { addressOf, awaitAndJudge, costOf, type Refusable, refuseThenPay } from "../refused/checks.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

const effect = "must-be-rejected";
/** How many probes are sent at the same time. */
const probesAtOnce = 6;

/** Reads a path as its owner, who must see these values of the record. */
async function ownerReads(context: Context, id: RequirementId, path: string, secrets: readonly string[]) {
  const response = await get(context, path);
  const isSeen = response.status === 200 && secrets.every((secret) => response.text.includes(secret));
  context.judge(id, isSeen, `200 with the record for its owner at GET ${path}`, response);
}

/**
 * Reads a path as its owner before each probe, and once more at the end. Only probes without any key try other methods
 * than GET, because services limit how many requests without a valid key they refuse with 401 per minute.
 */
async function judgeRead(context: Context, id: RequirementId, path: string, secrets: string[]) {
  await several(probesOf(context), probesAtOnce, async (probe) => {
    await ownerReads(context, id, path, secrets);
    await sendProbe(context, id, probe, { method: "GET", path }, secrets);
    if (probe.kind !== "missing") return;
    const send = (method: string) => context.target.send(probe.change({ method, path, effect, key: "none" }));
    const head = await send("HEAD");
    context.judge(id, !isAccepted(head), `no 2xx for HEAD ${probe.what}`, head);
    for (const method of ["OPTIONS", "TRACE"]) {
      const response = await send(method);
      const isHidden = !secrets.some((secret) => response.text.includes(secret));
      context.judge(id, isHidden, `no record for ${method} ${probe.what}`, response);
    }
  });
  await ownerReads(context, id, path, secrets);
}

const paysNothing = "checkout.link-pays-nothing";

/** The requests of a browser, of a messenger's link preview and of a scanner for mail. */
const openings: { method?: "GET" | "HEAD"; headers?: Record<string, string> }[] = [
  { method: "HEAD" },
  {},
  {},
  { headers: { "user-agent": "WhatsApp/2.23", accept: "*/*" } },
  { headers: { "user-agent": "facebookexternalhit/1.1", purpose: "prefetch" } },
  { headers: { "sec-purpose": "prefetch;prerender" } },
];

/** Opens the link of a checkout in every way. */
async function openAll(context: Context, created: TargetResponse, sent: readonly string[]) {
  const link = pageLink(created, sent);
  for (const opening of openings) await context.target.openLink(link, opening);
}

/** Returns true if the body names success as a value or as the last word of an event's name. */
const statesSuccess = ({ body }: Notification) =>
  /"(?:[^"]*[._-])?(?:success|successful|succeeded|completed|paid|captured)"/i.test(body);

/** The checkout whose link was opened. `provable` is true if the target was seen to notify a success. */
const opened = new WeakMap<Receiver, { box: Box; created: TargetResponse; provable: boolean }>();

function judgeUnpaid(context: Context) {
  const { box, created, provable } = (context.receiver && opened.get(context.receiver)) ?? {};
  if (!box || !created) return context.couldNotRun(paysNothing, "no link was opened");
  const lie = box.received.find(statesSuccess);
  if (!lie && !provable) {
    return context.notApplicable(
      paysNothing,
      "the suite cannot pay the target's checkouts, so it would not notice a payment",
    );
  }
  const actual = lie ? lie.body.slice(0, 120) : "none received";
  const expected = "no notification of success for a checkout whose link was only opened";
  context.judge(paysNothing, !lie, expected, actual, created);
}

const overrides = { "x-http-method-override": "POST", "x-method-override": "POST", "x-http-method": "POST" };

const createAs = (method: string, path = "/v1/disbursements", headers: Record<string, string> = {}): Refusable => [
  `${method} ${path} ${Object.keys(headers).join(", ")}`.trim(),
  () => ({ method, path, headers }),
];

/** Puts the fields of a create into the query. A phone number of a real person must not appear in a log of URLs. */
const inQuery = (method: string): Refusable => [
  `${method} /v1/disbursements with the fields in the query`,
  (body, { options }) => {
    const fields = Object.entries(body).map(([name, value]) => [name, textOf(value)]);
    const query = allowsMadeUpNumbers(options) ? `?${new URLSearchParams(fields)}` : "";
    return { method, path: `/v1/disbursements${query}`, json: undefined };
  },
];

const reads: Refusable[] = [
  ...["GET", "HEAD", "OPTIONS"].map((method) => createAs(method)),
  createAs("GET", "/v1/disbursements", overrides),
  createAs("GET", "/v1/disbursements?_method=POST"),
  ...["GET", "HEAD"].map(inQuery),
];

const pathOf = (reference: unknown) => `/v1/disbursements/${encodeURIComponent(textOf(reference))}`;
const verifying = (what: string, more: (body: Body) => Partial<TargetRequest>): Refusable => [
  what,
  (body) => ({ method: "GET", path: pathOf(body["reference"]), json: undefined, ...more(body) }),
];

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

/** `after` is added to the path. */
type Variant = readonly [what: string, change: (reference: string) => string, after?: string];

/** Other references. Wildcards of SQL and of shells are among them. */
const others: Variant[] = [
  ["without its last character", (reference) => reference.slice(0, -1)],
  ["without its first character", (reference) => reference.slice(1)],
  ["cut in half", (reference) => reference.slice(0, reference.length / 2)],
  ["with another character at the end", (reference) => `${reference}x`],
  ["with a digit at the end", (reference) => `${reference}0`],
  ["with another character at the start", (reference) => `x${reference}`],
  ["with _ as last character", (reference) => `${reference.slice(0, -1)}_`],
  ["with % as last character", (reference) => `${reference.slice(0, -1)}%`],
  ["with * as last character", (reference) => `${reference.slice(0, -1)}*`],
  ["followed by NUL", (reference) => `${reference}\0`],
  ["followed by NUL and text", (reference) => `${reference}\0x`],
  ["followed by a comma and text", (reference) => `${reference},x`],
];

const otherCase = (reference: string) =>
  reference === reference.toUpperCase() ? reference.toLowerCase() : reference.toUpperCase();

/** Spellings that a router or a database may treat as the same reference. The interface does not forbid this. */
const spellings: Variant[] = [
  ["in another case", otherCase],
  ["followed by a space", (reference) => `${reference} `],
  ["after a space", (reference) => ` ${reference}`],
  ["followed by a line break", (reference) => `${reference}\n`],
  ["followed by a dot", (reference) => `${reference}.`],
  ["followed by .json", (reference) => `${reference}.json`],
  ["followed by a slash", String, "/"],
];

/** Returns the responses to each variant of a reference that differs from it. */
async function ask(context: Context, kind: string, reference: string, variants: readonly Variant[]) {
  const responses: [what: string, response: TargetResponse][] = [];
  for (const [what, change, after = ""] of variants) {
    const asked = encodeURIComponent(change(reference)) + after;
    if (asked !== encodeURIComponent(reference)) responses.push([what, await get(context, `/v1/${kind}/${asked}`)]);
  }
  return responses;
}

export const checks = [
  judges("access.record-hidden-after-owner", { pays: 1 }, async (context, id) => {
    const { reference, body } = await paid(context);
    await judgeRead(context, id, pathOf(reference), [textOf(body["reference"])]);
  }),
  judges("access.create-refused-after-owner", { pays: 1 + 2 * probesAtOnce }, async (context, id) => {
    const { reference, body } = await paid(context);
    const create: TargetRequest = { method: "POST", path: "/v1/disbursements", effect, json: body };
    let isPaid = false;
    await several(probesOf(context), probesAtOnce, async (probe) => {
      // If the target paid, no further round follows, because each further round could pay again.
      if (isPaid) return;
      const again = await pay(context, body);
      const response = await sendProbe(context, id, probe, create, [reference]);
      isPaid ||= again.status === 200 || response.status === 200;
    });
  }),
  judges("access.others-hidden-after-owner", { pays: 1, needs: ["time", "secret"] }, async (context, id) => {
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
    for (const [path, secret] of paths) await judgeRead(context, id, path, [secret]);
  }),
  judges("access.merchants-apart-after-owner", { pays: 1, needs: ["second-key"] }, async (context, id) => {
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
      const hidden = { secrets: [secret], status, whom: "for another merchant" };
      for (const isLast of [false, false, true]) {
        await ownerReads(context, id, path, [secret]);
        if (!isLast) await expectHidden(context, id, { method: "GET", path, key: "second" }, hidden);
      }
    }
  }),

  judges(paysNothing, { needs: ["receiver"] }, async (context) => {
    const receiver = context.receiver!;
    const box = receiver.openMailbox();
    const created = await startCheckout(context, checkoutBody(context, addressOf(box)));
    given(isAccepted(created), "a 2xx for a valid checkout", created);
    await openAll(context, created, [box.url]);
    // A second checkout is really paid, to show that the check would notice a payment of the first checkout.
    const paidBox = receiver.openMailbox();
    const other = await startCheckout(context, checkoutBody(context, addressOf(paidBox)));
    if (await finishAny(context, other, "success")) await arrived(context, paidBox);
    opened.set(receiver, { box, created, provable: paidBox.received.some(statesSuccess) });
    judgeUnpaid(context);
  }),
  judges(
    paysNothing,
    {
      name: "No checkout whose link was only opened was paid by the end of the run",
      needs: ["receiver"],
      phase: "closing",
      offline: true,
    },
    async (context) => judgeUnpaid(context),
  ),
  judges("checkout-states.opened-stays-pending", { needs: ["clock"] }, async (context, id) => {
    const { reference, response } = await started(context);
    await openAll(context, response, []);
    await advance(context, 60);
    const record = await verifyCheckout(context, reference);
    expectData(context, id, record, { status: "pending" }, "after the link was opened");
  }),

  judges(["reads.pay-nothing", "refused.no-webhook"], costOf(reads), async function* (context, id) {
    // A list of disbursements would be a correct response too, so the status does not matter.
    const { paid: valid } = await refuseThenPay(context, id, reads, () => true);
    yield;
    await awaitAndJudge(context, valid);
  }),
  judges("reads.verify-creates-nothing", costOf(verifies), async (context, id) => {
    await refuseThenPay(context, id, verifies, () => true);
  }),
  judges("reads.verify-changes-nothing", { pays: 1 }, async function* (context, id) {
    const { reference } = await paid(context);
    yield;
    const { data: before } = await settled(context, reference);
    for (const { query = "", ...more } of looks) await get(context, pathOf(reference) + query, { effect, ...more });
    const { data, response } = await verified(context, reference);
    sameRecord(context, id, "after it was verified several times, the record", [before, data], [response]);
  }),

  ...[paid, existingPayout].map((payout) =>
    judges(
      ["access.whole-reference", "access.reference-spelling"],
      payout === paid ? { pays: 1 } : { existing: true },
      async (context, id) => {
        const { reference, body } = await payout(context);
        await verified(context, reference);
        const further: Variant = ["with a further path segment", String, "/x"];
        for (const [what, response] of await ask(context, "disbursements", reference, [...others, further])) {
          // A shorter reference may belong to another disbursement.
          const found = isAccepted(response) && dataOf(response)["merchantsReference"] === body["reference"];
          context.judge(id, !found, `no record for its reference ${what}`, response);
        }
        for (const [what, { status }] of await ask(context, "disbursements", reference, spellings))
          context.observe("access.reference-spelling", what, status ?? "no response");
      },
    ),
  ),
  judges("uniqueness.merchants-apart", { existing: true, needs: ["second-key"] }, async (context, id) => {
    const { reference, data } = await existingPayout(context);
    const hidden = { secrets: [data.id], status: 404, whom: "for another merchant" };
    await expectHidden(context, id, { method: "GET", path: pathOf(reference), key: "second" }, hidden);
  }),
  judges("access.exact-reference", { pays: 1 }, async (context, id) => {
    const { reference } = await paid(context);
    const { reference: checkout } = await started(context);
    const asked = [
      ...(await ask(context, "disbursements", reference, spellings)),
      ...(await ask(context, "checkouts", checkout, [...spellings, ...others])),
    ];
    for (const [what, response] of asked) {
      expectStatus(context, id, response, 404, `at GET ${response.request.path.slice(0, 80)}, a reference ${what}`);
    }
  }),
  judges("access.exact-filter", { pays: 1 }, async (context, id) => {
    // With a suffix, so that the shortened reference is not one that another check uses.
    const fresh = `${context.fresh()}-ex`;
    await paid(context, { reference: fresh });
    await started(context, { reference: fresh });
    for (const kind of ["disbursements", "checkouts"]) {
      const own = await listNamed(context, kind, fresh);
      given(listed(own).length === 1, "one record in the list", own);
      for (const [what, change] of [...others, ...spellings].filter(([, changed]) => changed(fresh) !== fresh)) {
        const response = await listNamed(context, kind, change(fresh));
        const found = listed(response).some(({ merchantsReference }) => merchantsReference === fresh);
        context.judge(id, !found, `no record of ${fresh} in the list of ${kind} for that reference ${what}`, response);
      }
    }
  }),
];
