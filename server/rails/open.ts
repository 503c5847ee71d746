import type { Clock } from "../domain/clock.ts";
import { RailError, type Rail, type RailPayment, type Rails } from "../domain/rails.ts";
import { checkedRail } from "./checked-rail.ts";
import { createContractRail } from "./contract.ts";
import { loadRail } from "./load.ts";
import { RailsError, type RailSettings, type RailsSettings, type Route } from "./settings.ts";

/** How long a rail may take to respond at the start. */
const CHECK_MS = 3_000;

interface Options {
  clock: Pick<Clock, "now">;
  /**
   * Called for a rail that does not respond now. The server starts nevertheless, because an outage of a rail must not
   * prevent a start.
   */
  warn(message: string): void;
}

/**
 * Opens the rails of a live service and sends each rail a request that only reads.
 * @throws RailsError that lists every rail that cannot be used
 */
export async function openRails({ rails: settings, routes }: RailsSettings, options: Options): Promise<Rails> {
  const problems: string[] = [];
  const opened = await Promise.all(
    settings.map(async (each) => {
      try {
        return [each.name, await openRail(each, options)] as const;
      } catch (error) {
        problems.push(`${each.name}: ${(error as Error).message}`);
        return undefined;
      }
    }),
  );
  if (problems.length > 0)
    throw new RailsError(`Rails that cannot be used:\n${problems.map((problem) => `  - ${problem}`).join("\n")}`);
  const rails = new Map(opened.flatMap((each) => (each ? [each] : [])));
  return {
    names: settings.map(({ name }) => name),
    get: (name) => rails.get(name),
    routeOf: (payment) =>
      routes.find((route) => fits(route, payment) && canCarry(rails.get(route.rail), payment))?.rail,
    rateOf: (name) => settings.find((each) => each.name === name)?.requestsPerSecond,
    close: async () => void (await Promise.allSettled([...rails.values()].map((rail) => rail.close?.()))),
  };
}

async function openRail(settings: RailSettings, { clock, warn }: Options): Promise<Rail> {
  const { name } = settings;
  const rail = checkedRail(
    "url" in settings
      ? createContractRail({ ...settings, now: clock.now })
      : await loadRail(settings.module, settings.settings, (problem) => warn(`The rail ${name} ${problem}`)),
  );
  try {
    await rail.check?.(AbortSignal.timeout(CHECK_MS));
  } catch (error) {
    if (error instanceof RailError && error.options.needsRepair) throw error;
    warn(`The rail ${name} does not respond now; its payments wait: ${(error as Error).message}`);
  }
  return rail;
}

type Routed = Pick<RailPayment, "kind" | "country" | "currency" | "phoneNumber">;

const fits = ({ kind, country, currency, phonePrefix }: Route, payment: Routed): boolean =>
  (kind === undefined || kind === payment.kind) &&
  (country === undefined || country === payment.country) &&
  (currency === undefined || currency === payment.currency) &&
  (phonePrefix === undefined || payment.phoneNumber?.startsWith(phonePrefix) === true);

const canCarry = (rail: Rail | undefined, { kind }: Routed): boolean => kind === "disbursement" || !!rail?.collect;
