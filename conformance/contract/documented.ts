// An answer beside what the OpenAPI document says of it.
import { answerSchema, routeOf } from "./contract.ts";
import type { TargetResponse } from "../target/exchange.ts";
import type { Validator } from "./validate.ts";

/** The documented operation that a request reached, if any. */
export const routeOfAnswer = ({ request }: TargetResponse) => routeOf(request.method, request.path);

/** The name of that operation; empty for none. */
export const operationOf = (answer: TargetResponse) => routeOfAnswer(answer)?.operation.operationId ?? "";

/** The name of the schema that the document gives for the answer's body. */
export function schemaName(answer: TargetResponse): string | undefined {
  const route = routeOfAnswer(answer);
  return (
    route &&
    answerSchema(route, answer.status ?? 0)
      ?.$ref?.split("/")
      .at(-1)
  );
}

/** What differs from the document; only for answers of a documented operation. */
export function differences(answer: TargetResponse, validator: (schema: string) => Validator): string[] {
  const name = schemaName(answer);
  if (name === undefined) return [`${answer.status} is not documented for ${operationOf(answer)}`];
  return answer.json === undefined ? ["the body is no JSON"] : validator(name)(answer.json);
}
