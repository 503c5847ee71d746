// What the hostile service recorded: the truth with which a client's reports are compared.
import type { components } from "../../../generated/openapi.ts";
import { asInput, type Entry, type PlannedEntry } from "./entries.ts";

type Schemas = components["schemas"];
type Status = Schemas["DisbursementStatus"];

export type Payout = {
  request: Entry;
  /** The service's reference. */
  reference: string;
  status: Status;
  /** The entry that the payout pays; undefined if it pays no entry. */
  entry: PlannedEntry | undefined;
  /** The starts of the program that were told how the payout ended. */
  toldIn: Set<number>;
};

/** What became of a request to create a payout. */
export type Outcome = { kind: "created" | "exists"; payout: Payout } | { kind: "refused" };

const epoch = Date.UTC(2026, 10, 2, 9, 0, 0);

/** Keeps the payouts of one scenario. Like the service, it records a reference once. */
export class Ledger {
  readonly payouts: Payout[] = [];
  readonly #entries: readonly PlannedEntry[];
  readonly #queue: Entry[] = [];

  constructor(entries: readonly PlannedEntry[]) {
    this.#entries = entries;
    for (const planned of entries.filter(({ exists }) => exists)) {
      const isSame = Object.keys(planned.exists!).length === 0;
      if (isSame) this.#record(asInput(planned), planned);
      else this.#record({ ...asInput(planned), ...planned.exists }, undefined, "success");
    }
  }

  /** Returns the entry that a request is for, found by the reference, else by the recipient. */
  entryOf({ reference, phoneNumber }: Partial<Entry>): PlannedEntry | undefined {
    const named = this.#entries.find((each) => each.reference === reference);
    return named ?? this.#entries.find((each) => each.phoneNumber === phoneNumber);
  }

  byReference(reference: string): Payout | undefined {
    return this.payouts.find((payout) => payout.reference === reference);
  }

  byMerchantsReference(reference: string): Payout | undefined {
    return this.payouts.find(({ request }) => request.reference === reference);
  }

  /** Processes a request as the service does. */
  create(request: Entry): Outcome {
    const existing = this.byMerchantsReference(request.reference);
    const entry = this.#entries.find(({ reference }) => reference === request.reference) ?? this.entryOf(request);
    if (entry?.fate === "refused") return { kind: "refused" };
    if (existing) return { kind: "exists", payout: existing };
    return { kind: "created", payout: this.#record(request, entry) };
  }

  /** Holds a request back until the program has ended. */
  createLate(request: Entry): void {
    this.#queue.push(request);
  }

  /** Processes the late requests. */
  settle(): void {
    for (const request of this.#queue.splice(0)) {
      const entry = this.entryOf(request);
      if (entry?.fate !== "refused" && !this.byMerchantsReference(request.reference)) this.#record(request, entry);
    }
  }

  #record(request: Entry, entry: PlannedEntry | undefined, status = statusOf(entry)): Payout {
    const reference = `DSB${String(this.payouts.length + 1).padStart(4, "0")}HOSTILE7Q2M9X4T1VK8R3`;
    const payout = { request, reference, status, entry, toldIn: new Set<number>() };
    this.payouts.push(payout);
    return payout;
  }
}

function statusOf(entry: PlannedEntry | undefined): Status {
  const fate = entry?.fate ?? "success";
  return fate === "success" || fate === "failed" ? fate : "pending";
}

/** Records that the program has seen a payout. A payout that `settles` then becomes a success. */
export function show(payout: Payout, start: number): void {
  if (payout.status !== "pending") payout.toldIn.add(start);
  else if (payout.entry?.fate === "settles") payout.status = "success";
}

/** Renders the response to a create. */
export const createdView = ({ reference, request, status }: Payout): Schemas["DisbursementCreated"] => ({
  reference,
  merchantsReference: request.reference,
  amount: request.amount,
  fee: Math.round(request.amount / 100),
  status,
});

/**
 * Renders a record.
 * @param clockAhead how far the service's clock is ahead, in seconds
 */
export function recordView(payout: Payout, clockAhead: number): Schemas["Disbursement"] {
  const { country, currency, phoneNumber } = payout.request;
  const at = new Date(epoch + clockAhead * 1000).toISOString();
  return {
    id: `0199-${payout.reference}`,
    userId: "user-1",
    merchant: { name: "Merchant" },
    customer: { id: `customer-${phoneNumber.slice(-4)}`, name: `Customer ${phoneNumber.slice(-4)}`, phoneNumber },
    country,
    currency,
    ...createdView(payout),
    createdAt: at,
    updatedAt: at,
  };
}
