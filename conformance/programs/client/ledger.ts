// What the hostile service recorded: the truth with which a client's reports are compared. The model of the service keeps
// the records; this adds which entry each payout pays.
import { isDeepStrictEqual as isEqual } from "node:util";
import { Merchant, type Changeable, type Disbursement } from "../../model/merchant.ts";
import { Problem } from "../../model/problem.ts";
import { asInput, type Entry, type Fate, type PlannedEntry } from "./entries.ts";

export type Payout = {
  record: Disbursement;
  /** The entry that the payout pays; undefined if it pays no entry. */
  entry: PlannedEntry | undefined;
  /** The starts of the program that were told how the payout ended. */
  toldIn: Set<number>;
};

type Request = Parameters<Changeable["addDisbursement"]>[0];

const somebody: Entry = { reference: "", amount: 990, phoneNumber: "233201112223", country: "GH", currency: "GHS" };

/** The payouts of one scenario. */
export class Ledger {
  readonly payouts: Payout[] = [];
  readonly merchant: Merchant;
  readonly #entries: readonly PlannedEntry[];
  /** The requests that are held back until the program has ended. */
  readonly late: Entry[] = [];
  #account!: Changeable;
  readonly #others = new Merchant("Somebody else", "", { settings: { sandbox: false } });
  /** The reference of each entry's first create. It is the program's own reference, or the entry's. */
  readonly #sentAs = new Map<PlannedEntry, string>();

  /** @param clockAhead how far the service's clock is ahead, in seconds */
  constructor(entries: readonly PlannedEntry[], key: string, clockAhead = 0) {
    this.#entries = entries;
    this.merchant = new Merchant("Merchant", key, {
      settings: { sandbox: false },
      merchant: (account) => {
        this.#account = account;
        const addDisbursement = (request: Request) => this.#record(request, this.entryOf(request));
        return { outcomeOf: () => "pending", addDisbursement };
      },
    });
    this.merchant.state.clock.now = () => Date.now() + clockAhead * 1000;
    for (const planned of entries.filter(({ exists }) => exists)) {
      const isSame = Object.keys(planned.exists!).length === 0;
      if (isSame) this.#record(asInput(planned), planned);
      else this.#record({ ...asInput(planned), ...planned.exists }, undefined, "success");
    }
  }

  /** Returns the entry that the program sent with a reference, or else the entry that has the reference. */
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
    if (entry.exists) this.merchant.state.disbursements.rename(entry.reference, request.reference);
    return entry;
  }

  byMerchantsReference(reference: string): Payout | undefined {
    return this.payouts.find(({ record }) => record.merchantsReference === reference);
  }

  /** Returns a payout of another merchant that differs from the requested payout only in its references. */
  somebodyElses(request: Entry = somebody): Disbursement {
    const reference = `somebody-else-${this.#others.state.disbursements.records.length + 1}`;
    return this.#others.addDisbursement({ ...asInput(request), reference });
  }

  /** Processes the late requests. */
  settle(): void {
    for (const request of this.late.splice(0)) {
      const entry = this.entryOf(request);
      if (entry?.fate !== "refused" && !this.byMerchantsReference(request.reference)) this.#record(request, entry);
    }
  }

  /** Records that the program has seen a payout. A payout that `settles` then becomes a success. */
  show({ record, entry, toldIn }: Payout, start: number): void {
    if (record.status !== "pending") toldIn.add(start);
    else if (entry?.fate === "settles") this.#account.finish(record, "success");
  }

  // `webhookURL` is left out, because the suite sends nothing to an address that the program gives.
  #record(
    { webhookURL: _webhookURL, ...request }: Request,
    entry?: PlannedEntry,
    fate: Fate = entry?.fate ?? "success",
  ) {
    if (fate === "refused") throw new Problem("invalid_value", "The balance or the recipient does not allow it.");
    const record = this.#account.addDisbursement(request);
    if (fate === "success" || fate === "failed") this.#account.finish(record, fate);
    this.payouts.push({ record, entry, toldIn: new Set() });
    return record;
  }
}
