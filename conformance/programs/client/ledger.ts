// What the hostile service recorded: the truth with which a client's reports are compared.
import { isDeepStrictEqual as isEqual } from "node:util";
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
  /** The reference of each entry's first create. It is the program's own reference, or the entry's. */
  readonly #sentAs = new Map<PlannedEntry, string>();

  constructor(entries: readonly PlannedEntry[]) {
    this.#entries = entries;
    for (const planned of entries.filter(({ exists }) => exists)) {
      const isSame = Object.keys(planned.exists!).length === 0;
      if (isSame) this.#record(asInput(planned), planned);
      else this.#record({ ...asInput(planned), ...planned.exists }, undefined, "success");
    }
  }

  /** Returns the entry that has a reference, or is sent with it. */
  entryNamed(reference: string | undefined): PlannedEntry | undefined {
    const sent = this.#entries.find((each) => this.#sentAs.get(each) === reference);
    return sent ?? this.#entries.find((each) => each.reference === reference);
  }

  /**
   * Returns the entry that a request is for. A program may make its own references, so an entry with the same fields
   * comes before an entry with the same reference. If several entries match, returns the first that was not sent yet.
   */
  entryOf(request: Entry): PlannedEntry | undefined {
    const named = this.entryNamed(request.reference);
    const isUnsent = (each: PlannedEntry) => !this.#sentAs.has(each);
    const equal = this.#entries.filter((each) =>
      isEqual({ ...asInput(each), reference: "" }, { ...asInput(request), reference: "" }),
    );
    if (named && (equal.length === 0 || equal.includes(named))) return named;
    const toRecipient = this.#entries.filter(({ phoneNumber }) => phoneNumber === request.phoneNumber);
    const similar = equal.length > 0 ? equal : toRecipient;
    return similar.find(isUnsent) ?? similar[0];
  }

  /** Returns the entry that a create is for. Its first create says which reference the program has for the entry. */
  entryOfCreate(request: Entry): PlannedEntry | undefined {
    const entry = this.entryOf(request);
    if (!entry || this.#sentAs.has(entry)) return entry;
    this.#sentAs.set(entry, request.reference);
    // A payout that exists before the program starts has the program's reference.
    const existing = entry.exists && this.byMerchantsReference(entry.reference);
    if (existing) existing.request = { ...existing.request, reference: request.reference };
    return entry;
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
    const entry = this.entryOf(request);
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
  const { says } = payout.entry ?? {};
  return {
    id: `0199-${payout.reference}`,
    userId: "user-1",
    merchant: { name: says ?? "Merchant" },
    customer: {
      id: `customer-${phoneNumber.slice(-4)}`,
      name: says ?? `Customer ${phoneNumber.slice(-4)}`,
      phoneNumber,
    },
    country,
    currency,
    ...createdView(payout),
    ...(says !== undefined && payout.status === "failed" ? { failure: { code: "declined", message: says } } : {}),
    createdAt: at,
    updatedAt: at,
  };
}
