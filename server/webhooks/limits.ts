/** Room for deliveries under way: so many for each receiver, so many in all. */
export interface Lanes {
  /** How many deliveries may be claimed now; 0 means: not before one of those under way has ended. */
  room: () => number;
  /** Receivers for which no more may be claimed now. */
  full: () => string[];
  /** Runs the attempt of a claimed delivery, after those to the same receiver when its lane is full. Settles as the attempt does. */
  run: <T>(host: string, attempt: () => Promise<T>) => Promise<T>;
  /** Resolves when nothing is under way any more; meanwhile the caller claims nothing. */
  idle: () => Promise<void>;
}

interface Lane {
  running: number;
  waiting: (() => void)[];
}

/**
 * Keeps a slow or dead receiver from holding up the deliveries of others. To be used as
 * `claimDue({ limit: lanes.room(), excludeHosts: lanes.full() })`, again and again until nothing comes or there
 * is no room, then a `run` for each, and all of it once more after each attempt that ends.
 *
 * Since no claim is larger than a lane, fewer than `perHost` claimed deliveries ever wait for a lane, and none
 * longer than one attempt takes. When half of all the room is taken, the other half goes to receivers with
 * nothing under way, one delivery each: many dead receivers together cannot take it all.
 */
export function createLanes({ perHost, total }: { perHost: number; total: number }): Lanes {
  const lanes = new Map<string, Lane>();
  const underWay = new Set<Promise<unknown>>();
  const half = Math.ceil(total / 2);
  const crowded = () => underWay.size >= half;

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
    room: () => (crowded() ? Math.min(1, total - underWay.size) : Math.min(perHost, half - underWay.size)),
    full: () => [...lanes].filter(([, lane]) => crowded() || lane.running >= perHost).map(([host]) => host),
    run: async (host, attempt) => {
      const turn = takeTurn(host, attempt);
      underWay.add(turn);
      try {
        return await turn;
      } finally {
        underWay.delete(turn);
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
