/** Room for deliveries under way: so many for each receiver, so many in all. */
export interface Lanes {
  /** How many more deliveries may be claimed now: in all, or for one receiver (see `receiverOf`). */
  room: (host?: string) => number;
  /** How many more may be claimed for a merchant. */
  roomOf: (merchantId: string) => number;
  /** Runs the attempt of a claimed delivery; where its lane is full, after those that came before. Settles as the attempt does. */
  run: <T>(host: string, attempt: () => Promise<T>, merchantId?: string) => Promise<T>;
  /** Resolves when what is under way now has ended. */
  idle: () => Promise<void>;
}

interface Lane {
  running: number;
  waiting: (() => void)[];
}

/**
 * Keeps a slow or dead receiver from holding up the deliveries of others. Whoever claims due deliveries takes at
 * most `room()` of them, at most `room(host)` for each receiver, gives each to `run`, and looks again whenever
 * an attempt has ended: so nothing that was claimed waits. Only attempts that were not claimed so (a replay) may.
 *
 * When half of all the room is taken, the other half goes to receivers with nothing under way, one delivery
 * each: many dead receivers together cannot take it all. Hosts are free to make up, so that of one merchant no
 * more than three quarters are under way: the rest is for the others.
 */
export function createLanes({ perHost, total }: { perHost: number; total: number }): Lanes {
  const lanes = new Map<string, Lane>();
  const underWay = new Set<Promise<unknown>>();
  /** How many attempts each merchant has under way. */
  const held = new Map<string, number>();
  const half = Math.ceil(total / 2);
  const perMerchant = Math.ceil((total * 3) / 4);
  const crowded = () => underWay.size >= half;

  function roomOf(host: string): number {
    const lane = lanes.get(host);
    if (crowded()) return lane ? 0 : 1;
    return lane ? Math.max(0, perHost - lane.running - lane.waiting.length) : perHost;
  }

  async function takeTurn<T>(host: string, attempt: () => Promise<T>): Promise<T> {
    const lane = lanes.get(host) ?? { running: 0, waiting: [] };
    lanes.set(host, lane);
    if (lane.running < perHost) lane.running += 1;
    else await new Promise<void>((resolve) => lane.waiting.push(resolve));
    try {
      return await attempt();
    } finally {
      const next = lane.waiting.shift();
      if (next) next();
      else lane.running -= 1;
      if (lane.running === 0) lanes.delete(host);
    }
  }

  return {
    room: (host) => {
      const inAll = Math.max(0, (crowded() ? total : half) - underWay.size);
      return host === undefined ? inAll : Math.min(inAll, roomOf(host));
    },
    roomOf: (merchantId) => Math.max(0, perMerchant - (held.get(merchantId) ?? 0)),
    run: async (host, attempt, merchantId = "") => {
      const turn = takeTurn(host, attempt);
      underWay.add(turn);
      held.set(merchantId, (held.get(merchantId) ?? 0) + 1);
      try {
        return await turn;
      } finally {
        underWay.delete(turn);
        const left = held.get(merchantId)! - 1;
        if (left > 0) held.set(merchantId, left);
        else held.delete(merchantId);
      }
    },
    idle: async () => {
      await Promise.allSettled(underWay);
    },
  };
}

/** The receiver an address belongs to, as lanes know it: host name and port. Addresses that no webhook can go to share the empty name. */
export function receiverOf(url: string): string {
  return URL.parse(url)?.host ?? "";
}
