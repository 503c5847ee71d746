// The errors of the service, and their status and texts on the wire.
import type { components } from "../../generated/openapi.ts";

type Schemas = components["schemas"];
export type Field = Schemas["FieldError"];

const table: Record<Schemas["ErrorCode"], [status: number, error: string]> = {
  invalid_request: [400, "Bad Request"],
  unauthorized: [401, "Unauthorized"],
  key_not_permitted: [403, "Forbidden"],
  merchant_suspended: [403, "Forbidden"],
  not_found: [404, "Not Found"],
  unknown_path: [404, "Not Found"],
  method_not_allowed: [405, "Method Not Allowed"],
  duplicate_reference: [409, "Conflict"],
  checkout_final: [409, "Conflict"],
  delivery_in_progress: [409, "Conflict"],
  content_too_large: [413, "Content Too Large"],
  unsupported_media_type: [415, "Unsupported Media Type"],
  invalid_value: [422, "Unprocessable Content"],
  insufficient_funds: [422, "Unprocessable Content"],
  limit_exceeded: [422, "Unprocessable Content"],
  not_served: [422, "Unprocessable Content"],
  rate_limited: [429, "Too Many Requests"],
  internal_error: [500, "Internal Server Error"],
  unavailable: [503, "Service Unavailable"],
};

/** A refused request. */
export class Problem extends Error {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Schemas["ErrorResponse"];

  constructor(
    code: Schemas["ErrorCode"],
    message: string,
    { headers = {}, fields }: { headers?: Record<string, string>; fields?: Field[] } = {},
  ) {
    super(message);
    const [status, error] = table[code];
    this.status = status;
    this.headers = headers;
    this.body = { statusCode: status, error, message, code, ...(fields && { fields }) };
  }
}
