import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "./clock.ts";
import { ServiceError } from "./errors.ts";
import type { Lane, LaneClaim } from "./deliveries.ts";
import type { Storage } from "./storage.ts";
import { AsyncLocalStorage } from "node:async_hooks";

/** How long work waits for room, and how much work of a merchant may wait. */
const WAIT_MS = 5_000;
const MOST_WAITING = 1_024;
/** How many turns of the event loop other work waits while payments are in progress. */
const MOST_TURNS = 6;

export interface RoomLimits {
  total: number;
  /** Of the work that has a host. */
  perHost?: number;
  /** Work that goes first: room that `run` has used becomes free only after this had a chance to run. */
  first?: InProgress;
}

/** Whose work it is, and perhaps where it goes. */
type Owner = Pick<Lane, "merchantId"> & Partial<Lane>;

class Counts extends Map<string, number> {
  of(key: string): number {
    return this.get(key) ?? 0;
  }
  add(key: string, more: number): void {
    const count = this.of(key) + more;
    if (count > 0) this.set(key, count);
    else this.delete(key);
  }
}

export const laneOf = ({ merchantId, host }: Owner) => `${merchantId} ${host}`;

/** The share of a room that everybody may use. In the rest, each who has nothing in progress may begin one. */
const SHARED = 7 / 8;

/**
 * True if one more of mine fits into a room: nobody may have more in progress than there is room left. Of those who want
 * all they can get, one alone gets half of the room, two get a third each, and a newcomer finds as much as each of them
 * has.
 */
const fits = (mine: number, all: number, room: number): boolean =>
  all < room && mine < Math.max(1, room * SHARED - all);

/**
 * Limits what is in progress in this process, so that no merchant and no host holds up the others (D56). Merchants share
 * the whole room and the room of a host, and the hosts of one merchant share what the merchant alone may have.
 */
export class InProgress {
  readonly #limits: RoomLimits;
  readonly #clock: Pick<Clock, "sleep">;
  #all = 0;
  readonly #merchants = new Counts();
  readonly #hosts = new Counts();
  readonly #lanes = new Counts();
  /** The functions that begin what waits, by merchant. The merchant that was served last is last. */
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(limits: RoomLimits, clock: Pick<Clock, "sleep">) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** True if one more may begin: of this owner, or without an owner, of anybody. */
  hasRoom(owner?: Owner): boolean {
    const { total, perHost = Infinity } = this.#limits;
    if (!owner) return this.#all < total;
    const ofMerchant = this.#merchants.of(owner.merchantId);
    if (!fits(ofMerchant, this.#all, total)) return false;
    if (owner.host === undefined) return true;
    const ofLane = this.#lanes.of(laneOf(owner));
    return fits(ofLane, this.#hosts.of(owner.host), perHost) && fits(ofLane, ofMerchant, (total * SHARED) / 2);
  }

  /** Counts work from now until `end`, whether it has room or not. */
  begin(owner: Owner): void {
    this.#count(owner, 1);
  }

  end(owner: Owner): void {
    this.#count(owner, -1);
    if (this.#waiting.size > 0) this.#beginNext();
  }

  /**
   * Begins a merchant's work when it has room. Merchants that wait take turns.
   * @throws ServiceError `rate_limited` if the merchant has too much in progress or waiting, `unavailable` if others do
   */
  async wait(merchantId: string): Promise<void> {
    if (this.hasRoom({ merchantId })) return this.begin({ merchantId });
    const queue = this.#waiting.get(merchantId) ?? new Set();
    if (queue.size >= MOST_WAITING) throw tooMany();
    this.#waiting.set(merchantId, queue);
    const begun = new AbortController();
    const wake = () => begun.abort("begun");
    queue.add(wake);
    await this.#clock.sleep(WAIT_MS, begun.signal);
    if (begun.signal.aborted) return;
    queue.delete(wake);
    if (queue.size === 0) this.#waiting.delete(merchantId);
    // A merchant with less than an equal share has not filled the room.
    if (this.#merchants.of(merchantId) * this.#merchants.size >= this.#all) throw tooMany();
    throw new ServiceError("unavailable", "The server is busy. Send the request again.", { retryAfterSeconds: 1 });
  }

  /** True if nothing is in progress. */
  get isIdle(): boolean {
    return this.#all === 0;
  }

  /** Waits for room, and counts the work until it ends. @throws ServiceError `rate_limited`, as `wait` does */
  async run<T>(merchantId: string, work: () => Promise<T>): Promise<T> {
    await this.wait(merchantId);
    try {
      return await work();
    } finally {
      if (this.#limits.first) void giveWay(this.#limits.first).then(() => this.end({ merchantId }));
      else this.end({ merchantId });
    }
  }

  /** Returns how much of each lane has room if the lanes take turns, at most `most` in all. Begins nothing. */
  plan(lanes: readonly Lane[], most: number): LaneClaim[] {
    const claims = lanes.map((lane) => ({ ...lane, count: 0 }));
    let planned = 0;
    for (let open = claims; open.length > 0;) {
      open = open.filter((claim) => {
        if (planned === most || !this.hasRoom(claim)) return false;
        this.begin(claim);
        planned += 1;
        claim.count += 1;
        return true;
      });
    }
    for (const claim of claims) this.#count(claim, -claim.count);
    return claims.filter(({ count }) => count > 0);
  }

  #count(owner: Owner, more: number): void {
    this.#all += more;
    this.#merchants.add(owner.merchantId, more);
    if (owner.host === undefined) return;
    this.#hosts.add(owner.host, more);
    this.#lanes.add(laneOf(owner), more);
  }

  #beginNext(): void {
    for (const [merchantId, queue] of this.#waiting) {
      if (!this.hasRoom({ merchantId })) continue;
      const [wake] = queue;
      queue.delete(wake!);
      this.#waiting.delete(merchantId);
      if (queue.size > 0) this.#waiting.set(merchantId, queue);
      this.begin({ merchantId });
      wake!();
    }
  }
}

const tooMany = () =>
  new ServiceError("rate_limited", "Too many of your requests are in progress already. Send fewer at a time.", {
    retryAfterSeconds: 1,
  });

/**
 * Lets requests run between two steps of other work, each of which blocks the event loop for milliseconds. Waits for one
 * turn of the loop, or for up to MOST_TURNS while payments are in progress.
 */
async function giveWay(payments: InProgress): Promise<void> {
  await nextTurn();
  for (let turns = 1; turns < MOST_TURNS && !payments.isIdle; turns += 1) await nextTurn();
}

/** The methods of the storage that read many rows for a merchant. */
const LISTS = [
  "listDisbursements",
  "listCheckouts",
  "listStatement",
  "listEvents",
  "listDeliveries",
  "listRequests",
  "listAudit",
  "countDeliveries",
  "replayAll",
] as const satisfies readonly (keyof Storage)[];

type List = (query: string | { merchantId?: string }, ...more: unknown[]) => Promise<unknown>;

/**
 * Returns the storage with lists that wait for room, also those that the dashboard and exports read. If a test later replaces a method of the
 * given storage, the new method is used here too.
 */
export function withLimitedLists(storage: Storage, lists: InProgress): Storage {
  const limited = Object.create(storage) as Storage;
  for (const name of LISTS) {
    const list: List = (query, ...more) => {
      const merchantId = typeof query === "string" ? query : (query.merchantId ?? "");
      return lists.run(merchantId, () => (storage[name] as List)(query, ...more));
    };
    Object.assign(limited, { [name]: list });
  }
  return limited;
}

/** How long a request may still wait for the storage, over all its operations. */
const timeLeft = new AsyncLocalStorage<{ leftMs: number }>();

/** Runs `work`, whose operations share the time that is left. */
export const withTimeLeft = <T>(left: { leftMs: number }, work: () => T): T => timeLeft.run(left, work);

/**
 * Runs an operation of the storage, and takes its time from the time that is left to its request, if that is limited.
 * @param operation gets the time by which it must have ended, as `performance.now()` counts
 */
export async function runInTimeLeft<T>(operation: (deadline: number) => Promise<T>): Promise<T> {
  const left = timeLeft.getStore();
  if (!left) return operation(Infinity);
  const begun = performance.now();
  try {
    return await operation(begun + left.leftMs);
  } finally {
    left.leftMs -= performance.now() - begun;
  }
}

/** Settles as `work` does, or rejects with the signal's reason as soon as the signal is aborted. */
export function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    work.finally(() => signal.removeEventListener("abort", abort)).then(resolve, reject);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort);
  });
}
