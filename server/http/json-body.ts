import express from "express";
import type { RequestHandler } from "express";
import { parse } from "lossless-json";
import { ApiError } from "../domain/errors.ts";

/** The largest body, in bytes (D15). */
const BODY_LIMIT = 16_384;

// Read as bytes whatever they are announced to be, so that this file alone decides what is said of them.
const readBytes = express.raw({ type: () => true, limit: BODY_LIMIT });
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Express middleware that leaves the parsed JSON body in `req.body`; refuses in the order 413, 415, 400 (D1). */
export const jsonBody: RequestHandler = (req, res, next) => {
  if (/^100-continue$/i.test(req.headers.expect ?? "")) {
    if (Number(req.headers["content-length"]) > BODY_LIMIT) return next(tooLarge());
    res.writeContinue();
  }
  readBytes(req, res, (error?: unknown) => {
    if (error) return next(readError(error));
    try {
      if (!Buffer.isBuffer(req.body) || req.body.length === 0) {
        throw new ApiError("invalid-request", "The body is missing; send a JSON object.");
      }
      requireJson(req.headers["content-type"]);
      req.body = parseBody(req.body);
    } catch (thrown) {
      return next(thrown);
    }
    next();
  });
};

function requireJson(contentType: string | undefined): void {
  const [mediaType = "", ...parameters] = (contentType ?? "").toLowerCase().split(";");
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith("charset="));
  const isUtf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
  if (mediaType.trim() === "application/json" && isUtf8) return;
  throw new ApiError("unsupported-media-type", "Send the body as UTF-8 with Content-Type: application/json.");
}

/**
 * Parses bytes as JSON without guessing: a key given twice and a fraction that would be rounded away are refused (D25).
 * @throws ApiError `invalid-request`
 */
function parseBody(bytes: Uint8Array): unknown {
  try {
    return parse(utf8.decode(bytes), undefined, { parseNumber, onDuplicateKey });
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError("invalid-request", "The body is not valid JSON in UTF-8.");
  }
}

function parseNumber(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && /[.eE]/.test(text) && !isWhole(text)) {
    throw new ApiError("invalid-request", `The number ${shortened(text)} cannot be kept exactly; send a whole number.`);
  }
  // What is beyond all numbers is still one that is too large, not one of a wrong type.
  return Math.max(-Number.MAX_VALUE, Math.min(value, Number.MAX_VALUE));
}

/** Whether a decimal literal with a fraction or an exponent stands for a whole number. */
function isWhole(text: string): boolean {
  const [, whole = "", fraction = "", exponent = "0"] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + fraction).replace(/0+$/, "");
  return digits === "" || digits.length <= whole.length + Number(exponent);
}

function onDuplicateKey({ key }: { key: string }): never {
  throw new ApiError("invalid-request", `The body has the key ${shortened(key)} twice, with different values.`);
}

const shortened = (text: string): string => (text.length > 64 ? `${text.slice(0, 64)}…` : text);

const tooLarge = () => new ApiError("content-too-large", `The body may have ${BODY_LIMIT} bytes at most.`);

/** Turns what went wrong while reading into a refusal in the shape of §7. */
function readError(error: unknown): unknown {
  const { status } = error as { status?: number };
  if (status === 413) return tooLarge();
  if (status === 415) return new ApiError("unsupported-media-type", "This Content-Encoding is not understood.");
  if (status === 400)
    return new ApiError("invalid-request", "The body is not as its Content-Length or Content-Encoding says.");
  return error;
}
