import express from "express";
import type { Request, RequestHandler, Response } from "express";
import { parse } from "lossless-json";
import { ServiceError } from "../domain/errors.ts";

/** The largest body, in bytes (D15), of operations without a limit of their own in the contract. */
export const BODY_LIMIT = 16_384;

/** Resolves when the middleware calls the next one; rejects with the error that it passes on. */
export const through = (middleware: RequestHandler, req: Request, res: Response): Promise<void> =>
  new Promise((resolve, reject) => {
    void middleware(req, res, (error?: unknown) => (error ? reject(error as Error) : resolve()));
  });

/**
 * Express middleware that puts the bytes of a body in `req.body`. Any Content-Type is read, so that the checks below decide
 * the error message. @param limit in bytes
 */
export const bodyBytes = (limit: number): RequestHandler => express.raw({ type: () => true, limit });

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Express middleware that waits for the end of the request: an operation may read no body, and a compressed body may end
 * before its Content-Length. Nothing may be done for a request that can still be refused with 408.
 */
export const arrived: RequestHandler = (req, _res, next) => {
  if (req.complete) return next();
  req.once("end", () => next());
  req.unpipe();
  req.resume();
};

/** Reads a JSON body. @param readBytes made by `bodyBytes` @throws ServiceError in the order 413, 415, 400 (D1) */
export async function readJson(readBytes: RequestHandler, req: Request, res: Response): Promise<unknown> {
  await through(readBytes, req, res);
  if (!Buffer.isBuffer(req.body) || req.body.length === 0) {
    throw new ServiceError("invalid_request", "The request body is missing. Send a JSON object.");
  }
  requireJson(req.headers["content-type"]);
  return parseBody(req.body);
}

function requireJson(contentType: string | undefined): void {
  const [mediaType = "", ...parameters] = (contentType ?? "").toLowerCase().split(";");
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith("charset="));
  const isUtf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
  if (mediaType.trim() === "application/json" && isUtf8) return;
  throw new ServiceError("unsupported_media_type", "Send the body as UTF-8 with Content-Type: application/json.");
}

/**
 * Parses bytes as strict JSON. Refuses duplicate keys with different values, and fractions that rounding would lose
 * (D15).
 * @throws ServiceError `invalid_request`
 */
export function parseBody(bytes: Uint8Array): unknown {
  try {
    return parse(utf8.decode(bytes), undefined, { parseNumber, onDuplicateKey });
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError("invalid_request", "The request body is not valid JSON in UTF-8.");
  }
}

function parseNumber(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && /[.eE]/.test(text) && !isWhole(text)) {
    throw new ServiceError(
      "invalid_request",
      `The number ${shortened(text)} cannot be represented exactly. Send a whole number.`,
    );
  }
  // Clamp infinity, so that the validator reports a number out of range rather than a wrong type.
  return Math.max(-Number.MAX_VALUE, Math.min(value, Number.MAX_VALUE));
}

/** True if a decimal literal with a fraction or an exponent equals a whole number. */
function isWhole(text: string): boolean {
  const [, whole = "", fraction = "", exponent = "0"] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + fraction).replace(/0+$/, "");
  return digits === "" || digits.length <= whole.length + Number(exponent);
}

function onDuplicateKey({ key }: { key: string }): never {
  throw new ServiceError(
    "invalid_request",
    `The body contains the key ${shortened(key)} twice, with different values.`,
  );
}

const shortened = (text: string): string => (text.length > 64 ? `${text.slice(0, 64)}…` : text);
