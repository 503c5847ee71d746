// Remembers every request of the run that created a payout or checkout, and every request that was refused, whichever
// check sent it.
import { createHistories, type Histories } from "./history.ts";
import { routeOf } from "../contract/contract.ts";
import { fieldsOf } from "../target/ledger.ts";
import type { Receiver } from "../target/receiver.ts";
import {
  dataOf,
  isAccepted,
  isRefused,
  isUnknown,
  type TargetRequest,
  type TargetResponse,
} from "../target/exchange.ts";
import type { Target } from "../target/target.ts";

/** A create, or another write that was refused, with its response. */
export type Attempt = {
  kind: "disbursement" | "checkout";
  /** The fields of the request's JSON body; `{}` if the body is not a JSON object. */
  sent: Record<string, unknown>;
  key: NonNullable<TargetRequest["key"]>;
  response: TargetResponse;
  at: Date;
  /** The mailbox of the run's receiver to which the request's webhookURL leads; undefined if it leads elsewhere. */
  mailbox?: string | undefined;
  /** The service's reference of a payout; undefined if the response has no reference. */
  reference?: string | undefined;
};

export type Facts = {
  /** Every create that the target accepted with a 2xx, in the order of the responses. */
  readonly records: readonly Attempt[];
  /** Every refused write to a path that contains `disbursement` or `checkout`, in the order of the responses. */
  readonly refusals: readonly Attempt[];
  /** Every create whose outcome is unknown, such as one without a response. */
  readonly uncertain: readonly Attempt[];
  /** The statements about each payout and checkout so far. */
  readonly histories: Histories;
  /**
   * Returns the last response to a plain request of an operation, such as `GET /v1/disbursements/{reference}`. A plain
   * request has the caller's key (for a 401, any key), and a text body or no body.
   * @param accepts returns true for another status that is acceptable if no response of the run had the documented
   * status
   */
  answered(operation: string, status: number, accepts?: (status: number) => boolean): TargetResponse | undefined;
};

const pathOf = ({ path }: TargetRequest) => (path.split("?")[0] ?? "").replace(/\/$/, "");
const creates = new Set(["/v1/disbursements", "/v1/checkouts"]);
const isCreate = (request: TargetRequest) => request.method === "POST" && creates.has(pathOf(request));
const kindOf = (request: TargetRequest): Attempt["kind"] =>
  /checkout/i.test(pathOf(request)) ? "checkout" : "disbursement";
const writes = ({ method, path }: TargetRequest) =>
  method !== "GET" && method !== "HEAD" && /disbursement|checkout/i.test(path) && !path.startsWith("/sandbox/");

/**
 * True if the same request would get the same status again. A status of 500 or more is plain only if it was forced. A
 * payout that a balance or a limit may have refused is not plain: it may be accepted later.
 */
function isPlain({ request, status = 0 }: TargetResponse): boolean {
  const { body, headers = {}, key = "own", forced = false, effect } = request;
  const others = Object.keys(headers).filter((name) => name.toLowerCase() !== "content-type");
  const isRefusal = status >= 400 && status < 500 && status !== 401 && status !== 409;
  const mayChange = isRefusal && effect === "moves-money";
  const hasOwnKey = key === "own" || status === 401;
  return !Buffer.isBuffer(body) && others.length === 0 && hasOwnKey && forced === status >= 500 && !mayChange;
}

/** Records what the target does from now on. */
export function collectFacts(target: Target, receiver: Receiver | undefined, now: () => Date): Facts {
  const records: Attempt[] = [];
  const refusals: Attempt[] = [];
  const uncertain: Attempt[] = [];

  target.onResponse((response) => {
    const { request } = response;
    if (!writes(request)) return;
    const { key = "own" } = request;
    const sent = fieldsOf(request);
    const kind = kindOf(request);
    const stated = kind === "disbursement" ? dataOf(response)["reference"] : undefined;
    const reference = typeof stated === "string" ? stated : undefined;
    const mailbox = receiver?.mailboxOf(sent["webhookURL"]);
    const attempt = { kind, sent, key, response, at: now(), mailbox, reference };
    if (isRefused(response)) refusals.push(attempt);
    if (!isCreate(request)) return;
    if (isUnknown(response)) uncertain.push(attempt);
    if (isAccepted(response)) records.push(attempt);
  });
  const histories = createHistories(now);
  target.onResponse(histories.see);
  const last = new Map<string, Map<number, TargetResponse>>();
  target.onResponse((response) => {
    const { request, status } = response;
    const route = routeOf(request.method, request.path);
    if (!route || status === undefined || !isPlain(response)) return;
    const operation = `${route.method} ${route.template}`;
    const statuses = last.get(operation) ?? new Map<number, TargetResponse>();
    last.set(operation, statuses.set(status, response));
  });
  function answered(operation: string, status: number, accepts: (status: number) => boolean = () => false) {
    const statuses = last.get(operation);
    const other = [...(statuses?.keys() ?? [])].find((each) => each !== 401 && accepts(each));
    return statuses?.get(status) ?? (other === undefined ? undefined : statuses?.get(other));
  }
  return { records, refusals, uncertain, histories, answered };
}
