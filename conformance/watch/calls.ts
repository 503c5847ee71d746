// Reads an exchange as the suite's rules expect it: the documented operation, the bodies' values, and what is known of it.
import { routeOf } from "../contract/contract.ts";
import type { Validator } from "../contract/validate.ts";
import { type Fields, type Kind, meaningOf } from "../history/history.ts";
import type { TargetResponse } from "../target/exchange.ts";
import { parsedJson } from "../target/values.ts";
import type { Body, Exchange } from "./traffic.ts";

export type Call = {
  exchange: Exchange;
  /** The path from `/v1/` or `/sandbox/` on, with the query. */
  path: string;
  /** "" for a path or method that the contract does not have. */
  operation: string;
  /** What the operation does, such as `create`, and with which kind of record. */
  does: string | undefined;
  kind: Kind | undefined;
  /** The fields of the request's body; `{}` if it is not a JSON object, or not known. */
  sent: Fields;
  /** What the contract forbids in the body of a create. */
  faults: readonly string[];
  response: TargetResponse;
  status: number;
  isAccepted: boolean;
  /** The fields of `data` in the response. */
  data: Fields;
};

export const isKnown = (body: Body | undefined): body is string => typeof body === "string";
export const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
export const fieldsIn = (value: unknown): Fields => (isObject(value) ? value : {});

const requestSchemas: Record<string, string> = {
  createDisbursement: "DisbursementRequest",
  createCheckout: "CheckoutRequest",
};

/** Returns a function that reads exchanges that have a response. */
export function createCallReader(validator: (schema: string) => Validator) {
  /** A gateway may serve the API below another path: the one of the first call that succeeded. */
  let prefix: string | undefined;

  function pathOf({ method, path, response }: Exchange): string {
    const [before = ""] = /^.*?(?=\/(?:v1|sandbox)\/)/.exec(path) ?? [];
    const rest = path.slice(before.length);
    if (response?.status === 200 && routeOf(method, rest)) prefix ??= before;
    return before === (prefix ?? "") ? rest : `/other${path}`;
  }

  return (exchange: Exchange, received: NonNullable<Exchange["response"]>): Call => {
    const { method, headers, body } = exchange;
    const path = pathOf(exchange);
    const operation = routeOf(method, path)?.operation.operationId ?? "";
    const json = isKnown(body) && body !== "" ? parsedJson(body) : undefined;
    const schema = requestSchemas[operation];
    const faults = schema === undefined || !isKnown(body) ? [] : validator(schema)(json);
    const text = isKnown(received.body) ? received.body : "";
    const response: TargetResponse = {
      request: {
        method,
        path,
        effect: method === "GET" || method === "HEAD" ? "none" : faults.length > 0 ? "must-be-rejected" : "moves-money",
        headers: headers as Record<string, string>,
        json,
        body: isKnown(body) ? body : "",
      },
      // The texts of faults quote this, so it has no text of the service.
      exchange: { responseBody: `a body of ${text.length} characters` } as TargetResponse["exchange"],
      status: received.status,
      headers: received.headers as Record<string, string>,
      ...(received.continued ? { continued: true } : {}),
      text,
      json: text === "" ? undefined : parsedJson(text),
    };
    const { does, kind } = meaningOf(operation) ?? {};
    return {
      exchange,
      path,
      operation,
      does,
      kind,
      sent: fieldsIn(json),
      faults,
      response,
      status: received.status,
      isAccepted: received.status >= 200 && received.status < 300,
      data: fieldsIn(fieldsIn(response.json)["data"]),
    };
  };
}
