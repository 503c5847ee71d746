import { parse } from "node:url";
import type { Request, RequestHandler, Response } from "express";
import express from "express";
import { middleware as openApiValidator } from "express-openapi-validator";
import document from "../../generated/openapi.json" with { type: "json" };
import { slicePaths } from "./contract-slice.ts";
import { formats, toRefusal } from "./request-errors.ts";

// The validator parses each request's URL with this deprecated function. Until Node has warned of that once, it looks
// through the stack for the caller every time, which takes longer than all the parsing: have it warn now, unheard.
if (!process.noDeprecation) {
  process.noDeprecation = true;
  parse("");
  process.noDeprecation = false;
}

export interface Validator {
  /** Express middleware that refuses what the contract does not allow. */
  check: RequestHandler;
  /** Rejects when the contract cannot be used: that would fail every request, but stops no start by itself. */
  prove(): Promise<void>;
}

/**
 * The validator for some paths of the spec. It looks through all of them on every request, so that the fewer they are
 * the faster it is (D27). It is built when first needed, since that takes some 30 ms.
 */
export function createValidator(paths: readonly string[]): Validator {
  let built: RequestHandler[] | undefined;
  const steps = () => (built ??= build(paths));
  return {
    check(req, res, next) {
      // It keeps what it compiled for each distinct header, for ever: give it one (the body's own was judged before).
      req.headers["content-type"] = "application/json";
      const remaining = steps().values();
      const step = (error?: unknown): void => {
        const { value: run } = error ? {} : remaining.next();
        if (run) run(req, res, step);
        else next(error && toRefusal(error));
      };
      step();
    },
    prove: () =>
      new Promise((resolve, reject) => {
        // The first step waits until the document is loaded, and passes on what went wrong with that.
        const done = (error?: unknown) => (error ? reject(error) : resolve());
        steps()[0]!({ app: express() } as unknown as Request, {} as Response, done);
      }),
  };
}

function build(paths: readonly string[]): RequestHandler[] {
  return openApiValidator({
    apiSpec: slicePaths(document, paths) as never,
    // The spec is linted before it is committed; to do it at every start takes as long as all the rest.
    validateApiSpec: false,
    validateRequests: { allErrors: true, allowUnknownQueryParameters: true },
    validateResponses: false,
    // The key is checked before the body is read.
    validateSecurity: false,
    fileUploader: false,
    formats,
  });
}
