import document from "../../../generated/openapi.json" with { type: "json" };
import { listOf } from "../../actions/payments.ts";
import { refused } from "../../actions/refused.ts";
import { masked } from "../../domain/redaction.ts";
import type { LoggedRequest, RequestQuery } from "../../domain/request-log.ts";
import { keyName } from "./audit-words.ts";
import { markup, type Part } from "./html.ts";
import { list } from "./page.ts";
import { bdi, code, link, pre, under } from "./parts.ts";
import { merchantOf, type View } from "./view.ts";

/** The results to filter by, with the first digit of the status; 0 for no status. */
const RESULTS: Readonly<Record<string, number>> = { "2xx": 2, "4xx": 4, "5xx": 5, none: 0 };
const OPERATIONS = Object.values(document.paths)
  .flatMap((item) => Object.values(item as Record<string, { operationId?: string }>))
  .flatMap(({ operationId }) => operationId ?? []);
const ON_A_PAGE = 25;

type Row = LoggedRequest & { keyText: string | undefined };

/** @throws Refused if a parameter is not one that the form or a link sends */
function searchIn({ query }: View): Partial<RequestQuery> {
  const { result = "", operation = "", reference = "", request = "" } = query;
  if (result !== "" && !Object.hasOwn(RESULTS, result)) throw refused(422, "error.noResult");
  if (operation !== "" && !OPERATIONS.includes(operation)) throw refused(422, "error.noOperation");
  return {
    ...(result !== "" && { statusClass: RESULTS[result]! }),
    ...(operation !== "" && { operation }),
    // References are stored masked.
    ...(reference !== "" && { reference: masked(reference) }),
    ...(request !== "" && { requestId: request }),
  };
}

const toneOf = (status: number | undefined) =>
  status === undefined || status >= 500 ? "failed" : status >= 400 ? "pending" : "success";

/** The log of a merchant's requests, newest first (D66). */
export const requestPage = list<Row>({
  at: "/m/:merchant/requests",
  title: "requests",
  where: "requests",
  query: ["result", "operation", "reference", "request"],
  filters: () => ({
    reference: { label: "referenceYours", attributes: { type: "search", maxlength: 200 } },
    result: {
      label: "result",
      type: "select",
      isMore: true,
      options: { "": "any", "2xx": "result.2xx", "4xx": "result.4xx", "5xx": "result.5xx", none: "noResponse" },
    },
    operation: {
      label: "operation",
      type: "select",
      isMore: true,
      options: Object.fromEntries([["", "any"], ...OPERATIONS.map((name) => [name, { text: name }] as const)]),
    },
    request: { label: "requestId", isMore: true, attributes: { type: "search", maxlength: 100 } },
  }),
  async read(view, cursor) {
    const { id: merchantId } = merchantOf(view);
    const { storage } = view.context;
    const [page, keys] = await Promise.all([
      storage.listRequests({ merchantId, ...searchIn(view), limit: ON_A_PAGE, ...cursor }),
      storage.listKeysOf(merchantId),
    ]);
    const items = page.items.map((item) => ({ ...item, keyText: keyName(keys, item.keyId, view) ?? item.keyId }));
    return { ...page, items };
  },
  key: ({ requestId }) => requestId,
  columns: (view) => [
    { title: "request", cell: (row) => requestCell(view, row) },
    {
      title: "result",
      cell: ({ status, code: why }) => [
        markup`<span class="badge ${toneOf(status)}">${status === undefined ? view.t("noResponse") : String(status)}</span>`,
        why !== undefined && under(code(why)),
      ],
    },
    { title: "duration", class: "wide number", cell: ({ durationMs }) => `${view.number(durationMs)} ms` },
    { title: "endedAt", class: "wide", cell: ({ at }) => view.stamp(at) },
  ],
  // With the bodies of all requests the page would be too large.
  after: (view, { items }) => view.query.request !== "" && items.map((item) => bodiesOf(view, item)),
  none: ({ t }, isFiltered) =>
    isFiltered
      ? markup`<h2>${t("nothingFound")}</h2><p>${t("logKeeps")} ${t("searchWhole")}</p>`
      : markup`<h2>${t("noRequestsYet")}</h2><p>${t("logShows")} ${t("logKeeps")} ${t("logLeavesOut")}</p>`,
});

function requestCell({ t, rich, area, stamp }: View, row: Row): Part {
  const { requestId, method, path, operation, at, reference, merchantsReference, program, keyText, leftOut } = row;
  const payment =
    reference !== undefined && link(`${area}/${listOf(reference)}/${reference}`, bdi(merchantsReference ?? reference));
  return [
    link(`${area}/requests?request=${requestId}`, `${method} ${path}`),
    under([operation, " · ", code(requestId)]),
    stamp(at, "time", "under small"),
    payment
      ? under([t("payment"), " ", payment])
      : merchantsReference !== undefined && under([t("reference"), " ", bdi(merchantsReference)]),
    program !== undefined && under(rich("sentBy", { program })),
    keyText !== undefined && under(rich("sentWithKey", { key: keyText })),
    leftOut !== undefined && leftOut > 0 && under(t("leftOut", { count: leftOut })),
  ];
}

/** The stored bodies of the request and of the response. */
const bodiesOf = ({ t }: View, { sent, returned }: LoggedRequest): Part =>
  (
    [
      ["sent", sent],
      ["returned", returned],
    ] as const
  ).map(
    ([label, text]) =>
      text !== undefined &&
      markup`<h2>${t(label)}</h2>${pre(JSON.stringify(JSON.parse(text), undefined, 2), { class: "body" })}`,
  );
