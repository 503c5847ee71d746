// A merchant: its records, events, deliveries and clock, all in memory.
import { randomInt, randomUUID } from "node:crypto";
import type { components } from "../../generated/openapi.ts";
import { Clock } from "./clock.ts";
import type { Ask, Call, Deliver, Message, Reply } from "./messages.ts";
import { Problem } from "./problem.ts";
import { Delivery, iso, noChaos, Secrets, type Attempted } from "./webhooks.ts";

type Schemas = components["schemas"];
export type Disbursement = Schemas["Disbursement"];
export type Checkout = Schemas["Checkout"];
export type Payment = Disbursement | Checkout;
type Event = Schemas["SandboxEvent"];
type Entry = Schemas["StatementEntry"];
type ToLoad = Schemas["DisbursementToLoad"] | Schemas["CheckoutToLoad"];

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const newReference = (prefix: string) =>
  prefix + Array.from({ length: 21 }, () => letters[randomInt(letters.length)]).join("");

/** Returns a UUID that begins with the time. */
function newId(now: number): string {
  const time = now.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

/** The final status of a payment, and the delay until then; `pending` if the payment never gets a final status. */
export type Outcome = { status: "success" | "failed"; delayMs: number; why?: Schemas["FailureCode"] } | "pending";

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

/** The outcome that the last digits of a phone number choose, if they choose one. */
function forcedOutcome(digits: string, delayMs: number): Outcome | undefined {
  const outcomes: Record<string, Outcome> = {
    "001": { status: "success", delayMs: 0 },
    "002": { status: "failed", delayMs: 0, why: "rejected" },
    "089": { status: "failed", delayMs, why: "declined" },
    "129": "pending",
  };
  const why = failures[Number(digits) - 601];
  return why === undefined ? outcomes[digits] : { status: "failed", delayMs, why };
}

/** Returns a share of an amount, in thousandths, rounded half up. */
const share = (amount: number, thousandths: bigint) => Number((BigInt(amount) * thousandths + 500n) / 1000n);

const byTime = (a: { createdAt: string }, b: { createdAt: string }) =>
  Date.parse(a.createdAt) - Date.parse(b.createdAt);

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
  /** Changes the merchant's reference of a record. */
  rename(from: string, to: string): void {
    const record = this.duplicateOf(from);
    if (!record) return;
    this.#byMerchantsReference.delete(from);
    this.#byMerchantsReference.set(to, Object.assign(record, { merchantsReference: to }));
  }
  /** Orders the records by time, after records of the past were added. */
  sort(): void {
    this.records.sort(byTime);
  }
  find(reference: string): Kind | undefined {
    return this.#byReference.get(reference);
  }
  duplicateOf(merchantsReference: string): Kind | undefined {
    return this.#byMerchantsReference.get(merchantsReference);
  }
}

/** The balance in each currency, and every change of it. */
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
  /** Orders the statement by time, after entries of the past were added, and computes its balances again. */
  sort(): void {
    this.entries.sort(byTime);
    const sums = new Map<string, number>();
    for (const entry of this.entries) {
      entry.balance = (sums.get(entry.currency) ?? 0) + entry.amount;
      sums.set(entry.currency, entry.balance);
    }
  }
  list(): Schemas["Balances"] {
    return { items: [...this.#byCurrency.values()].toSorted((a, b) => (a.currency < b.currency ? -1 : 1)) };
  }
}

/** The data that a reset of the sandbox deletes. */
class State {
  readonly clock = new Clock();
  readonly disbursements = new Ledger<Disbursement>();
  readonly checkouts = new Ledger<Checkout>();
  readonly balances = new Balances();
  readonly customers = new Map<string, Schemas["Customer"]>();
  readonly events: Event[] = [];
  readonly deliveries: Delivery[] = [];
  chaos = noChaos;
  /** The delivery that chaos holds back until another one succeeds. */
  heldBack: Delivery | undefined;
  /** How often a payment was refused because of a test number, by reference. */
  readonly refusals = new Map<string, number>();
  /** The position of the last item before each page, by the page's cursor. */
  readonly cursors = new Map<string, { list: string; before: number }>();
}

/** The methods of a merchant. Hooks may replace each of them. */
export type Changeable = {
  [Name in keyof Merchant as Merchant[Name] extends (...args: never[]) => unknown ? Name : never]: Merchant[Name];
};

/** How a caller changes the model. What is omitted stays as it is. */
export type Hooks = {
  /** Handles each request in place of the model. If it resolves with undefined, the connection is closed. */
  handle?: (call: Call, ask: Ask) => Promise<Reply | undefined>;
  /** Delivers each webhook in place of the model. */
  webhook?: (message: Message, deliver: Deliver) => Promise<Reply>;
  /** Returns replacements for methods of a merchant; `account` has the model's own methods. */
  merchant?: (account: Changeable) => Partial<Changeable>;
  settings?: {
    /** False for a live service: no /sandbox, and the phone number forces nothing. */
    sandbox?: boolean;
    /** How long a payment stays pending if its phone number forces no outcome. */
    settleMs?: number;
  };
};

export class Merchant {
  readonly id = randomUUID();
  key: string;
  readonly name: string;
  /** The merchant whose key created this one. */
  readonly creator: Merchant | undefined;
  readonly userId = randomUUID();
  readonly secrets = new Secrets();
  readonly hooks: Hooks;
  state = new State();

  constructor(name: string, key: string, hooks: Hooks = {}, creator?: Merchant) {
    this.creator = creator;
    this.name = name;
    this.key = key;
    this.hooks = hooks;
    const methods = Object.getOwnPropertyNames(Merchant.prototype) as (keyof Changeable)[];
    const account = Object.fromEntries(methods.map((method) => [method, this[method].bind(this)]));
    Object.assign(this, hooks.merchant?.(account as Changeable));
  }

  reset(): void {
    this.state.clock.close();
    this.state = new State();
  }

  /** Moves the clock forward. Resolves when everything that is due has happened. */
  advanceTo(time: number): Promise<void> {
    return this.state.clock.advanceTo(time);
  }

  /** Returns true if the service is a sandbox and the phone number ends with these digits. */
  forces(phoneNumber: string, digits: string): boolean {
    return this.hooks.settings?.sandbox !== false && phoneNumber.endsWith(digits);
  }

  outcomeOf({ phoneNumber }: { phoneNumber: string; country: string; amount: number }): Outcome {
    const { sandbox = true, settleMs = sandbox ? 2000 : 0 } = this.hooks.settings ?? {};
    const forced = sandbox ? forcedOutcome(phoneNumber.slice(-3), settleMs) : undefined;
    return forced ?? { status: "success", delayMs: settleMs };
  }

  feeOf(amount: number, kind: "disbursement" | "checkout"): number {
    return share(amount, kind === "disbursement" ? 10n : 48n);
  }

  /** Counts the refusals of a payment because of its phone number. Returns how many there are, with this one. */
  countRefusal(reference: string): number {
    const { refusals } = this.state;
    const count = (refusals.get(reference) ?? 0) + 1;
    refusals.set(reference, count);
    return count;
  }

  /** @param past when it was created, if that is in the past: then it does not settle */
  addDisbursement(request: Schemas["DisbursementRequest"], past?: string): Disbursement {
    const { phoneNumber } = request;
    const { balances } = this.state;
    const record = { ...this.#newRecord("disbursement", request, past), customer: this.#customer(phoneNumber) };
    const { reference, createdAt, amount, fee, currency } = record;
    const { available, enforced } = balances.of(currency);
    if (enforced && past === undefined && available < amount + fee)
      throw new Problem("insufficient_funds", "Your balance is too small.");
    this.state.disbursements.add(record);
    balances.change({ kind: "reserve", reference, currency, amount: -amount - fee, createdAt }, amount + fee);
    if (past === undefined) this.#settle(record, phoneNumber);
    return record;
  }

  /** Loads payments of the past. They have no events. */
  load({ disbursements = [], checkouts = [] }: Schemas["PaymentsToLoad"]): void {
    const complete = (record: Payment, { status, createdAt, updatedAt = createdAt, failure, phoneNumber }: ToLoad) => {
      if (phoneNumber !== undefined) record.customer = this.#customer(phoneNumber);
      const code = status === "failed" ? (failure ?? "declined") : undefined;
      if (status !== "pending") this.#end(record, status, Date.parse(updatedAt), code);
    };
    for (const each of disbursements) complete(this.addDisbursement(each, each.createdAt), each);
    for (const each of checkouts) complete(this.addCheckout(each, each.createdAt), each);
    for (const sorted of [this.state.disbursements, this.state.checkouts, this.state.balances]) sorted.sort();
  }

  /** How long a checkout waits for its payment, in ms. */
  checkoutLifetime(): number {
    return 30 * 60_000;
  }

  addCheckout(request: Schemas["CheckoutRequest"], past?: string): Checkout {
    const record: Checkout = this.#newRecord("checkout", request, past);
    if (request.redirectURL !== undefined) record.redirectURL = request.redirectURL;
    this.state.checkouts.add(record);
    if (past !== undefined) return record;
    this.state.clock.schedule(Date.parse(record.createdAt) + this.checkoutLifetime(), (at) => {
      if (record.customer === undefined) this.finish(record, "cancelled", at);
    });
    return record;
  }

  /** Starts the payment of a checkout by the customer with this phone number. */
  pay(checkout: Checkout, phoneNumber: string): void {
    checkout.customer = this.#customer(phoneNumber);
    checkout.updatedAt = iso(this.state.clock.now());
    this.#settle(checkout, phoneNumber);
  }

  /** Gives a pending payment its final status, and records its event. A final status never changes. */
  finish(
    payment: Payment,
    status: "success" | "failed" | "cancelled",
    at = this.state.clock.now(),
    code?: Schemas["FailureCode"],
  ): void {
    if (payment.status !== "pending") return;
    const kind = this.#end(payment, status, at, code);
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
    if (payment.webhookURL !== undefined) this.state.deliveries.push(new Delivery(event, payment.webhookURL, this));
  }

  /** Gives a payment its final status, and books it. */
  #end(payment: Payment, status: Payment["status"], at: number, code?: Schemas["FailureCode"]) {
    const failure = code && { code, message: `The payment failed: ${code.replaceAll("_", " ")}.` };
    Object.assign(payment, { status, updatedAt: iso(at), ...(failure && { failure }) });
    const kind = payment.reference.startsWith("CHK") ? "checkout" : "disbursement";
    this.#book(payment, kind);
    return kind;
  }

  /** Returns what follows from an attempt to deliver a webhook. */
  attempted(_attempt: Schemas["Attempt"], next: Attempted, _delivery: Delivery): Attempted {
    return next;
  }

  async replay(id: string): Promise<Schemas["Delivery"]> {
    const delivery = this.state.deliveries.find(({ shown }) => shown.id === id);
    if (!delivery) throw new Problem("not_found", "You have no delivery with this id.");
    await delivery.replay();
    return delivery.shown;
  }

  rotateSecret(): void {
    this.secrets.rotate(this.state.clock.now());
  }

  showSecrets(): Schemas["WebhookSecret"] {
    return this.secrets.show(this.state.clock.now());
  }

  /** Changes the balance as a final status demands. */
  #book({ status, reference, currency, amount, fee, updatedAt: createdAt }: Payment, kind: string): void {
    const { balances } = this.state;
    const entry = { reference, currency, createdAt };
    if (kind === "checkout") {
      if (status === "success") balances.change({ ...entry, kind: "credit", amount: amount - fee });
      return;
    }
    const [kindOfEnd, returned] =
      status === "success" ? (["capture", 0] as const) : (["release", amount + fee] as const);
    balances.change({ ...entry, kind: kindOfEnd, amount: returned }, -amount - fee);
  }

  #newRecord(kind: "disbursement" | "checkout", request: Schemas["CheckoutRequest"], past?: string) {
    const now = past === undefined ? this.state.clock.now() : Date.parse(past);
    const { userId, name } = this;
    const reference = newReference(kind === "checkout" ? "CHK" : "DSB");
    const { reference: merchantsReference = reference, amount, country, currency, webhookURL } = request;
    const [createdAt, updatedAt, fee] = [iso(now), iso(now), this.feeOf(amount, kind)];
    const address = webhookURL === undefined ? {} : { webhookURL };
    const asked = { merchantsReference, amount, fee, country, currency, ...address };
    const status: Payment["status"] = "pending";
    return { id: newId(now), userId, merchant: { name }, reference, status, ...asked, createdAt, updatedAt };
  }

  #customer(phoneNumber: string): Schemas["Customer"] {
    const { customers } = this.state;
    const known = customers.get(phoneNumber);
    const customer = known ?? { id: randomUUID(), name: `Customer ${phoneNumber.slice(-4)}`, phoneNumber };
    customers.set(phoneNumber, customer);
    return customer;
  }

  #settle(payment: Payment, phoneNumber: string): void {
    const { country, amount } = payment;
    const outcome = this.outcomeOf({ phoneNumber, country, amount });
    if (outcome === "pending") return;
    const at = Date.parse(payment.updatedAt) + outcome.delayMs;
    if (outcome.delayMs === 0) this.finish(payment, outcome.status, at, outcome.why);
    else this.state.clock.schedule(at, (due) => this.finish(payment, outcome.status, due, outcome.why));
  }
}
