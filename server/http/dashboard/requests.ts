import { choices } from "../../actions/action.ts";
import { masked } from "../../domain/redaction.ts";
import type { LoggedRequest } from "../../domain/request-log.ts";
import { keyName } from "./audit.ts";
import { code, column, link, markup, pre, tag, under, type Part } from "./html.ts";
import { list } from "./page.ts";
import { indented } from "./timeline.ts";
import { merchantOf, type View } from "./view.ts";

/** The results to filter by, which begin with the first digit of the status. */
const RESULTS = { "2xx": "result.2xx", "4xx": "result.4xx", "5xx": "result.5xx", none: "noResponse" } as const;
const ON_A_PAGE = 25;

type Row = LoggedRequest & { keyText: Part };

const toneOf = (status: number | undefined) =>
  status === undefined || status >= 500 ? "failed" : status >= 400 ? "pending" : "success";

/** The log of a merchant's requests, newest first (D72). */
export const requestPage = list<Row>({
  at: "/m/:merchant/requests",
  title: "requests",
  where: "requests",
  filters: {
    reference: { label: "referenceYours", type: "search", attributes: { maxlength: 200 } },
    result: { label: "result", ...choices(RESULTS) },
    request: { label: "requestId", type: "search", attributes: { maxlength: 100 } },
  },
  async read(view, cursor) {
    const { id: merchantId } = merchantOf(view);
    const { storage } = view.context;
    const { result = "", reference = "", request = "" } = view.query;
    const search = {
      ...(result !== "" && { statusClass: Number.parseInt(result, 10) || 0 }),
      // References are stored masked.
      ...(reference !== "" && { reference: masked(reference) }),
      ...(request !== "" && { requestId: request }),
    };
    const [page, keys] = await Promise.all([
      storage.listRequests({ merchantId, ...search, limit: ON_A_PAGE, ...cursor }),
      storage.listKeysOf(merchantId),
    ]);
    const items = page.items.map((item) => ({ ...item, keyText: keyName(keys, item.keyId, view) ?? item.keyId }));
    return { ...page, items };
  },
  key: ({ requestId }) => requestId,
  columns: (view) => [
    column("request", "", (row) => requestCell(view, row)),
    column("result", "", ({ status, code: why }) => [
      tag(toneOf(status), status === undefined ? view.t("noResponse") : String(status)),
      why !== undefined && under(code(why)),
    ]),
    column("duration", "wide number", ({ durationMs }) => `${view.number(durationMs)} ms`),
    column("endedAt", "wide", ({ at }) => view.stamp(at)),
  ],
  // With the bodies of all requests the page would be too large.
  after: ({ t, query }, { items }) =>
    query.request !== "" &&
    items.flatMap(({ sent, returned }) => [bodyOf(t("sent"), sent), bodyOf(t("returned"), returned)]),
});

function requestCell({ t, area, toPayment }: View, row: Row): Part {
  const { requestId, method, path, operation, reference, merchantsReference, program, keyText } = row;
  return [
    link(`${area}/requests?request=${requestId}`, `${method} ${path}`),
    under([operation, " · ", code(requestId)]),
    reference !== undefined
      ? under([t("payment"), " ", toPayment({ reference, merchantsReference })])
      : merchantsReference !== undefined && under([t("reference"), " ", markup`<bdi>${merchantsReference}</bdi>`]),
    program !== undefined && under(t("sentBy", { program })),
    keyText !== undefined && under(t("sentWithKey", { key: keyText })),
  ];
}

/** A stored body, if there is one. */
const bodyOf = (title: Part, text: string | undefined): Part =>
  text !== undefined && [markup`<h2>${title}</h2>`, pre(indented(text), { class: "body" })];
