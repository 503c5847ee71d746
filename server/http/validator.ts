import { parse } from "node:url";
import type { Request, RequestHandler, Response } from "express";
import express from "express";
import { middleware as openApiValidator } from "express-openapi-validator";
import document from "../../generated/openapi.json" with { type: "json" };
import { slicePaths } from "./contract-slice.ts";
import { formats, toRefusal } from "./request-errors.ts";

// The validator parses URLs with the deprecated `url.parse`. Trigger the deprecation warning once at start-up, with
// output suppressed; until then Node captures a stack trace on every call, which costs more than the parsing.
if (!process.noDeprecation) {
  process.noDeprecation = true;
  parse("");
  process.noDeprecation = false;
}

export interface Validator {
  /** Express middleware that refuses requests that violate the contract. */
  check: RequestHandler;
  /** Rejects if the contract is invalid. With an invalid contract the server starts, but every request fails. */
  prove(): Promise<void>;
}

interface Built {
  steps: RequestHandler[];
  /**
   * What the library's steps, except for the last step, have found about a route without parameters. The result is the
   * same each time.
   */
  found: Map<string, object>;
}

/** A request to which the library has added what it found about the route. */
type Routed = Request & { openapi?: object };

/**
 * The validators built in this process, by paths. They hold no state of a server, and building one takes about 30 ms.
 */
const built = new Map<string, Built>();

/**
 * Creates a validator for some paths of the spec. Its cost per request grows with the number of paths, so pass few
 * paths (D27). The validator is built on first use.
 */
export function createValidator(paths: readonly string[]): Validator {
  const key = paths.join(" ");
  function validator(): Built {
    const known = built.get(key) ?? { steps: build(paths), found: new Map() };
    built.set(key, known);
    return known;
  }
  return {
    check(req: Routed, res, next) {
      // The library caches one compiled validator per Content-Type value and never evicts it. Normalise the header so
      // that the cache holds one entry; `jsonBody` has already checked the original value.
      req.headers["content-type"] = "application/json";
      const { steps, found } = validator();
      const route = `${req.method} ${(req.route as { path: string }).path}`;
      const known = found.get(route);
      // The library takes 10 µs for a request, most of it to find the route, and only a few for the validation.
      if (known) req.openapi = { ...known };
      const remaining = (known ? steps.slice(-1) : steps).values();
      const step = (error?: unknown): void => {
        const { value: run } = error ? {} : remaining.next();
        if (run) return void run(req, res, step);
        if (req.openapi && !error && !route.includes(":")) found.set(route, req.openapi);
        next(error && toRefusal(error));
      };
      step();
    },
    prove: () =>
      new Promise((resolve, reject) => {
        // The first middleware waits until the document is loaded, and passes any loading error on.
        const done = (error?: unknown) => (error ? reject(error) : resolve());
        validator().steps[0]!({ app: express() } as unknown as Request, {} as Response, done);
      }),
  };
}

function build(paths: readonly string[]): RequestHandler[] {
  return openApiValidator({
    apiSpec: slicePaths(document, paths) as never,
    // The spec is linted before each commit. Validating it here would double the start-up time.
    validateApiSpec: false,
    validateRequests: { allErrors: true, allowUnknownQueryParameters: true },
    validateResponses: false,
    // The library does not check the API key, because `authenticate` has checked it before the body is read.
    validateSecurity: false,
    fileUploader: false,
    formats,
  });
}
