// Defines a scenario: data that says what the service and the network do, and how the client is started.
import { requirementsOf } from "../../contract/requirements.ts";
import type { Described } from "../run.ts";
import type { Answer, Step } from "./answers.ts";
import type { Conditions, PlannedEntry } from "./entries.ts";

/** When the program is killed: at a moment of the create with this number. */
export type Kill = {
  on: "received" | "recorded" | "answered";
  create: number;
  /** Counts the creates of the entry with this index in all starts, instead of all creates of the current start. */
  entryIndex?: number;
  /** Kills the program a random time later. */
  later?: true;
};

export type Start = {
  kill?: Kill;
  /** The program does not find what earlier starts stored. */
  freshState?: true;
  /** The program has no place to store anything, so it cannot know what earlier starts sent. */
  withoutState?: true;
  /** The input has the entries in the reverse order. */
  reversed?: true;
  /** What happens to every create of this start, instead of what the scenario says. */
  creates?: Step;
  /** The response to every read and list of this start. */
  reads?: Answer;
  /** The number of copies of the program that work at the same time, each with its own storage. The default is 1. */
  workers?: number;
};

export type Scenario = Described & Rest;

/** What the service and the network do, and how the program is started. */
export type Rest = Omit<Conditions, "lists"> & {
  /** The default is one entry for each fate except `refused`. */
  entries?: readonly PlannedEntry[];
  /** The input has every entry twice. */
  repeated?: true;
  /** As in `Conditions`; `none`: the service has no lists. */
  lists?: Conditions["lists"] | "none";
  /**
   * The share of requests, in percent, with a fault that the seed draws. An entry has at most three faults in a row.
   */
  weather?: number;
  /** A connection that is kept alive breaks when it is used again. */
  staleConnections?: true;
  /** How far the service's clock is ahead, in seconds. */
  clockAhead?: number;
  /** How the program is started, one start after the other. The default is once, to its end. */
  starts?: readonly Start[];
  /** When the program has ended, the service accepts what it refused, and is watched for payouts of a detached worker. */
  watched?: true;
  /** The largest share of entries, in percent, that may be reported as unknown. The default is 0. */
  mayBeUnknown?: number;
  /** Set if a sound client may leave entries unpaid. */
  mayGiveUp?: true;
  judges?: readonly (typeof sometimes)[number][];
};

/** The requirements that only some scenarios judge. */
const sometimes = ["client.no-redirect", "client.key-stays", "client.waits-as-told", "client.backs-off"] as const;

export function scenario(id: string, name: string, rest: Rest = {}): Scenario {
  const { mayGiveUp, judges = [] } = rest;
  const omitted = new Set<string>(sometimes.filter((each) => !judges.includes(each)));
  if (mayGiveUp) omitted.add("client.loses-nothing");
  const ids = requirementsOf("client").flatMap((each) => (omitted.has(each.id) ? [] : each.id));
  return { id, name, ...rest, ids };
}
