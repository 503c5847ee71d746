// Compares responses with the OpenAPI document.
import { responseSchema, routeOf } from "./contract.ts";
import type { TargetResponse } from "../target/exchange.ts";
import type { Validator } from "./validate.ts";

/** The documented operation of a response's request, if any. */
export const routeOfResponse = ({ request }: TargetResponse) => routeOf(request.method, request.path);

/** The operationId of that operation; empty if there is none. */
export const operationOf = (response: TargetResponse) => routeOfResponse(response)?.operation.operationId ?? "";

/** The name of the documented schema of the response's body. */
export function schemaName(response: TargetResponse): string | undefined {
  const route = routeOfResponse(response);
  return (
    route &&
    responseSchema(route, response.status ?? 0)
      ?.$ref?.split("/")
      .at(-1)
  );
}

/** How a response of a documented operation differs from the document; empty if it does not. */
export function differences(response: TargetResponse, validator: (schema: string) => Validator): string[] {
  const name = schemaName(response);
  if (name === undefined) return [`${response.status} is not documented for ${operationOf(response)}`];
  return response.json === undefined ? ["the body is not JSON"] : validator(name)(response.json);
}
