// Servers with faults in lists of records and in machine-readable errors (D42, D2).
import { type Fault, fault, type Hooks, quickFault } from "../fault.ts";
import {
  data,
  errors,
  fieldsOf,
  isOf,
  keyOf,
  requests,
  responses,
  withBody,
  withKey,
  without,
  withoutFilter,
  type Fields,
} from "../ways.ts";

const lists = ["listDisbursements", "listCheckouts"];
const items = (change: (items: Fields[]) => Fields[]): Hooks =>
  data(lists, (page) => ({ ...page, items: change(page["items"] as Fields[]) }));
const fieldErrors = (change: (fields: Fields[]) => Fields[]): Hooks =>
  errors("every", (body) => (body["fields"] ? { ...body, fields: change(body["fields"] as Fields[]) } : body));

export const faults: readonly Fault[] = [
  fault("list-oldest-first", "Records are listed oldest first.", "lists.newest-first", () =>
    items((all) => all.toReversed()),
  ),
  fault("list-by-status", "Lists show the failed records after all others.", "lists.newest-first", () =>
    items((all) => all.toSorted((a, b) => Number(a["status"] === "failed") - Number(b["status"] === "failed"))),
  ),
  fault("list-items-stale", "Lists show the status that a record had at first.", "lists.newest-first", () =>
    items((all) => all.map((item) => ({ ...item, status: "pending" }))),
  ),
  fault("list-one-page", "The cursor of record lists is ignored.", "lists.pages lists.cursor-422", () => ({
    handle: (call, ask) => (isOf(call, lists) ? withoutFilter("cursor").handle(call, ask) : ask(call)),
  })),
  fault("list-cursor-of-time", "A cursor skips the records of its own millisecond.", "lists.pages", () => {
    const ends = new Map<string, unknown>();
    return {
      async handle(call, ask) {
        const cursor = /[?&]cursor=([^&]*)/.exec(call.path)?.[1] ?? "";
        let reply = await ask(call);
        if (!isOf(call, lists)) return reply;
        for (let skipped = 0; reply && skipped < 20; skipped += 1) {
          const page = (fieldsOf(reply.text)?.["data"] ?? {}) as { items?: Fields[]; nextCursor?: string };
          const last = page.items?.at(-1)?.["createdAt"];
          const next = encodeURIComponent(page.nextCursor ?? "");
          if (page.nextCursor !== undefined) ends.set(next, last);
          if (!ends.has(cursor) || last !== ends.get(cursor) || page.nextCursor === undefined) break;
          reply = await ask({ ...call, path: call.path.replace(cursor, next) });
        }
        return reply;
      },
    };
  }),
  fault("list-no-limit", "The limit of record lists is ignored.", "lists.pages", () => ({
    handle: (call, ask) => (isOf(call, lists) ? withoutFilter("limit").handle(call, ask) : ask(call)),
  })),
  fault(
    "list-pages-shift",
    "Pages are counted from the newest record, so that a new record shifts them.",
    "lists.pages",
    () => ({
      async handle(call, ask) {
        const cursor = /[?&]cursor=page-(\d+)/.exec(call.path);
        if (!isOf(call, lists) || !call.path.includes("limit=1")) return ask(call);
        const page = Number(cursor?.[1] ?? 0);
        const path = call.path.replace(/&cursor=[^&]*/, "").replace("limit=1", "limit=100");
        const reply = await ask({ ...call, path });
        const all = ((fieldsOf(reply?.text ?? "")?.["data"] ?? {}) as { items?: unknown[] }).items ?? [];
        const more = page + 1 < all.length ? { nextCursor: `page-${page + 1}` } : {};
        return reply && withBody(reply, { statusCode: 200, data: { items: all.slice(page, page + 1), ...more } });
      },
    }),
  ),
  ...["status", "merchantsReference", "createdAfter", "createdBefore"].map((name) =>
    fault(`list-without-${name}`, `The filter ${name} of record lists is ignored.`, "lists.filters", () => ({
      handle: (call, ask) => (isOf(call, lists) ? withoutFilter(name).handle(call, ask) : ask(call)),
    })),
  ),
  fault("list-unknown-cursor-empty", "An unknown cursor returns an empty last page.", "lists.cursor-422", () =>
    responses([...lists, "listEvents", "listDeliveries"], (reply, { path }) =>
      reply.status === 422 && path.includes("cursor=")
        ? { ...withBody(reply, { statusCode: 200, data: { items: [] } }), status: 200 }
        : reply,
    ),
  ),
  fault(
    "list-cursor-altered",
    "A list accepts its own cursor with a changed first character.",
    "lists.cursor-422",
    () => {
      const known = new Set<string>();
      /** Returns the known cursor that differs from this cursor only in its first character. */
      const nearest = (cursor: string) => [...known].find((one) => one.slice(1) === cursor.slice(1)) ?? cursor;
      return {
        async handle(call, ask) {
          if (!isOf(call, lists)) return ask(call);
          const path = call.path.replace(/(?<=cursor=)[^&]*/, (cursor) =>
            known.has(cursor) ? cursor : nearest(cursor),
          );
          const reply = await ask({ ...call, path });
          const { nextCursor } = (fieldsOf(reply?.text ?? "")?.["data"] ?? {}) as { nextCursor?: string };
          if (nextCursor !== undefined) known.add(encodeURIComponent(nextCursor));
          return reply;
        },
      };
    },
  ),
  fault("list-without-key", "Lists of records need no key.", "lists.needs-key", (world) => ({
    handle: (call, ask) => ask(isOf(call, lists) && keyOf(call) === undefined ? withKey(call, world.key) : call),
  })),
  fault("list-any-key", "Lists of records accept any key.", "lists.needs-key", (world) => ({
    handle: (call, ask) =>
      ask(
        isOf(call, lists) && keyOf(call) !== world.secondKey && keyOf(call) !== undefined
          ? withKey(call, world.key)
          : call,
      ),
  })),
  fault("list-other-merchant", "A merchant can list another merchant's records.", "lists.merchants-apart", (world) => ({
    handle: (call, ask) => ask(isOf(call, lists) && keyOf(call) === world.secondKey ? withKey(call, world.key) : call),
  })),
  fault("list-second-merchant-no-items", "A second merchant's pages have no items.", "lists.merchants-apart", (world) =>
    responses(lists, (reply, call) =>
      reply.status === 200 && keyOf(call) === world.secondKey ? withBody(reply, { statusCode: 200, data: {} }) : reply,
    ),
  ),
  quickFault("code-missing", "Errors have no code.", "error-code.documented", () =>
    errors("every", (body) => without(body, "code")),
  ),
  fault("code-undocumented", "A 404 has a code that is not documented.", "error-code.documented", () =>
    errors("every", (body, { status }) => (status === 404 ? { ...body, code: "missing" } : body)),
  ),
  fault("fields-missing", "Errors have no fields.", "error-code.fields", () =>
    errors("every", (body) => without(body, "fields")),
  ),
  fault("fields-first", "Only the first invalid field is in fields.", "error-code.fields", () =>
    fieldErrors((all) => all.slice(0, 1)),
  ),
  fault("fields-same-code", "Every entry in fields has the code enum.", "error-code.fields", () =>
    fieldErrors((all) => all.map((each) => ({ ...each, code: "enum" }))),
  ),
  fault("clock-to-repeats", "Each request with a time moves the clock by an hour.", "sandbox.clock-to", () =>
    requests("advanceClock", (fields) => (fields["to"] === undefined ? fields : { seconds: 3_600 })),
  ),
  fault("clock-to-ignored", "A time to advance to is ignored.", "sandbox.clock-to", () =>
    requests("advanceClock", (fields) => (fields["to"] === undefined ? fields : { seconds: 0 })),
  ),
];
