// The payments behind the tools. Whether something was paid is decided by the client and its journal; this module adds
// the plans, the bounds of the policy, and results in words.
import type { DisbursementClient } from "../client.ts";
import { ClientError, NotFoundError, UsageError } from "../errors.ts";
import { fileJournal } from "../payroll/journal.ts";
import { createAll } from "../payroll/payroll.ts";
import type { Journal, JournaledPayout, PayoutResult } from "../payroll/payroll.ts";
import type { CheckoutRequest, Disbursement } from "../types.ts";
import { inWords } from "../words.ts";
import type { Ledger, Reservation, Verdict } from "./ledger.ts";
import {
  amountText,
  checkoutOf,
  fromOutside,
  inBothUnits,
  moneyOf,
  outcome,
  payoutOf,
  quoted,
  resultOf,
} from "./outcome.ts";
import type { Outcome } from "./outcome.ts";
import { checkoutId, paymentOf, Plans } from "./plans.ts";
import type { CheckoutPlan, Plan } from "./plans.ts";
import type { Policy } from "./policy.ts";

interface Context {
  client: DisbursementClient;
  plans: Plans;
  ledger: Ledger;
  policy: Policy | undefined;
  /** How long a call waits for another session that is paying the same plan, in ms. */
  patience: number;
}

/** The policy or an earlier payment forbids a payout. Nothing was sent. */
class Refusal extends Error {
  readonly outcome: Outcome;
  constructor(refused: Outcome) {
    super(refused.summary);
    this.outcome = refused;
  }
}

/** @param other the plan that may be the same payment */
const refusalTexts: Record<Exclude<Verdict, "accepted">, (id: string, other?: string) => Outcome> = {
  "in-doubt": (_, other) =>
    outcome(
      "refused",
      `Refused, nothing was paid by this plan: the plan ${other} has the same recipient and amount, and it is not known ` +
        "whether that plan was paid. To find out, call pay with that plan. Prepare no other plan for this payment.",
      { paid: false },
    ),
  repetition: (id, other) =>
    approval(id, `the plan ${other} paid the same amount to the same recipient, so this may be a repetition`),
  approval: (id) => approval(id, "the policy asks for it at this amount"),
  "day-limit": () =>
    outcome("refused", "Refused, nothing was paid: the policy's limit for today (UTC) is reached.", { paid: false }),
};

const approval = (id: string, why: string) =>
  outcome(
    "needs_approval",
    `Nothing was paid. A person must approve this plan, because ${why}. The person runs, in a terminal: ` +
      `disbursement-checkout-mcp --approve ${id} . Then call pay with the same plan. Do not split or change the payment.`,
    { paid: false },
  );

/** Repeats the link in the text, because some hosts show only the text. */
const sendTo = (url: string) =>
  `Send the customer to the link: ${/^https?:\/\/[!#-;=?-_a-~]{1,800}$/.test(url) ? url : quoted(url)}`;

const noPlan = () =>
  outcome("refused", "There is no such plan, or its file was changed. Nothing was paid. Call prepare_payout.");

const unknownText = (id: string) =>
  "It is not known whether this payout exists: the request may have been recorded and its response lost. Make no other " +
  `payout for this payment and prepare no other plan. To find out, call pay again with the plan ${id}, now or days ` +
  "later: it pays at most once. get_payout only looks.";

export class Payments {
  private readonly context: Context;
  private readonly inFlight = new Map<string, Promise<Outcome>>();

  constructor(context: Context) {
    this.context = context;
  }

  async prepare(request: Omit<Plan, "service">): Promise<Outcome> {
    const { client, plans, ledger, policy } = this.context;
    const plan = { ...request, service: client.baseUrl };
    const { amount, currency, country, phoneNumber, purpose } = plan;
    const id = plans.write(plan);
    const known = ledger.plan(id);
    const day = policy?.limits[currency]?.day;
    const available = await this.available(currency);
    const shown = {
      plan: {
        id,
        phoneNumber,
        country,
        ...moneyOf(plan),
        amountWords: inWords(amount),
        purpose: fromOutside(purpose),
        fee: "charged on top; known when the payout exists",
        ...(available !== undefined && { available }),
        ...(day !== undefined && { leftToday: Math.max(0, day - ledger.spentToday(currency)) }),
      },
    };
    if (known && (known.state !== "free" || known.payout)) {
      const text = `This plan was already ${known.payout ? "paid" : "sent"}: ${id}. `;
      return { ...outcome("pending", `${text}Call get_payout with it. No call of pay pays it twice.`), ...shown };
    }
    try {
      this.check(plan);
      const reservation = this.reservation(id, plan);
      this.demand(ledger.preview(reservation), reservation);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { ...error.outcome, ...shown };
    }
    const balance = available === undefined ? "" : ` Balance: ${amountText(available, currency)}.`;
    const text =
      `Nothing is paid yet. Plan: ${inBothUnits(amount, currency)} to ${phoneNumber} in ${country}, ` +
      `purpose ${quoted(purpose)}. The fee comes on top.${balance} To pay, call pay with the plan ${id}.`;
    return outcome("pending", text, { paid: false, ...shown });
  }

  /** Pays a plan, at most once. Calls at the same time share one payment. */
  pay(id: string): Promise<Outcome> {
    const running = this.inFlight.get(id) ?? this.payWhenUnlocked(id).finally(() => this.inFlight.delete(id));
    this.inFlight.set(id, running);
    return running;
  }

  async getPayout({ plan: id, payout }: { plan?: string | undefined; payout?: string | undefined }): Promise<Outcome> {
    const { client, ledger, plans } = this.context;
    const known = id === undefined ? undefined : ledger.plan(id);
    const reference = payout ?? known?.payout;
    if (reference !== undefined) return this.read(reference, id);
    if (id === undefined) return outcome("refused", "Name a plan, or the service's reference of a payout.");
    let found: Disbursement | undefined;
    try {
      found = await client.disbursements.find(id);
    } catch (error) {
      if (!(error instanceof NotFoundError)) return couldNotRead(error);
    }
    const planned = plans.read(id);
    if (found && planned && !isPaidBy(planned, found)) {
      const text = "The service has another payout with this plan's id, so this plan paid nothing and cannot be paid.";
      return outcome("refused", text, { paid: false, payout: payoutOf(found) });
    }
    if (found) return this.describe(found, id);
    if (known?.state === "open") return outcome("unknown", unknownText(id));
    if (!planned) return noPlan();
    const text = `Nothing was sent for this plan from here, and no payout is listed. Call pay to pay it.`;
    return outcome("pending", text, { paid: false });
  }

  async findPayouts(wanted: {
    status?: "pending" | "success" | "failed" | undefined;
    createdAfter?: string | undefined;
  }) {
    // The contract accepts only times in UTC with milliseconds.
    const createdAfter = wanted.createdAfter && new Date(wanted.createdAfter).toISOString();
    try {
      const filters = { ...wanted, createdAfter, pageSize: 10 };
      const { items, nextCursor } = await this.context.client.disbursements.list(filters).page();
      const payouts = items.map(payoutOf);
      const lines = payouts.map(({ reference, status, amountText: text }) => `${reference}: ${text}, ${status.data}`);
      const more = nextCursor ? " There are more: narrow the search." : "";
      return outcome("success", `The list was read: ${payouts.length} payouts.${more}\n${lines.join("\n")}`, {
        payouts,
      });
    } catch (error) {
      return couldNotRead(error);
    }
  }

  async createCheckout(request: Omit<CheckoutPlan, "service">): Promise<Outcome> {
    const { client, ledger } = this.context;
    const { purpose: _, ...body } = request;
    const id = checkoutId({ ...request, service: client.baseUrl });
    const known = ledger.checkout(id);
    if (known?.reference) return this.getCheckout(known.reference, known.url);
    // If the log has the checkout, an earlier request, perhaps of a process that has ended, may have been recorded.
    if (!known) ledger.append({ checkout: id });
    const order = { ...body, reference: id } as CheckoutRequest & { reference: string };
    const { checkouts } = client;
    const call = known ? checkouts.resume(order) : checkouts.create(order, { ifExists: "return" });
    const { data, error, outcome: end } = await call.result();
    if (end === "unknown")
      return outcome("unknown", `The checkout may exist. Call create_checkout again with the same arguments.`);
    if (!data) {
      ledger.append({ free: id });
      return outcome("refused", `No checkout was created. ${quoted(error.message)}`, reasonOf(error));
    }
    const { url } = data;
    ledger.append({ checkout: id, reference: data.reference, url });
    const text = url
      ? `The checkout exists and waits for its payment. ${sendTo(url)}`
      : `The checkout exists, but its link was lost with a response, and the service does not show it again.`;
    return outcome(resultOf(data.status), text, { checkout: checkoutOf({ ...request, ...data } as never, url) });
  }

  async getCheckout(reference: string, url?: string): Promise<Outcome> {
    const { outcome: end, data, error } = await this.context.client.checkouts.verify(reference).result();
    if (!data && this.context.ledger.hasCreated(reference)) return existsButUnread("checkout", reference, error);
    if (end === "missing") return outcome("refused", `No checkout has this reference.`);
    if (!data) return couldNotRead(error);
    const link = url && data.status === "pending" ? ` ${sendTo(url)}` : "";
    const text = `The checkout ${data.reference} over ${inBothUnits(data.amount, data.currency)} is ${data.status}.${link}`;
    return outcome(resultOf(data.status), text, { checkout: checkoutOf(data, url) });
  }

  /** Says what is known of a plan, and what may be done now. */
  async explain(id: string): Promise<Outcome> {
    const current = await this.getPayout({ plan: id });
    const calls = this.context.ledger
      .lines()
      .flatMap((line) => ("call" in line && line.plan === id ? `${line.at} ${line.call}: ${line.result}` : []));
    const rules: Record<Outcome["result"], string> = {
      pending: "Once it is sent, wait for a final status with get_payout. No call of pay pays it twice.",
      success: "The recipient has the money. Do nothing more.",
      failed: "The plan is used up.",
      refused: "Nothing was paid, and this plan cannot be paid as it is.",
      needs_approval: "Nothing was paid. Wait for a person.",
      unknown: unknownText(id),
    };
    const text = `${current.summary} ${rules[current.result]} Calls so far: ${calls.slice(-5).join("; ") || "none"}.`;
    return { ...current, summary: outcome(current.result, text).summary };
  }

  private async payWhenUnlocked(id: string): Promise<Outcome> {
    const { plans, patience } = this.context;
    const plan = plans.read(id);
    if (!plan || plan.service !== this.context.client.baseUrl) return noPlan();
    for (const end = performance.now() + patience; ;) {
      try {
        return await this.payOnce(id, plan);
      } catch (error) {
        if (error instanceof Refusal) return error.outcome;
        // Another session holds the lock of the plan's journal.
        const isBusy = error instanceof UsageError && error.message.startsWith("Another run uses");
        if (!isBusy) return outcome("unknown", `${unknownText(id)} ${quoted((error as Error).message)}`);
        if (performance.now() > end)
          return outcome("unknown", `Another session is paying this plan. ${unknownText(id)}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  private async payOnce(id: string, plan: Plan): Promise<Outcome> {
    const { client, plans } = this.context;
    const { phoneNumber, amount, country, currency } = plan;
    const request = { reference: id, phoneNumber, amount, country, currency };
    const journal = this.guard(id, plan, fileJournal(plans.journalOf(id)));
    let result!: PayoutResult;
    for await (result of createAll(client, [request], { journal }));
    const { outcome: end, data, error } = result;
    if (data) return this.read(data.reference, id, true);
    const why = quoted(error.message);
    if (end === "unknown") return outcome("unknown", `${unknownText(id)} ${why}`, reasonOf(error));
    return outcome(
      "refused",
      `Refused, and proven: nothing was paid. Reason ${why}. The same plan may be paid later.`,
      {
        paid: false,
        ...reasonOf(error),
      },
    );
  }

  /** Adds the bounds of the policy to a plan's journal, whose lock keeps other sessions from paying the plan meanwhile. */
  private guard(id: string, plan: Plan, journal: Journal): Journal {
    const { ledger } = this.context;
    return {
      close: () => journal.close!(),
      before: async (request, service) => {
        const known = await journal.before(request, service);
        if (known?.payout) {
          this.note(id, known.payout);
          return known;
        }
        try {
          // A plan that may be paid already was within the policy when it was sent.
          if ((ledger.plan(id)?.state ?? "free") === "free") this.check(plan);
          const reservation = this.reservation(id, plan);
          this.demand(ledger.reserve(reservation), reservation);
        } catch (error) {
          // Takes back what `journal.before` has written, because nothing was sent.
          if (!known) await journal.after(request);
          throw error;
        }
        return known;
      },
      after: async (request, payout) => {
        await journal.after(request, payout);
        if (payout) this.note(id, payout);
        else ledger.append({ free: id });
      },
    };
  }

  /** @throws {Refusal} The verdict does not allow the payout to be sent. */
  private demand(verdict: Verdict, reservation: Reservation) {
    if (verdict === "accepted") return;
    throw new Refusal(refusalTexts[verdict](reservation.reserve, this.context.ledger.equalTo(reservation)));
  }

  /** The bounds of the policy for one payout. @throws {Refusal} */
  private check({ amount, currency, phoneNumber }: Plan) {
    const { policy } = this.context;
    if (!policy) return;
    const limits = policy.limits[currency];
    const reason = !limits
      ? `the policy has no limit for ${currency}`
      : amount > (limits.payout ?? Infinity)
        ? `the policy's limit of a payout is ${amountText(limits.payout!, currency)}`
        : policy.recipients && !policy.recipients.includes(phoneNumber)
          ? "the policy does not name this recipient"
          : undefined;
    if (reason) {
      throw new Refusal(
        outcome("refused", `Refused, nothing was paid: ${reason}. Do not split the payment.`, { paid: false }),
      );
    }
  }

  private reservation(id: string, plan: Plan): Reservation {
    const { amount, currency } = plan;
    const { limits, repetitionHours = 24 } = this.context.policy ?? {};
    const { day, approval: above = Infinity } = limits?.[currency] ?? {};
    const needsApproval = amount > above;
    return { reserve: id, payment: paymentOf(plan), currency, amount, dayLimit: day, needsApproval, repetitionHours };
  }

  private async available(currency: string): Promise<number | undefined> {
    try {
      return (await this.context.client.balances.list()).find((balance) => balance.currency === currency)?.available;
    } catch (error) {
      // Not every service has balances, and a plan does not need them.
      if (error instanceof ClientError) return undefined;
      throw error;
    }
  }

  private async read(
    reference: string,
    id?: string,
    exists = this.context.ledger.hasCreated(reference),
  ): Promise<Outcome> {
    const { outcome: end, data, error } = await this.context.client.disbursements.verify(reference).result();
    if (data) return this.describe(data, id);
    if (exists) return existsButUnread("payout", reference, error);
    return end === "missing" ? outcome("refused", "No payout has this reference.") : couldNotRead(error);
  }

  /**
   * Writes what is known of a plan's payout into the log. Also for an earlier payment: its process may have been killed
   * before it wrote this, and the plan would stay open for ever.
   */
  private note(id: string, { reference, status }: JournaledPayout) {
    const { ledger } = this.context;
    if (ledger.plan(id)?.state === "open") ledger.append({ paid: id, payout: reference });
    if (status === "failed" && ledger.plan(id)?.state === "paid") ledger.append({ free: id });
  }

  private describe(payout: Disbursement, id?: string): Outcome {
    const result = resultOf(payout.status);
    if (id !== undefined && payout.merchantsReference === id) this.note(id, payout);
    const text =
      `The payout ${fromOutside(payout.reference).data} of ${inBothUnits(payout.amount, payout.currency)} ` +
      {
        pending: "exists and is not final yet",
        success: "succeeded",
        failed: "failed: no money moved. To pay again, prepare a plan whose purpose says so",
      }[result as "pending"];
    const failure = payout.failure ? ` ${quoted(`${payout.failure.code}: ${payout.failure.message}`)}` : "";
    return outcome(result, `${text}.${failure}`, { payout: payoutOf(payout) });
  }
}

/** The service may hide digits of a phone number, so the number is not compared. */
const isPaidBy = (plan: Plan, { amount, currency, country }: Disbursement) =>
  amount === plan.amount && currency === plan.currency && country === plan.country;

/** For a record that certainly exists but was not read. After a 404 too: a read replica may not have the record yet. */
const existsButUnread = (record: "payout" | "checkout", reference: string, { message }: Error) =>
  outcome(
    "pending",
    `The ${record} ${fromOutside(reference).data} was created from here, and its status could not be read just now. ` +
      `Call get_${record} later. Do not ${record === "payout" ? "pay" : "create it"} again. ${quoted(message)}`,
  );

const couldNotRead = (error: unknown) =>
  outcome(
    "unknown",
    `The service could not be read, which says nothing about any payment. Pay nothing because of it; read again later. ${quoted((error as Error).message)}`,
  );

const reasonOf = ({ message }: Error) => ({ reason: fromOutside(message) });
