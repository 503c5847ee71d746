import { STATUS_CODES } from "node:http";

/** Every reason to refuse a request, and its HTTP status (§7, D1). */
const STATUS = {
  "invalid-request": 400,
  unauthorized: 401,
  "not-found": 404,
  "method-not-allowed": 405,
  duplicate: 409,
  conflict: 409,
  "content-too-large": 413,
  "unsupported-media-type": 415,
  unprocessable: 422,
  "too-many-requests": 429,
  internal: 500,
  unavailable: 503,
} as const;

// The names of RFC 9110, where Node still has those of its predecessors.
const PHRASES: Record<number, string> = { ...STATUS_CODES, 413: "Content Too Large", 422: "Unprocessable Content" };

/** A refusal in the shape of §7. `message` is for the caller and says what to mend (D2); it never holds a secret. */
export class ApiError extends Error {
  override name = "ApiError";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: keyof typeof STATUS, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.status = STATUS[code];
    this.headers = headers;
  }

  /** A short phrase for people. */
  get phrase(): string {
    return PHRASES[this.status]!;
  }
}

/** The record is committed, and the caller shall not hear of it (D17, 504). */
export class ConnectionDropped extends Error {
  override name = "ConnectionDropped";
}
