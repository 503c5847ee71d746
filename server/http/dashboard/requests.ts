import { Router, type Request, type Response } from "express";
import document from "../../../generated/openapi.json" with { type: "json" };
import { masked } from "../../domain/redaction.ts";
import type { RequestQuery, LoggedRequest } from "../../domain/request-log.ts";
import { keyName } from "./audit-words.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { queryOf } from "./payment-filter.ts";
import { showPage } from "./show-page.ts";
import { field, merchantIn, PageError } from "./visit.ts";
import { wordsIn, type English } from "./words.ts";

/** The results to filter by, with the first digit of the status; 0 for no status. */
const RESULTS: Readonly<Record<string, { statusClass: number; text: English }>> = {
  "2xx": { statusClass: 2, text: "2xx: done" },
  "4xx": { statusClass: 4, text: "4xx: refused" },
  "5xx": { statusClass: 5, text: "5xx: failed" },
  none: { statusClass: 0, text: "no response" },
};
const OPERATIONS = Object.values(document.paths)
  .flatMap((item) => Object.values(item as Record<string, { operationId?: string }>))
  .flatMap(({ operationId }) => operationId ?? []);
const FIELDS = ["result", "operation", "reference", "request", "cursor"] as const;
const ON_A_PAGE = 25;

/** The log of a merchant's requests, newest first (D66). */
export function requestPages(context: DashboardContext): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get("/dashboard/m/:merchant/requests", (req, res) => showList(context, req, res));
  return router;
}

type Typed = Record<(typeof FIELDS)[number], string>;

async function showList(context: DashboardContext, req: Request, res: Response): Promise<void> {
  const typed = Object.fromEntries(FIELDS.map((name) => [name, field(req.query, name)])) as Typed;
  const { cursor, ...search } = typed;
  const { id: merchantId } = merchantIn(res);
  const words = wordsIn(res);
  const query = { merchantId, ...filterOf(typed), limit: ON_A_PAGE, ...(cursor !== "" && { cursor }) };
  const [page, keys] = await Promise.all([context.storage.listRequests(query), context.storage.listKeysOf(merchantId)]);
  showPage(
    context,
    res,
    { template: "requests", title: "Requests", section: "requests", query: queryOf(search) },
    {
      typed,
      results: RESULTS,
      operations: OPERATIONS,
      isFiltered: Object.values(search).some((text) => text !== ""),
      requests: page.items.map((request) => ({
        ...request,
        ...shown(request),
        key: keyName(keys, request.keyId, words),
      })),
      // With the bodies of all requests the page would be too large.
      bodies: typed.request === "" ? [] : page.items.flatMap(bodiesOf),
      query: queryOf(search),
      next: page.cursor && queryOf({ ...search, cursor: page.cursor }),
      isFirst: cursor === "",
    },
  );
}

/** @throws PageError if a parameter is not one that the form or a link sends */
function filterOf({ result, operation, reference, request }: Typed): Partial<RequestQuery> {
  if (result !== "" && !Object.hasOwn(RESULTS, result)) throw new PageError(422, "There is no such result.");
  if (operation !== "" && !OPERATIONS.includes(operation)) throw new PageError(422, "There is no such operation.");
  return {
    ...(result !== "" && { statusClass: RESULTS[result]!.statusClass }),
    ...(operation !== "" && { operation }),
    // References are stored masked.
    ...(reference !== "" && { reference: masked(reference) }),
    ...(request !== "" && { requestId: request }),
  };
}

/** The texts that the page shows for a request. */
function shown({ status, reference }: LoggedRequest) {
  const tone = status === undefined || status >= 500 ? "failed" : status >= 400 ? "pending" : "success";
  const kind = reference?.startsWith("CHK") ? "checkouts" : "disbursements";
  return { tone, kind };
}

/** The stored bodies of the request and of the response. */
function bodiesOf({ sent, returned }: LoggedRequest): { label: English; text: string }[] {
  const bodies = [
    ["Sent", sent],
    ["Returned", returned],
  ] as const;
  return bodies.flatMap(([label, text]) =>
    text === undefined ? [] : { label, text: JSON.stringify(JSON.parse(text), undefined, 2) },
  );
}
