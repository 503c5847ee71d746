import type { Lane, LaneClaim } from "../domain/storage.ts";

export interface FairnessLimits {
  /** The maximum number of attempts in progress to one receiver. */
  perHost: number;
  /** The maximum number of attempts in progress to all receivers together. */
  total: number;
}

/**
 * Decides which ready deliveries to attempt, so that a slow or dead receiver does not hold up the others. These limits
 * count attempts in progress in this process:
 *
 * - Each receiver gets at most `perHost`.
 * - Half of `total` is open to every receiver. The other half is reserved for receivers without an attempt in progress,
 *   one attempt each, so that the dead receivers in the first half cannot use up everything.
 * - A merchant can invent any number of hosts, so each merchant gets at most three quarters of `total`.
 */
export interface Fairness {
  /** Returns how many more attempts may be started now. */
  room(): number;
  /** Returns how many more attempts a merchant may start now. */
  roomOfMerchant(merchantId: string): number;
  /** Returns how many deliveries of each lane to claim. Serves the lanes in order and leaves out those without room. */
  plan(lanes: readonly Lane[]): LaneClaim[];
  /** Makes an attempt and counts it while it is in progress. Waits first if the receiver has no room (for a replay). */
  run<T>(lane: Lane, attempt: () => Promise<T>): Promise<T>;
}

interface Receiver {
  running: number;
  waiting: (() => void)[];
}

export function createFairness({ perHost, total }: FairnessLimits): Fairness {
  const receivers = new Map<string, Receiver>();
  const ofMerchant = new Map<string, number>();
  const half = Math.ceil(total / 2);
  const perMerchant = Math.ceil((total * 3) / 4);
  let inProgress = 0;
  const isCrowded = () => inProgress >= half;

  const room = () => Math.max(0, (isCrowded() ? total : half) - inProgress);
  const roomOfMerchant = (id: string) => Math.max(0, perMerchant - (ofMerchant.get(id) ?? 0));

  function roomOfHost(host: string): number {
    const receiver = receivers.get(host);
    if (isCrowded()) return receiver ? 0 : 1;
    return receiver ? Math.max(0, perHost - receiver.running - receiver.waiting.length) : perHost;
  }

  async function takeTurn<T>(host: string, attempt: () => Promise<T>): Promise<T> {
    const receiver = receivers.get(host) ?? { running: 0, waiting: [] };
    receivers.set(host, receiver);
    if (receiver.running < perHost) receiver.running += 1;
    else await new Promise<void>((resolve) => receiver.waiting.push(resolve));
    try {
      return await attempt();
    } finally {
      const next = receiver.waiting.shift();
      if (next) next();
      else receiver.running -= 1;
      if (receiver.running === 0) receivers.delete(host);
    }
  }

  return {
    room,
    roomOfMerchant,
    plan(lanes) {
      let left = room();
      const hosts = new Map<string, number>();
      const merchants = new Map<string, number>();
      return lanes.flatMap((lane) => {
        const { merchantId, host } = lane;
        const ofHost = hosts.get(host) ?? roomOfHost(host);
        const ofThisMerchant = merchants.get(merchantId) ?? roomOfMerchant(merchantId);
        const count = Math.min(left, ofHost, ofThisMerchant);
        if (count === 0) return [];
        left -= count;
        hosts.set(host, ofHost - count);
        merchants.set(merchantId, ofThisMerchant - count);
        return [{ ...lane, count }];
      });
    },
    async run({ merchantId, host }, attempt) {
      inProgress += 1;
      ofMerchant.set(merchantId, (ofMerchant.get(merchantId) ?? 0) + 1);
      try {
        return await takeTurn(host, attempt);
      } finally {
        inProgress -= 1;
        const left = ofMerchant.get(merchantId)! - 1;
        if (left > 0) ofMerchant.set(merchantId, left);
        else ofMerchant.delete(merchantId);
      }
    },
  };
}
