// What a scripted model can do in a scenario: prepare, pay and read, in sessions that may be killed. Each call is recorded
// together with what the ledger had at its end.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { createRandom, type Random } from "../../generate/random.ts";
import type { PlannedEntry } from "../client/entries.ts";
import { environmentFor } from "../client/launch.ts";
import type { HostileService } from "../client/service.ts";
import type { Environment, Open, Session } from "./host.ts";
import { at, fill, readResult, valuesOf, type Returned, type ToolMap, type Values, type Word } from "./map.ts";
import type { ScenarioOf } from "./scenario.ts";

/** A payment as the model asks for it, perhaps in other words or with a plan. */
export type Attempt = {
  entry: PlannedEntry;
  values: Values;
  /** True if the model asks for the payment as something new, so that a sound server may refuse it. */
  isVariant: boolean;
};

/** A call of a tool, and what came of it. Times are in ms since the scenario began. */
export type Asked = {
  number: number;
  kind: "prepare" | "pay" | "read" | "other";
  tool: string;
  args: Record<string, unknown>;
  attempt: Attempt | undefined;
  at: number;
  endedAt: number;
  returned?: Returned;
  /** Why there is no result. */
  lost?: string;
  /** True if the run itself ended the server during the call. */
  wasKilled: boolean;
  word: Word | undefined;
  isUnpaid: boolean;
  /** The status of the entry's first payout when the call ended; undefined if there was no payout. */
  payout: string | undefined;
};

export type ToolScenario = ScenarioOf<Stage>;

/** Returns true if the model has no result that says how the payment ended, or that it is under way. */
export const isOpen = ({ word, lost }: Asked) => lost !== undefined || word === "unknown" || word === "error";

export type Approval = { entry: PlannedEntry; amount: unknown; at: number };

type Setting = {
  scenario: ToolScenario;
  map: ToolMap;
  planned: readonly PlannedEntry[];
  service: HostileService;
  open: Open;
  environment: Environment;
  seed: number;
};

const run = promisify(execFile);
const usualPurpose = (entry: PlannedEntry) => `Invoice ${entry.reference}, for November`;

export class Stage {
  readonly asked: Asked[] = [];
  readonly approvals: Approval[] = [];
  /** What the servers wrote beside their results. */
  readonly logs: string[] = [];
  readonly random: Random;
  readonly #setting: Setting;
  readonly #began = performance.now();
  readonly #sessions = new Map<number, Promise<Session>>();
  readonly #killed = new WeakSet<Session>();

  constructor(setting: Setting) {
    this.#setting = setting;
    this.random = createRandom(setting.seed, `${setting.scenario.id} model`);
  }

  get map() {
    return this.#setting.map;
  }
  get planned() {
    return this.#setting.planned;
  }
  get service() {
    return this.#setting.service;
  }
  get now() {
    return performance.now() - this.#began;
  }

  /** Returns a session, and opens it if it is new or was killed. */
  session(index = 0): Promise<Session> {
    const { open, environment } = this.#setting;
    const session = this.#sessions.get(index) ?? open(environment);
    this.#sessions.set(index, session);
    return session;
  }

  /** Ends all sessions at once. The next calls open new sessions. */
  async kill(): Promise<void> {
    const sessions = await Promise.all(this.#sessions.values());
    this.#sessions.clear();
    for (const session of sessions) this.#killed.add(session);
    await Promise.all(sessions.map((session) => session.kill()));
    this.logs.push(...sessions.map((session) => session.log()));
  }

  /** The payment of an entry, in the words of the scenario or in other words. */
  attempt(entry: PlannedEntry, changed: Partial<Values> = {}, isVariant = false): Attempt {
    const { purpose = usualPurpose(entry) } = this.#setting.scenario;
    return { entry, values: { ...valuesOf(entry, purpose), ...changed }, isVariant };
  }

  async call(
    kind: Asked["kind"],
    tool: string,
    args: Record<string, unknown>,
    attempt?: Attempt,
    index?: number,
  ): Promise<Asked> {
    const { map, service } = this.#setting;
    const session = await this.session(index);
    const started = this.now;
    const number = this.asked.length + 1;
    const asked: Asked = {
      number,
      kind,
      tool,
      args,
      attempt,
      at: started,
      endedAt: started,
      wasKilled: false,
      word: undefined,
      isUnpaid: false,
      payout: undefined,
    };
    this.asked.push(asked);
    const answer = await session.call(tool, args);
    const payout = attempt && service.ledger.payouts.find(({ entry }) => entry === attempt.entry);
    Object.assign(asked, { endedAt: this.now, wasKilled: this.#killed.has(session), payout: payout?.status });
    return Object.assign(asked, "lost" in answer ? answer : { returned: answer, ...readResult(map, answer) });
  }

  /** Prepares a payment if the tools ask for that, and returns it with its plan. */
  async prepare(attempt: Attempt, index?: number): Promise<Attempt> {
    const { prepare } = this.map;
    if (!prepare) return attempt;
    const args = fill(prepare.arguments, attempt.values);
    let asked = await this.call("prepare", prepare.tool, args, attempt, index);
    // The server was perhaps killed.
    if (asked.lost !== undefined) asked = await this.call("prepare", prepare.tool, args, attempt, index);
    const plan = asked.returned && at(asked.returned, prepare.plan);
    return plan === undefined ? attempt : { ...attempt, values: { ...attempt.values, plan } };
  }

  /** True if the payment can be paid: it has a plan, or needs no plan. */
  isReady({ values }: Attempt): boolean {
    return this.map.prepare === undefined || values.plan !== undefined;
  }

  /** @param change returns the arguments of the call */
  async pay(attempt: Attempt, change = (args: Record<string, unknown>) => args, index?: number): Promise<Asked> {
    const { tool, arguments: template } = this.map.pay;
    if (!this.isReady(attempt)) return this.asked.at(-1)!;
    return this.call("pay", tool, change({ ...fill(template, attempt.values) }), attempt, index);
  }

  async read(attempt: Attempt): Promise<Asked | undefined> {
    const { read } = this.map;
    if (!read || !this.isReady(attempt)) return undefined;
    return this.call("read", read.tool, { ...fill(read.arguments, attempt.values) }, attempt);
  }

  /** Approves a payment, as a person does. */
  async approve(attempt: Attempt): Promise<void> {
    const { approve = {} } = this.map;
    const { environment } = this.#setting;
    const last = this.asked.findLast((asked) => asked.attempt === attempt && asked.returned && asked.kind !== "read");
    const link = approve.link === undefined || !last ? undefined : at(last.returned!, approve.link);
    if (approve.link === undefined) {
      const command = fill(approve.command!, attempt.values);
      await run("/bin/sh", ["-c", command], { env: environmentFor(environment) });
    } else if (typeof link === "string" && URL.canParse(link)) {
      const response = await fetch(link, { method: "POST" });
      await response.arrayBuffer();
    } else return;
    this.approvals.push({ entry: attempt.entry, amount: attempt.values.amount, at: this.now });
  }
}
