// The hostile service: the model of the service, behind a network, gateways and replicas that do not follow the contract.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createRandom } from "../../generate/random.ts";
import type { Disbursement } from "../../model/merchant.ts";
import type { Call as Request, Reply } from "../../model/messages.ts";
import { listen } from "../../model/server.ts";
import { createService } from "../../model/service.ts";
import type { Outcome } from "../exchange.ts";
import { drawFault, send, type Answer, type Step } from "./answers.ts";
import type { Entry, PlannedEntry } from "./entries.ts";
import { Ledger, type Payout } from "./ledger.ts";
import { readRequest, type ReadRequest } from "./requests.ts";
import type { Kill, Scenario, Start } from "./scenario.ts";

/**
 * A request of the client, and the most that the client can have received. Times are in ms since the scenario began.
 */
export type Call = ReadRequest & {
  number: number;
  /** The number of the program's start, from 0. */
  start: number;
  at: number;
  entry: PlannedEntry | undefined;
  sent?: Outcome;
  endedAt?: number;
};

export type HostileService = Awaited<ReturnType<typeof startService>>;

const honestStep: Step = { process: "now", answer: "honest" };

const reply = (data: unknown): Reply => ({
  status: 200,
  headers: { "content-type": "application/json; charset=utf-8" },
  text: JSON.stringify({ statusCode: 200, data }),
});

/** Returns the response to a create that recorded this payout. */
const created = ({ reference, merchantsReference, amount, fee, status }: Disbursement) =>
  reply({ reference, merchantsReference, amount, fee, status });

/** The contract says that a client must expect statuses which later versions add. */
const withAddedStatus = (text: string) => text.replace('"status":"pending"', '"status":"reversed"');

/**
 * Starts the service of a scenario on loopback.
 * @param settings.timeoutMs the time limit for an attempt that the client is told
 */
export async function startService(
  scenario: Scenario,
  planned: readonly PlannedEntry[],
  settings: { key: string; seed: number; timeoutMs: number },
) {
  const { clockAhead = 0, weather = 0, staleConnections = false } = scenario;
  const ledger = new Ledger(planned, settings.key, clockAhead);
  const model = createService([ledger.merchant], ledger.merchant.hooks, () => server.url);
  const ask = async (call: Request) => (await model(call))!;
  const service = {
    ledger,
    calls: [] as Call[],
    /** The method and path of each request to the foreign server. */
    foreignCalls: [] as string[],
    /** What happens from now on, instead of what the scenario says. `kill` ends the program. */
    during: {} as Pick<Start, "creates" | "reads" | "kill">,
    kill: async (_kill: Kill): Promise<void> => undefined,
    /** Begins the next start of the program. */
    begin(during: Start): void {
      start += 1;
      creates = 0;
      service.during = during;
    },
  };
  /** A server that is not the service. It responds as if every payout had succeeded. */
  const foreign = await listen(async ({ method, path }, _request, response) => {
    service.foreignCalls.push(`${method} ${path}`);
    const { status, headers, text } = reply(ledger.somebodyElses());
    response.writeHead(status, headers).end(text);
  });
  const began = performance.now();
  const used = new WeakSet<Socket>();
  const counts = new Map<string, number>();
  /** The number of the program's current start, from 0, and of the creates in it. */
  let start = -1;
  let creates = 0;
  let suiteError: unknown;

  /** Counts the requests of one kind for one payout, from 0. */
  function nth(name: string): number {
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    return count;
  }

  /** Draws what happens to a request. It depends only on the seed, the payout and the number of the request. */
  function drawn(kind: "create" | "read", reference: string, count: number): Step | undefined {
    return drawFault(createRandom(settings.seed, `${scenario.id} ${kind} ${count} ${reference}`), weather, count, kind);
  }

  const dateIn = (seconds: number) => new Date(Date.now() + (clockAhead + seconds) * 1000).toUTCString();

  const fillFor = (payout: Payout | undefined, request?: Entry) => (text: string) =>
    text
      .replaceAll("{origin}", server.url)
      .replaceAll("{foreign}", foreign.url)
      .replaceAll("{foreign-host}", new URL(foreign.url).host)
      .replaceAll("{reference}", payout?.record.reference ?? "DSB0000UNKNOWN")
      .replaceAll("{first}", ledger.payouts[0]?.record.reference ?? "DSB0000UNKNOWN")
      .replaceAll(/\{entry\.(\w+)\}/g, (_, name: keyof Entry) => {
        const { customer, merchantsReference: reference, ...record } = payout?.record ?? ledger.somebodyElses();
        return String((request ?? { ...record, reference, phoneNumber: customer.phoneNumber })[name]);
      })
      .replaceAll(/\{date\+(\d+)\}/g, (_, seconds: string) => dateIn(Number(seconds)));

  /** Lets the service process a create and returns its response. */
  async function process(call: Call, request: Request, { process: when }: Step): Promise<Reply> {
    const body = call.body!;
    if (when === "late") ledger.late.push(body);
    if (when === "twice") await ask(request);
    if (when === "late" || when === "never")
      return created({ ...ledger.somebodyElses(body), merchantsReference: body.reference });
    const honest = await ask(request);
    if (honest.status !== 409) return honest;
    const { location = honest.headers.location } = { ...scenario, ...call.entry?.story };
    const { location: _, ...headers } = honest.headers;
    const fill = fillFor(ledger.byMerchantsReference(body.reference));
    return { ...honest, headers: { ...headers, ...(location ? { location: fill(location) } : {}) } };
  }

  async function create(call: Call, request: Request, response: ServerResponse) {
    const number = (creates += 1);
    const body = call.body!;
    const { reference } = call.entry ?? body;
    const count = nth(`create ${reference}`);
    const { creates: steps = [], afterwards = honestStep } = { ...scenario, ...call.entry?.story };
    const step = service.during.creates ?? drawn("create", reference, count) ?? steps[count] ?? afterwards;
    /** Kills the program at the moment that the scenario names. */
    const reach = async (moment: Kill["on"]) => {
      const { kill } = service.during;
      if (kill?.on !== moment || call.start !== start) return;
      const { create: wanted, entryIndex } = kill;
      const isOfEntry = entryIndex !== undefined && call.entry === planned[entryIndex] && count + 1 >= wanted;
      if (isOfEntry || (entryIndex === undefined && number === wanted)) await service.kill(kill);
    };
    await reach("received");
    const honest = await process(call, request, step);
    await reach("recorded");
    response.on("finish", () => void reach("answered"));
    const payout = step.process === "late" ? undefined : ledger.byMerchantsReference(body.reference);
    const isTold = honest.status === 200 && (step.process === "now" || step.process === "twice");
    deliver(call, response, step.answer, { honest, someoneElses: created(ledger.somebodyElses(body)), payout, isTold });
  }

  /** Responds to a read or a list. */
  async function show(call: Call, request: Request, response: ServerResponse) {
    const isList = call.kind === "list";
    if (isList && scenario.lists === "none") {
      return deliver(call, response, "honest", { honest: await ask({ ...request, path: "/v1/none" }) });
    }
    const { payouts } = ledger;
    const payout = isList
      ? payouts.find(({ record }) => call.reference === undefined || record.merchantsReference === call.reference)
      : payouts.find(({ record }) => record.reference === call.reference);
    const entry = isList ? ledger.entryNamed(call.reference) : payout?.entry;
    call.entry = payout?.entry;
    const other = ledger.somebodyElses(payout && { ...payout.record, phoneNumber: payout.record.customer.phoneNumber });
    const { reads = [], lists = [] } = { ...scenario, ...entry?.story };
    const name = `${isList ? "list " : ""}${entry?.reference ?? call.reference}`;
    const count = nth(`read ${name}`);
    const stated = isList ? (lists as readonly Answer[])[count] : reads[count];
    const answer = service.during.reads ?? drawn("read", name, count)?.answer ?? stated ?? "honest";
    const someoneElses = reply(isList ? { items: [other] } : other);
    deliver(call, response, answer, { honest: await ask(request), someoneElses, payout, isTold: true });
  }

  function deliver(
    call: Call,
    response: ServerResponse,
    answer: Answer,
    about: { honest: Reply; someoneElses?: Reply; payout?: Payout | undefined; isTold?: boolean },
  ) {
    if (response.destroyed) return;
    const { honest, someoneElses = honest, payout, isTold } = about;
    if (payout?.entry?.fate === "added") honest.text = withAddedStatus(honest.text);
    if (clockAhead !== 0) response.setHeader("date", dateIn(0));
    if (payout && isTold && answer === "honest") ledger.show(payout, call.start);
    const { timeoutMs } = settings;
    call.sent = send(answer, { response, honest, someoneElses, timeoutMs, fill: fillFor(payout, call.body) });
  }

  /** Returns true if the connection was broken because the client used it again. */
  function breaksConnection({ socket }: IncomingMessage): boolean {
    const isBroken = staleConnections && used.has(socket);
    if (isBroken) socket.destroy();
    used.add(socket);
    return isBroken;
  }

  async function respond(request: Request, { socket }: IncomingMessage, response: ServerResponse, call: Call) {
    const isShown = call.kind === "read" || call.kind === "list";
    if (call.key === settings.key && call.body) await create(call, request, response);
    else if (call.key !== settings.key || !isShown) {
      deliver(call, response, "honest", { honest: await ask(request) });
    } else {
      // On a busy machine, requests that the program has given up arrive late, and in any order. A response to such a
      // request tells the program nothing. The end of the connection is read one turn after the request.
      await nextTurn();
      await nextTurn();
      if (socket.destroyed || socket.readableEnded) call.sent = { failure: "the program had closed the connection" };
      else await show(call, request, response);
    }
  }

  const server = await listen(async (given, request, response) => {
    const received = readRequest(given, settings.key);
    const { body, reference } = received;
    const call: Call = {
      ...received,
      number: service.calls.length + 1,
      start,
      at: performance.now() - began,
      entry: body ? ledger.entryOfCreate(body) : ledger.entryNamed(reference),
    };
    service.calls.push(call);
    response.on("close", () => (call.endedAt = performance.now() - began));
    try {
      if (breaksConnection(request)) {
        call.sent = { failure: "the kept connection was closed when it was used again" };
      } else await respond(given, request, response, call);
    } catch (error) {
      suiteError ??= error;
      response.destroy();
    }
  });
  return Object.assign(service, {
    url: server.url,
    async close() {
      await Promise.all([server.stop(), foreign.stop()]);
      if (suiteError !== undefined) throw suiteError;
    },
  });
}
