// An answer beside what the OpenAPI document says of it.
import { responseSchema, routeOf } from "./contract.ts";
import type { TargetResponse } from "../target/exchange.ts";
import type { Validator } from "./validate.ts";

/** The documented operation that a request reached, if any. */
export const routeOfResponse = ({ request }: TargetResponse) => routeOf(request.method, request.path);

/** The name of that operation; empty for none. */
export const operationOf = (response: TargetResponse) => routeOfResponse(response)?.operation.operationId ?? "";

/** The name of the schema that the document gives for the answer's body. */
export function schemaName(response: TargetResponse): string | undefined {
  const route = routeOfResponse(response);
  return (
    route &&
    responseSchema(route, response.status ?? 0)
      ?.$ref?.split("/")
      .at(-1)
  );
}

/** What differs from the document; only for answers of a documented operation. */
export function differences(response: TargetResponse, validator: (schema: string) => Validator): string[] {
  const name = schemaName(response);
  if (name === undefined) return [`${response.status} is not documented for ${operationOf(response)}`];
  return response.json === undefined ? ["the body is no JSON"] : validator(name)(response.json);
}
