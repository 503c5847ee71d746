// The hostile service: it follows the contract, but its network, its gateways and its replicas do not.
import { once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createValidators } from "../../contract/validate.ts";
import { createRandom } from "../../generate/random.ts";
import { send, type Honest, type Sent } from "./answers.ts";
import { requestFaults, readRequest, type ReadRequest } from "./requests.ts";
import type { Entry, PlannedEntry } from "./entries.ts";
import { createdView, Ledger, recordView, show, type Payout } from "./ledger.ts";
import type { Scenario, Start } from "./scenario.ts";
import type { Answer, Step } from "./steps.ts";
import { drawFault } from "./weather.ts";

/**
 * A request of the client, and the most that the client can have received. Times are in ms since the scenario began.
 */
export type Call = ReadRequest & {
  number: number;
  /** The number of the program's start, from 0. */
  start: number;
  at: number;
  entry: PlannedEntry | undefined;
  /** What is wrong with the request by the contract. */
  faults: string[];
  sent?: Sent;
  endedAt?: number;
};

export type Moment = "received" | "recorded" | "answered";

/** A create, counted from 1 among all creates and among the creates of its entry. */
export type CreateCount = { number: number; entry: PlannedEntry | undefined; ofEntry: number };

export type HostileService = {
  url: string;
  ledger: Ledger;
  calls: Call[];
  /** The paths that were requested from the foreign server. */
  foreignCalls: string[];
  /** The number of the program's current start. The runner sets it. */
  start: number;
  /** What happens in this start. */
  during: Pick<Start, "creates" | "reads">;
  /** Called at moments of the creates. The service waits for it. */
  onCreate: (moment: Moment, count: CreateCount) => Promise<void>;
  close(): Promise<void>;
};

const honestStep: Step = { process: "now", answer: "honest" };
const jsonType = { "content-type": "application/json; charset=utf-8" };
const somebody: Payout = {
  request: {
    reference: "somebody-else-1",
    amount: 990,
    phoneNumber: "233201112223",
    country: "GH",
    currency: "GHS",
  },
  reference: "DSB9999SOMEBODYELSE2Q2M9X4",
  status: "success",
  entry: undefined,
  toldIn: new Set(),
};
/** Returns a payout that differs from the requested payout only in its references. */
const similarTo = (request = somebody.request): Payout => ({
  ...somebody,
  request: { ...request, reference: somebody.request.reference },
});

/** The contract says that a client must expect statuses which later versions add. */
const withAddedStatus = (honest: Honest): Honest => ({
  ...honest,
  body: honest.body.replace('"status":"pending"', '"status":"reversed"'),
});

const errors: Record<number, [error: string, code: string]> = {
  400: ["Bad Request", "invalid_request"],
  401: ["Unauthorized", "unauthorized"],
  404: ["Not Found", "not_found"],
  409: ["Conflict", "duplicate_reference"],
  422: ["Unprocessable Content", "invalid_value"],
};

// Compile it now, because compiling takes so long that a client could give up waiting for the first response.
const validators = Object.fromEntries(
  ["DisbursementCreatedEnvelope", "DisbursementEnvelope", "DisbursementListEnvelope", "ErrorResponse"].map((schema) => {
    return [schema, createValidators("extended")(schema)];
  }),
);

/** Renders a response of the service. Throws if it violates the contract, which would be a fault of the suite. */
function honestly(status: number, schema: string, content: object, headers: Record<string, string> = {}): Honest {
  const body = { statusCode: status, ...content };
  const faults = validators[schema]!(body);
  if (faults.length > 0) throw new Error(`the hostile service violates the contract: ${faults.join("; ")}`);
  return { status, headers: { ...jsonType, ...headers }, body: JSON.stringify(body) };
}

function refusal(status: number, message: string, headers: Record<string, string> = {}): Honest {
  const [error, code] = errors[status]!;
  return honestly(status, "ErrorResponse", { error, message, code }, headers);
}

const noSuchPath = honestly(404, "ErrorResponse", {
  error: "Not Found",
  message: "There is no such path.",
  code: "unknown_path",
});

async function listen(handle: (request: IncomingMessage, response: ServerResponse) => void, port = 0) {
  // Idle connections stay open, so that only a scenario decides when one ends.
  const server = createServer({ keepAliveTimeout: 120_000, requestTimeout: 0, headersTimeout: 0 }, handle);
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function stop(server: Server) {
  server.close();
  server.closeAllConnections();
  await once(server, "close");
}

/** Starts a server that is not the service. It responds as if every payout had succeeded. */
async function startForeign() {
  const calls: string[] = [];
  const { server, url } = await listen((request, response) => {
    calls.push(`${request.method} ${request.url}`);
    request.resume();
    response.writeHead(200, jsonType).end(JSON.stringify({ statusCode: 200, data: recordView(somebody, 0) }));
  });
  return { server, url, calls };
}

/**
 * Starts the service of a scenario on loopback.
 * @param settings.timeoutMs the time limit for an attempt that the client is told
 * @param settings.port the port to listen on; by default a free one
 */
export async function startService(
  scenario: Omit<Scenario, "judges">,
  planned: readonly PlannedEntry[],
  settings: { key: string; seed: number; timeoutMs: number; port?: number },
): Promise<HostileService> {
  const ledger = new Ledger(planned);
  const foreign = await startForeign();
  const began = performance.now();
  const requestsOn = new WeakMap<Socket, number>();
  const attempts = new Map<string, number>();
  /** Draws what happens to a request. It depends only on the seed, the payout and the number of the request. */
  const drawn = (kind: "create" | "read", reference: string, count: number) =>
    scenario.weather === undefined
      ? undefined
      : drawFault(
          createRandom(settings.seed, `${scenario.id} ${kind} ${count} ${reference}`),
          scenario.weather,
          count,
          kind,
        );

  let creates = 0;
  const { clockAhead = 0 } = scenario;

  /** Counts the requests of one kind for one payout, from 0. */
  const nth = (name: string) => {
    const count = attempts.get(name) ?? 0;
    attempts.set(name, count + 1);
    return count;
  };

  const fillFor = (payout: Payout | undefined, request?: Entry) => (text: string) =>
    text
      .replaceAll("{origin}", service.url)
      .replaceAll("{foreign}", foreign.url)
      .replaceAll("{foreign-host}", new URL(foreign.url).host)
      .replaceAll("{reference}", payout?.reference ?? "DSB0000UNKNOWN")
      .replaceAll(/\{entry\.(\w+)\}/g, (_, name: keyof Entry) => String((request ?? payout?.request)?.[name] ?? 0))
      .replaceAll(/\{date\+(\d+)\}/g, (_, seconds: string) => dateIn(Number(seconds)));

  const dateIn = (seconds: number) => new Date(Date.now() + (clockAhead + seconds) * 1000).toUTCString();

  function conflict(payout: Payout, entry: PlannedEntry | undefined): Honest {
    const { location = "/v1/disbursements/{reference}" } = { ...scenario, ...entry?.story };
    const headers: Record<string, string> = location === null ? {} : { location: fillFor(payout)(location) };
    return refusal(409, "This reference is in use.", headers);
  }

  /** Lets the service process a create and returns its response. */
  function process(call: Call, step: Step): { honest: Honest; payout?: Payout } {
    const request = call.body!;
    if (step.process === "late") ledger.createLate(request);
    if (step.process === "twice") ledger.create(request);
    if (step.process === "late" || step.process === "never") {
      return { honest: honestly(200, "DisbursementCreatedEnvelope", { data: createdView({ ...somebody, request }) }) };
    }
    const outcome = ledger.create(request);
    if (outcome.kind === "refused") {
      const { says = "The balance or the recipient does not allow it." } = call.entry ?? {};
      return { honest: refusal(422, says) };
    }
    const { kind, payout } = outcome;
    if (kind === "exists") return { honest: conflict(payout, call.entry), payout };
    return { honest: honestly(200, "DisbursementCreatedEnvelope", { data: createdView(payout) }), payout };
  }

  async function create(call: Call, response: ServerResponse) {
    const number = (creates += 1);
    const { reference } = call.entry ?? call.body!;
    const count = nth(`create ${reference}`);
    const { creates: steps = [], afterwards = honestStep } = { ...scenario, ...call.entry?.story };
    const step = service.during.creates ?? drawn("create", reference, count) ?? steps[count] ?? afterwards;
    const counted = { number, entry: call.entry, ofEntry: count + 1 };
    await service.onCreate("received", counted);
    const { honest, payout } = process(call, step);
    await service.onCreate("recorded", counted);
    response.on("finish", () => void service.onCreate("answered", counted));
    const isTold = honest.status === 200 && step.process === "now" ? payout : undefined;
    const someoneElses = honestly(200, "DisbursementCreatedEnvelope", { data: createdView(similarTo(call.body!)) });
    deliver(call, response, step.answer, { honest, someoneElses, payout, isTold });
  }

  function answerOf(reference = "", answers: readonly Answer[] = []): Answer {
    const count = nth(`read ${reference}`);
    return service.during.reads ?? drawn("read", reference, count)?.answer ?? answers[count] ?? "honest";
  }

  function read(call: Call, response: ServerResponse) {
    const payout = ledger.byReference(call.reference ?? "");
    call.entry = payout?.entry;
    const honest = payout
      ? honestly(200, "DisbursementEnvelope", { data: recordView(payout, clockAhead) })
      : refusal(404, "There is no such payout.");
    const someoneElses = honestly(200, "DisbursementEnvelope", {
      data: recordView(similarTo(payout?.request), clockAhead),
    });
    const answer = answerOf(call.reference, payout?.entry?.story?.reads ?? scenario.reads);
    deliver(call, response, answer, { honest, someoneElses, payout, isTold: payout });
  }

  function list(call: Call, response: ServerResponse) {
    if (scenario.lists === "none") {
      return deliver(call, response, "honest", { honest: noSuchPath, someoneElses: noSuchPath });
    }
    const matching = ledger.payouts.filter(
      ({ request }) => request.reference === (call.reference ?? request.reference),
    );
    call.entry = matching[0]?.entry;
    const items = matching.toReversed().map((payout) => recordView(payout, clockAhead));
    const honest = honestly(200, "DisbursementListEnvelope", { data: { items } });
    const data = { items: [recordView(similarTo(matching[0]?.request), clockAhead)] };
    const someoneElses = honestly(200, "DisbursementListEnvelope", { data });
    const named = ledger.entryNamed(call.reference);
    const answer = answerOf(`list ${named?.reference ?? call.reference}`, named?.story?.lists ?? scenario.lists);
    deliver(call, response, answer, { honest, someoneElses, payout: matching[0], isTold: matching[0] });
  }

  function deliver(
    call: Call,
    response: ServerResponse,
    answer: Answer,
    {
      honest,
      someoneElses,
      payout,
      isTold,
    }: { honest: Honest; someoneElses: Honest; payout?: Payout; isTold?: Payout },
  ) {
    if (response.destroyed) return;
    if (payout?.entry?.fate === "added") honest = withAddedStatus(honest);
    if (clockAhead !== 0) response.setHeader("date", dateIn(0));
    if (isTold && answer === "honest") show(isTold, call.start);
    const { timeoutMs } = settings;
    call.sent = send(answer, { response, honest, someoneElses, timeoutMs, fill: fillFor(payout, call.body) });
  }

  /** Returns true if the connection was broken because the client used it again. */
  function breaksConnection(
    { connections }: Pick<Scenario, "connections">,
    { socket }: IncomingMessage,
    response: ServerResponse,
  ): boolean {
    const before = requestsOn.get(socket) ?? 0;
    requestsOn.set(socket, before + 1);
    if (connections === "close-after-response") response.on("finish", () => setImmediate(() => socket.destroy()));
    if (connections !== "break-when-reused" || before === 0) return false;
    socket.destroy();
    return true;
  }

  async function respond(request: IncomingMessage, response: ServerResponse) {
    const at = performance.now() - began;
    const received = await readRequest(request).catch((error: unknown) => {
      if (request.complete) throw error;
    });
    // The program aborted the request, perhaps because it was killed.
    if (!received) return;
    const faults = requestFaults(received, settings.key);
    const { body } = received;
    const number = service.calls.length + 1;
    const entry = body ? ledger.entryOfCreate(body) : ledger.entryNamed(received.reference);
    const call: Call = { ...received, number, start: service.start, at, entry, faults };
    service.calls.push(call);
    response.on("close", () => (call.endedAt = performance.now() - began));
    if (breaksConnection(scenario, request, response)) {
      call.sent = { failure: "the kept connection was closed when it was used again" };
    } else if (received.key !== settings.key) {
      const honest = refusal(401, "The API key is not valid.");
      deliver(call, response, "honest", { honest, someoneElses: honest });
    } else if (received.kind === "create" && body) await create(call, response);
    else if (received.kind === "read" || received.kind === "list") {
      // On a busy machine, requests that the program has given up arrive late, and in any order. A response to such a
      // request tells the program nothing. The end of the connection is read one turn after the request.
      await nextTurn();
      await nextTurn();
      const { destroyed, readableEnded } = request.socket;
      if (destroyed || readableEnded) call.sent = { failure: "the program had closed the connection" };
      else if (received.kind === "read") read(call, response);
      else list(call, response);
    } else {
      const honest = received.kind === "create" ? refusal(400, faults.join("; ")) : noSuchPath;
      deliver(call, response, "honest", { honest, someoneElses: honest });
    }
  }

  const { server, url } = await listen((request, response) => {
    respond(request, response).catch((error: unknown) => {
      service.fault ??= error;
      response.destroy();
    });
  }, settings.port);
  const service: HostileService & { fault?: unknown } = {
    url,
    ledger,
    calls: [],
    foreignCalls: foreign.calls,
    start: 0,
    during: {},
    onCreate: async () => undefined,
    async close() {
      await Promise.all([stop(server), stop(foreign.server)]);
      if (service.fault !== undefined) throw service.fault;
    },
  };
  return service;
}
