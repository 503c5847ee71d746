// Servers with faults in lists of records (D42).
import { forEach, type Faults, type How } from "../../broken/fault.ts";
import { forwards, handles, ignoresQuery, items, opens, responses } from "../../broken/changes.ts";
import { hasNoKey, isOf, isOfSecond, lists } from "../../broken/calls.ts";
import { itemsOf, withBody, withData } from "../../broken/replies.ts";

/** Replaces an invalid filter before the server judges it. */
const reads = (invalid: RegExp, as: string): How =>
  forwards((call) => (isOf(call, lists) ? { ...call, path: call.path.replace(invalid, as) } : call));

export const faults: Faults = {
  "lists.newest-first: Records are listed oldest first.": items(lists, (all) => all.toReversed()),
  "lists.pages: The cursor of record lists is ignored.": ignoresQuery("cursor", lists),
  "lists.pages: Pages are counted from the newest record, so that a new record shifts them.": handles(
    async (call, ask) => {
      if (!isOf(call, lists) || !call.path.includes("limit=1")) return ask(call);
      const page = Number(/[?&]cursor=page-(\d+)/.exec(call.path)?.[1] ?? 0);
      const path = call.path.replace(/&cursor=[^&]*/, "").replace("limit=1", "limit=100");
      const reply = await ask({ ...call, path });
      const all = reply ? itemsOf(reply) : [];
      const more = page + 1 < all.length ? { nextCursor: `page-${page + 1}` } : {};
      return reply && withData(reply, { items: all.slice(page, page + 1), ...more });
    },
  ),
  ...forEach(["status", "merchantsReference", "createdAfter", "createdBefore"], (name) => [
    `lists.filters: The filter ${name} of record lists is ignored.`,
    ignoresQuery(name, lists),
  ]),
  "lists.invalid-filters: createdAfter reads 30 February as 2 March.": reads(/(createdAfter=2026)-02-30/, "$1-03-02"),
  "lists.invalid-filters: A limit of 101 counts as 100.": reads(/limit=101/, "limit=100"),
  "lists.invalid-filters: An empty merchantsReference lists all records.": reads(/merchantsReference=(?=&|$)/, ""),
  "lists.every-status: The list of disbursements leaves out pending disbursements.": items("listDisbursements", (all) =>
    all.filter(({ status }) => status !== "pending"),
  ),
  "lists.cursor-422: An unknown cursor returns an empty last page.": responses(
    [...lists, "listEvents", "listDeliveries"],
    (reply, { path }) =>
      reply.status === 422 && path.includes("cursor=")
        ? { ...withBody(reply, { statusCode: 200, data: { items: [] } }), status: 200 }
        : reply,
  ),
  "lists.needs-key: Lists of records need no key.": opens(lists, hasNoKey),
  "lists.merchants-apart: A merchant can list another merchant's records.": opens(lists, isOfSecond),
};
