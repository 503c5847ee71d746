// Defines a broken server: a description, the requirements it violates, and the code that makes it violate them.
import type { Hooks } from "../model/merchant.ts";
import type { Profile } from "../results.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

export type { Hooks } from "../model/merchant.ts";
export type { Ask, Call, Deliver, Message, Reply } from "../model/messages.ts";

/** The properties of the server that a fault may use. */
export type World = {
  key: string;
  secondKey: string;
  sleep: (ms: number) => Promise<void>;
  /** The age, in milliseconds of real time, from which a record is old. */
  oldAge: number;
};

export type Fault = {
  /** The first violated requirement and the defect, which together name the fault. */
  id: string;
  /** The ids of the requirements whose checks must report the defect. */
  violates: readonly RequirementId[];
  how: How;
  /**
   * Speeds up a fault whose requirements are judged on every response or only at the end of the run. Only the checks
   * of the requirement with this id run, and the closing checks; they must provoke the faulty response. By default all
   * checks run.
   */
  through?: RequirementId;
  /**
   * Set for a defect that is not visible right after a create: of all requirements of the profile, only these may fail.
   * `npm run certify:self-test -- classes` checks this.
   */
  onlyBy?: { ids: readonly RequirementId[]; profile: Profile };
};

/**
 * Returns the changes that a fault makes to a server. It is called once for each server, so each has its own state.
 * It may return the result of a building block, which is also a `How`.
 */
export type How = (world: World) => Hooks | How;

export function hooksOf(how: How, world: World): Hooks {
  const result = how(world);
  return typeof result === "function" ? hooksOf(result, world) : result;
}

/** Combines faults: requests and webhooks pass through the first, then through the next. */
export const joined =
  (...hows: readonly How[]): How =>
  (world) =>
    hows
      .map((how) => hooksOf(how, world))
      .reduceRight((inner, outer) => {
        const { handle = (call, ask) => ask(call), webhook = (message, deliver) => deliver(message) } = outer;
        return {
          ...inner,
          ...outer,
          settings: { ...inner.settings, ...outer.settings },
          handle: (call, ask) => handle(call, async (each) => (inner.handle ? inner.handle(each, ask) : ask(each))),
          webhook: (message, deliver) =>
            webhook(message, (each) => (inner.webhook ? inner.webhook(each, deliver) : deliver(each))),
          merchant(account) {
            const changed = { ...account, ...inner.merchant?.(account) };
            return { ...changed, ...outer.merchant?.(changed) };
          },
        };
      });

/** What a topic declares of a fault, in addition to the fault's name. */
type Declared = Pick<Fault, "how" | "through" | "onlyBy"> & { also?: readonly RequirementId[]; isAlone?: true };
type Ids = RequirementId | readonly RequirementId[];

/** The faults of a topic, by name: the violated requirement, and a sentence that describes the defect. */
export type Faults = { readonly [Name in `${RequirementId}: ${string}`]: How | Declared };

const declared = (fault: How | Declared): Declared => (typeof fault === "function" ? { how: fault } : fault);

/** Declares that a fault violates these requirements, too. */
export const also = (ids: Ids, fault: How | Declared): Declared => ({ ...declared(fault), also: [ids].flat() });

/** Declares that the checks of this requirement provoke the fault (see `Fault.through`). */
export const through = (id: RequirementId, fault: How | Declared): Declared => ({ ...declared(fault), through: id });

/**
 * Declares that only these requirements catch a fault.
 * @param profile the profile in which all checks run; `extended` if a requirement is not in core
 */
export const caughtOnlyBy = (ids: Ids, fault: How | Declared, profile: Profile = "core"): Declared => ({
  ...declared(fault),
  onlyBy: { ids: [ids].flat(), profile },
});

/** Declares that of the core requirements, only the one in a fault's name catches the fault. */
export const alone = (fault: How | Declared): Declared => ({ ...declared(fault), isAlone: true });

/** Declares that the checks of this requirement provoke all these faults (see `Fault.through`). */
export const provokedBy = (id: RequirementId, faults: Faults): Faults =>
  Object.fromEntries(Object.entries(faults).map(([name, fault]) => [name, through(id, fault)]));

/** Makes faults that differ in one value. */
export const forEach = <const T>(
  values: readonly T[],
  fault: (value: T) => readonly [defect: string, how: How | Declared],
) => Object.fromEntries(values.map(fault));

/** Returns the faults of a topic as a list. */
export const listed = (faults: Faults): Fault[] =>
  Object.entries(faults).map(([name, fault]) => {
    const { also: others = [], isAlone, ...rest } = declared(fault);
    const violates = [name.split(": ")[0] as RequirementId, ...others];
    const onlyBy = { ids: violates.slice(0, 1), profile: "core" } as const;
    return { id: name, violates, ...(isAlone ? { onlyBy } : {}), ...rest };
  });
