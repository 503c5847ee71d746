// A merchant: its records, events, deliveries and clock, all in memory.
import { randomInt, randomUUID } from "node:crypto";
import type { components } from "../../generated/openapi.ts";
import { Agenda } from "./agenda.ts";
import { Problem } from "./problem.ts";
import { Delivery, iso, Secrets } from "./webhooks.ts";

type Schemas = components["schemas"];
export type Disbursement = Schemas["Disbursement"];
export type Checkout = Schemas["Checkout"];
export type Payment = Disbursement | Checkout;
type Event = Schemas["SandboxEvent"];
type Entry = Schemas["StatementEntry"];

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const newReference = (prefix: string) =>
  prefix + Array.from({ length: 21 }, () => letters[randomInt(letters.length)]).join("");

const checkoutLifetime = 30 * 60_000;
const settleDelay = 2000;

interface Outcome {
  status: "success" | "failed" | "pending";
  delay: number;
  why?: Schemas["FailureCode"];
}

/** The outcomes that the last digits of a phone number choose. Other numbers succeed after the usual delay. */
const outcomes: Record<string, Outcome> = {
  "001": { status: "success", delay: 0 },
  "002": { status: "failed", delay: 0, why: "rejected" },
  "089": { status: "failed", delay: settleDelay, why: "declined" },
  "129": { status: "pending", delay: 0 },
};
const failures = [
  "wallet_not_found",
  "wallet_blocked",
  "wallet_limit_reached",
  "amount_not_allowed",
  "customer_declined",
  "payer_insufficient_funds",
  "rejected",
  "not_approved",
  "other",
] as const;
for (const [index, why] of failures.entries()) outcomes[601 + index] = { status: "failed", delay: settleDelay, why };

/** Returns a share of an amount, in thousandths, rounded half up. */
const share = (amount: number, thousandths: bigint) => Number((BigInt(amount) * thousandths + 500n) / 1000n);

/** The records of one kind, in the order of their creation. */
export class Ledger<Kind extends Payment> {
  readonly records: Kind[] = [];
  readonly #byReference = new Map<string, Kind>();
  readonly #byMerchantsReference = new Map<string, Kind>();

  add(record: Kind): void {
    this.records.push(record);
    this.#byReference.set(record.reference, record);
    this.#byMerchantsReference.set(record.merchantsReference, record);
  }
  find(reference: string): Kind | undefined {
    return this.#byReference.get(reference);
  }
  duplicateOf(merchantsReference: string): Kind | undefined {
    return this.#byMerchantsReference.get(merchantsReference);
  }
}

/** What can be paid out in each currency, and every change of it. */
class Balances {
  readonly #byCurrency = new Map<string, Schemas["Balance"]>();
  /** The statement, oldest first. */
  readonly entries: Entry[] = [];

  of(currency: string): Schemas["Balance"] {
    const known = this.#byCurrency.get(currency);
    const balance = known ?? { currency, available: 0, reserved: 0, enforced: false };
    this.#byCurrency.set(currency, balance);
    return balance;
  }
  change(entry: Omit<Entry, "balance">, reserved = 0): void {
    const balance = this.of(entry.currency);
    balance.available += entry.amount;
    balance.reserved += reserved;
    this.entries.push({ ...entry, balance: balance.available });
  }
  list(): Schemas["Balances"] {
    return { items: [...this.#byCurrency.values()].toSorted((a, b) => (a.currency < b.currency ? -1 : 1)) };
  }
}

/** The data that a reset of the sandbox deletes. */
class State {
  readonly agenda = new Agenda();
  readonly disbursements = new Ledger<Disbursement>();
  readonly checkouts = new Ledger<Checkout>();
  readonly balances = new Balances();
  readonly customers = new Map<string, Schemas["Customer"]>();
  /** The languages of the payment pages, by reference. */
  readonly locales = new Map<string, "en" | "fr">();
  readonly events: Event[] = [];
  readonly deliveries: Delivery[] = [];
  /** How often a payment was refused because of a test number, by reference. */
  readonly refusals = new Map<string, number>();
  /** The position of the last item before each page, by the page's cursor. */
  readonly cursors = new Map<string, { list: string; before: number }>();
}

export class Merchant {
  readonly key: string;
  readonly name: string;
  readonly userId = randomUUID();
  readonly secrets = new Secrets();
  state = new State();

  constructor(name: string, key: string) {
    this.name = name;
    this.key = key;
  }

  reset(): void {
    this.state.agenda.close();
    this.state = new State();
    this.secrets.forgetPrevious();
  }

  addDisbursement(request: Schemas["DisbursementRequest"]): Disbursement {
    const { amount, country, currency, phoneNumber, webhookURL } = request;
    const { balances } = this.state;
    const fee = share(amount, 10n);
    const { available, enforced } = balances.of(currency);
    if (enforced && available < amount + fee) throw new Problem("insufficient_funds", "Your balance is too small.");
    const record: Disbursement = {
      ...this.#newRecord("DSB"),
      customer: this.#customer(phoneNumber),
      merchantsReference: request.reference,
      status: "pending",
      amount,
      fee,
      country,
      currency,
      ...(webhookURL !== undefined && { webhookURL }),
    };
    this.state.disbursements.add(record);
    const { reference, createdAt } = record;
    balances.change({ kind: "reserve", reference, currency, amount: -amount - fee, createdAt }, amount + fee);
    this.#settle(record, phoneNumber);
    return record;
  }

  addCheckout(request: Schemas["CheckoutRequest"]): Checkout {
    const { amount, country, currency, webhookURL, redirectURL } = request;
    const made = this.#newRecord("CHK");
    const record: Checkout = {
      ...made,
      merchantsReference: request.reference ?? made.reference,
      status: "pending",
      amount,
      fee: share(amount, 48n),
      country,
      currency,
      ...(webhookURL !== undefined && { webhookURL }),
      ...(redirectURL !== undefined && { redirectURL }),
    };
    this.state.checkouts.add(record);
    this.state.agenda.schedule(Date.parse(record.createdAt) + checkoutLifetime, (at) => {
      if (record.customer === undefined) this.finish(record, "cancelled", at);
    });
    return record;
  }

  /** Starts the payment of a checkout by the customer with this phone number. */
  pay(checkout: Checkout, phoneNumber: string): void {
    checkout.customer = this.#customer(phoneNumber);
    checkout.updatedAt = iso(this.state.agenda.now());
    this.#settle(checkout, phoneNumber);
  }

  /** Gives a pending payment its final status, and reports it. A final status never changes. */
  finish(
    payment: Payment,
    status: "success" | "failed" | "cancelled",
    at = this.state.agenda.now(),
    code?: Outcome["why"],
  ): void {
    if (payment.status !== "pending") return;
    const failure = code && { code, message: `The payment failed: ${code.replaceAll("_", " ")}.` };
    Object.assign(payment, { status, updatedAt: iso(at), ...(failure && { failure }) });
    const kind = payment.reference.startsWith("CHK") ? "checkout" : "disbursement";
    this.#book(payment, kind);
    const event: Event = {
      id: `msg_${randomUUID().replaceAll("-", "")}`,
      createdAt: iso(at),
      reference: payment.reference,
      body: {
        event: `${kind}.${status === "success" ? "completed" : status}`,
        data: structuredClone(payment),
      } as Event["body"],
    };
    this.state.events.push(event);
    if (payment.webhookURL === undefined) return;
    this.state.deliveries.push(new Delivery(event, payment.webhookURL, this.state.agenda, this.secrets));
  }

  /** Changes the balance as a final status demands. */
  #book({ status, reference, currency, amount, fee, updatedAt: createdAt }: Payment, kind: string): void {
    const { balances } = this.state;
    const entry = { reference, currency, createdAt };
    if (kind === "checkout") {
      if (status === "success") balances.change({ ...entry, kind: "credit", amount: amount - fee });
      return;
    }
    const isPaid = status === "success";
    balances.change(
      { ...entry, kind: isPaid ? "capture" : "release", amount: isPaid ? 0 : amount + fee },
      -amount - fee,
    );
  }

  #newRecord(prefix: "DSB" | "CHK") {
    const now = iso(this.state.agenda.now());
    const { userId, name } = this;
    const reference = newReference(prefix);
    return { id: randomUUID(), userId, merchant: { name }, reference, createdAt: now, updatedAt: now };
  }

  #customer(phoneNumber: string): Schemas["Customer"] {
    const { customers } = this.state;
    const known = customers.get(phoneNumber);
    const customer = known ?? { id: randomUUID(), name: `Customer ${phoneNumber.slice(-4)}`, phoneNumber };
    customers.set(phoneNumber, customer);
    return customer;
  }

  #settle(payment: Payment, phoneNumber: string): void {
    const usual: Outcome = { status: "success", delay: settleDelay };
    const { status, delay, why } = outcomes[phoneNumber.slice(-3)] ?? usual;
    if (status === "pending") return;
    const at = Date.parse(payment.updatedAt) + delay;
    if (delay === 0) this.finish(payment, status, at, why);
    else this.state.agenda.schedule(at, (then) => this.finish(payment, status, then, why));
  }
}
