// The errors of the service, and their status and texts on the wire.
import { STATUS_CODES } from "node:http";
import type { components } from "../../generated/openapi.ts";

type Schemas = components["schemas"];
export type Field = Schemas["FieldError"];

const statuses = {
  invalid_request: 400,
  unauthorized: 401,
  not_found: 404,
  unknown_path: 404,
  method_not_allowed: 405,
  duplicate_reference: 409,
  disbursement_final: 409,
  checkout_final: 409,
  delivery_in_progress: 409,
  content_too_large: 413,
  unsupported_media_type: 415,
  invalid_value: 422,
  insufficient_funds: 422,
  limit_exceeded: 422,
  internal_error: 500,
  unavailable: 503,
} satisfies Partial<Record<Schemas["ErrorCode"], number>>;

type Details = { headers?: Record<string, string>; fields?: Field[] };

/** A refused request. */
export class Problem extends Error {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Schemas["ErrorResponse"];

  constructor(code: keyof typeof statuses, message: string, { headers = {}, fields }: Details = {}) {
    super(message);
    const status = statuses[code];
    this.status = status;
    this.headers = headers;
    const error = STATUS_CODES[status] ?? "Error";
    this.body = { statusCode: status, error, message, code, ...(fields && { fields }) };
  }
}
