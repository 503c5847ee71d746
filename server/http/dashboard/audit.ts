import { refused } from "../../actions/refused.ts";
import type { AuditEntry } from "../../domain/audit.ts";
import { inWords, keyName } from "./audit-words.ts";
import { attributes, markup } from "./html.ts";
import { list } from "./page.ts";
import { bdi, link, under } from "./parts.ts";
import { merchantNames, merchantOf, type View } from "./view.ts";

const ON_A_PAGE = 50;

type Row = AuditEntry & ReturnType<typeof inWords> & { of: string | undefined };

/** The key that the trail is about; undefined if it is about everything. @throws Refused */
async function keyIn(view: View) {
  const keyId = view.merchant ? view.query.key! : "";
  if (keyId === "") return undefined;
  const name = keyName(await view.context.storage.listKeysOf(merchantOf(view).id), keyId, view);
  if (name === undefined) throw refused(404, "error.noSuchKey");
  return { keyId, name };
}

/** Who did what, newest first: with a merchant or, for operators, with all. */
export const auditPage = list<Row>({
  at: "{scope}/audit",
  title: "auditTrail",
  query: ["key"],
  async read(view, cursor) {
    const { context, merchant } = view;
    const { storage } = context;
    const key = await keyIn(view);
    const which = { ...(merchant && { merchantId: merchant.id }), ...(key && { keyId: key.keyId }) };
    const found = await storage.listAudit({ ...which, limit: ON_A_PAGE, ...cursor });
    const ids = [...new Set(found.items.map(({ merchantId }) => merchantId))].filter((id) => id !== "");
    const [keys, names] = await Promise.all([
      Promise.all(ids.map((id) => storage.listKeysOf(id))),
      merchant ? new Map<string, string>() : merchantNames(context, found.items),
    ]);
    const items = found.items.map((entry) => ({
      ...entry,
      ...inWords(entry, keys.flat(), view),
      of: names.get(entry.merchantId),
    }));
    return { ...found, items };
  },
  async above(view) {
    const key = await keyIn(view);
    return (
      key &&
      markup`<p>${view.rich("onlyOfKey", { key: key.name })} ${link(`${view.area}/audit`, view.t("showEverything"))}</p>`
    );
  },
  columns: ({ root, t, stamp }) => [
    {
      title: "action",
      cell({ merchantId, what, more, delivery, replay, of }) {
        const area = `${root}/m/${merchantId}`;
        const text = delivery
          ? link(`${area}/webhooks/${delivery}`, what)
          : replay
            ? link(`${area}/replays/${replay}`, what)
            : what;
        const whose = of !== undefined && link(`${area}/audit`, bdi(of), "under");
        return [markup`<bdi>${text}</bdi>`, whose, more.length > 0 && under(more.join(" · "))];
      },
    },
    {
      title: "who",
      class: "who",
      cell: ({ who, session, at }) => [
        markup`<bdi${attributes({ title: session === undefined ? undefined : t("session", { session }) })}>${who}</bdi>`,
        stamp(at, "time", "under small"),
      ],
    },
    { title: "when", class: "wide", cell: ({ at }) => stamp(at) },
  ],
  none: ({ t }) => markup`<p>${t("nothingRecordedYet")}</p>`,
});
