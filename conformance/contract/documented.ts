// Compares responses with the OpenAPI document.
import { responseSchema, routeOf } from "./contract.ts";
import type { TargetResponse } from "../target/exchange.ts";
import type { Validator } from "./validate.ts";

/** Returns the documented operation of the request that led to a response, if any. */
export const routeOfResponse = ({ request }: TargetResponse) => routeOf(request.method, request.path);

/** Returns the operationId of the operation that led to a response; "" if the operation is not documented. */
export const operationOf = (response: TargetResponse) => routeOfResponse(response)?.operation.operationId ?? "";

/** Returns the name of the documented schema of the response's body, if there is one. */
export function schemaName(response: TargetResponse): string | undefined {
  const route = routeOfResponse(response);
  return (
    route &&
    responseSchema(route, response.status ?? 0)
      ?.$ref?.split("/")
      .at(-1)
  );
}

/** Describes how the response of a documented operation differs from the document; an empty array if it does not. */
export function differences(response: TargetResponse, validator: (schema: string) => Validator): string[] {
  const name = schemaName(response);
  if (name === undefined) return [`${response.status} is not documented for ${operationOf(response)}`];
  return response.json === undefined ? ["the body is not JSON"] : validator(name)(response.json);
}
