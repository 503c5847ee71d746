// The append-only log of the tools: what was reserved, paid and approved, and every call, one JSON object per line. All
// sessions that share the journal's folder share the log. The order of its lines decides, so no lock is needed.
import { closeSync, constants, fdatasyncSync, fstatSync, openSync, readSync, writeSync } from "node:fs";

/** A payout that is about to be sent, with the bounds that held then, so that a later policy does not change the past. */
export interface Reservation {
  /** The plan's id. `paid`, `free` and `approve` below are ids too. */
  reserve: string;
  /**
   * A hash of recipient, amount and currency: two plans with the same value may be the same payment with another
   * wording.
   */
  payment: string;
  currency: string;
  amount: number;
  /** The most that may be paid on one day in this currency. */
  dayLimit?: number | undefined;
  /** True if a person must approve this payout. */
  needsApproval: boolean;
  /** For this many hours after an equal payment, a person must approve this payout. */
  repetitionHours: number;
}

type Entry =
  | Reservation
  /** The payout exists. */
  | { paid: string; payout: string }
  /** Releases what the id reserved. No money moved: the payout or the checkout was refused, or the payout failed. */
  | { free: string }
  /** A person approved the plan. */
  | { approve: string }
  /** A checkout is about to be created. Once it is created, also its link, which the service shows only once. */
  | { checkout: string; reference?: string; url?: string | undefined }
  | { call: string; plan?: string | undefined; arguments: unknown; result: string; ms: number };
export type Line = Entry & { at: string; session: string };

export type Verdict = "accepted" | "in-doubt" | "repetition" | "approval" | "day-limit";

export interface KnownPlan extends Reservation {
  day: string;
  at: number;
  /** `open`: about to be sent, and nothing certain is known since. */
  state: "open" | "paid" | "free";
  payout?: string;
}

const hour = 3_600_000;

export class Ledger {
  private readonly file: number;
  private offset = 0;
  private rest = Buffer.alloc(0);
  private readonly plans = new Map<string, KnownPlan>();
  private readonly approved = new Set<string>();
  private readonly checkouts = new Map<string, { reference?: string; url?: string | undefined }>();
  private readonly verdicts = new Map<string, Verdict>();
  private readonly session: string;
  private readonly now: () => number;

  constructor(path: string, session: string, now: () => number) {
    const { O_APPEND, O_CREAT, O_NOFOLLOW = 0, O_RDWR } = constants;
    this.file = openSync(path, O_APPEND | O_CREAT | O_NOFOLLOW | O_RDWR, 0o600);
    this.session = session;
    this.now = now;
  }

  plan(id: string): KnownPlan | undefined {
    this.refresh();
    return this.plans.get(id);
  }

  /** The other plan that may be this payment with another wording: a plan in doubt, else the latest plan. */
  equalTo({ reserve, payment }: Reservation): string | undefined {
    this.refresh();
    const others = this.equals(payment).filter((plan) => plan.reserve !== reserve);
    return (others.find(({ state }) => state === "open") ?? others.at(-1))?.reserve;
  }

  checkout(id: string) {
    this.refresh();
    return this.checkouts.get(id);
  }

  /** True if this is the service's reference of a payout or a checkout that was created from here. */
  hasCreated(reference: string): boolean {
    this.refresh();
    const created = [...this.plans.values(), ...this.checkouts.values()] as { payout?: string; reference?: string }[];
    return created.some((each) => (each.payout ?? each.reference) === reference);
  }

  /** The sum of today's reserved and paid payouts in a currency. The day is in UTC. */
  spentToday(currency: string): number {
    this.refresh();
    return this.sum(this.dayOf(this.now()), currency);
  }

  /** What {@link Ledger.reserve} would return. */
  preview(reservation: Reservation): Verdict {
    this.refresh();
    return this.judge(reservation, this.now());
  }

  /** Reserves the amount of a payout before it is sent, durably. */
  reserve(reservation: Reservation): Verdict {
    // If two sessions reserve at the same time, both sessions read both lines, in the same order.
    this.append({ ...reservation });
    this.refresh();
    return this.verdicts.get(reservation.reserve)!;
  }

  append(entry: Entry) {
    const line: Line = { at: new Date(this.now()).toISOString(), session: this.session, ...entry };
    // Begins with a line break, because a killed process may have left half a line.
    writeSync(this.file, `\n${JSON.stringify(line)}\n`);
    if (!("call" in line)) fdatasyncSync(this.file);
  }

  close() {
    closeSync(this.file);
  }

  /** All lines, the oldest first. */
  lines(): Line[] {
    const content = Buffer.alloc(fstatSync(this.file).size);
    readSync(this.file, content, 0, content.length, 0);
    return linesOf(content.toString());
  }

  private refresh() {
    const { size } = fstatSync(this.file);
    if (size === this.offset) return;
    const added = Buffer.alloc(size - this.offset);
    const length = readSync(this.file, added, 0, added.length, this.offset);
    this.offset += length;
    const content = Buffer.concat([this.rest, added.subarray(0, length)]);
    const end = content.lastIndexOf("\n") + 1;
    this.rest = content.subarray(end);
    for (const line of linesOf(content.toString("utf8", 0, end))) this.apply(line);
  }

  private apply(line: Line) {
    if ("approve" in line) this.approved.add(line.approve);
    else if ("checkout" in line) this.checkouts.set(line.checkout, line);
    else if ("paid" in line) Object.assign(this.plans.get(line.paid) ?? {}, { state: "paid", payout: line.payout });
    else if ("free" in line) {
      Object.assign(this.plans.get(line.free) ?? {}, { state: "free" });
      this.checkouts.delete(line.free);
    } else if ("reserve" in line) {
      const at = Date.parse(line.at);
      const isKnown = this.isHeld(line.reserve);
      const verdict = this.judge(line, at);
      this.verdicts.set(line.reserve, verdict);
      if (verdict === "accepted" && !isKnown) {
        this.plans.set(line.reserve, { ...line, state: "open", at, day: this.dayOf(at) });
      }
    }
  }

  private judge(reservation: Reservation, at: number): Verdict {
    const { reserve, payment, currency, amount, dayLimit, needsApproval, repetitionHours } = reservation;
    if (this.isHeld(reserve)) return "accepted";
    const same = this.equals(payment);
    if (same.some(({ state }) => state === "open")) return "in-doubt";
    if (!this.approved.has(reserve)) {
      if (same.some((plan) => at - plan.at < repetitionHours * hour)) return "repetition";
      if (needsApproval) return "approval";
    }
    return dayLimit !== undefined && this.sum(this.dayOf(at), currency) + amount > dayLimit ? "day-limit" : "accepted";
  }

  private equals(payment: string): KnownPlan[] {
    return [...this.plans.values()].filter((plan) => plan.payment === payment && plan.state !== "free");
  }

  private isHeld(id: string): boolean {
    return (this.plans.get(id)?.state ?? "free") !== "free";
  }

  private sum(day: string, currency: string): number {
    let sum = 0;
    for (const plan of this.plans.values()) {
      if (plan.day === day && plan.currency === currency && plan.state !== "free") sum += plan.amount;
    }
    return sum;
  }

  private dayOf(time: number): string {
    return new Date(time).toISOString().slice(0, 10);
  }
}

function linesOf(text: string): Line[] {
  return text.split("\n").flatMap((line) => {
    try {
      return JSON.parse(line) as Line;
    } catch {
      // An empty line, or the half line of a process that was killed.
      return [];
    }
  });
}
