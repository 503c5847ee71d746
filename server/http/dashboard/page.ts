import { attributes, classes, Html, markup, type Part } from "./html.ts";
import type { Input } from "../../actions/action.ts";
import { refused } from "../../actions/refused.ts";
import type { TextId } from "../../texts/index.ts";
import { back, facts, inputOf, link, table, type Column } from "./parts.ts";
import { queryOf, type View } from "./view.ts";

/** What a page shows. */
export interface Shown {
  body: Part;
  /** What the page is about; shown after its title. */
  about?: string;
  /** True to load the page again every two seconds in a browser without scripts. */
  reloads?: boolean;
  /** The query of its address, if it has other parameters than `query` names. */
  address?: string;
}

/** A page of the dashboard. Every role may see every page. */
export interface Page {
  /**
   * Its path. A path with `{scope}` is there twice: for a merchant, and for all merchants. Without a merchant, a page is
   * for operators.
   */
  at: string;
  title: TextId;
  /** The path of the page of the navigation that it belongs to; absent for a page of the navigation. */
  under?: string;
  /** The only services that have the page. */
  where?: "sandbox" | "live" | "requests";
  /** The parameters of its query. It reads no others. */
  query?: readonly string[];
  /** Resolves with undefined if it has sent the response itself. */
  show(view: View): Promise<Html | Shown | undefined> | Html | Shown;
}

/** An input of the search above a list. `isMore` folds it away on narrow screens. */
export type Filter = Input & { isMore?: true };

interface List<Row> extends Pick<Page, "at" | "title" | "under" | "where"> {
  /** What people can search by; the names are those of the query. */
  filters?: (view: View) => Readonly<Record<string, Filter>>;
  /** The parameters of the query, without the cursor. */
  query?: readonly string[];
  read(view: View, cursor: { cursor?: string }): Promise<{ items: readonly Row[]; cursor?: string | undefined }>;
  columns(view: View): readonly Column<Row>[];
  key?(row: Row): string;
  /** True if all rows are on one page. */
  isWhole?: true;
  /** True if people choose rows, which must not change meanwhile. */
  isStill?: true;
  /** What stands in place of the rows if there are none. */
  none(view: View, isFiltered: boolean): Part;
  /** What stands beside the title. */
  beside?(view: View, rows: readonly Row[], query: string): Part;
  above?(view: View): Part | Promise<Part>;
  /** What stands above and below the rows, in their card. */
  before?(view: View, found: { items: readonly Row[]; cursor?: string | undefined }): Part;
  after?(view: View, found: { items: readonly Row[]; cursor?: string | undefined }): Part;
  below?(view: View): Part | Promise<Part>;
}

/** A page with a list that can be searched, newest or oldest first, a few rows at a time. */
export function list<Row>(of: List<Row>): Page {
  const { at, title, under, where, query: names = [] } = of;
  return {
    at,
    title,
    ...(under !== undefined && { under }),
    ...(where && { where }),
    query: of.isWhole ? names : [...names, "cursor"],
    async show(view) {
      const { cursor = "", ...search } = view.query;
      const isFiltered = Object.values(search).some((text) => text !== "");
      const found = await of.read(view, cursor === "" ? {} : { cursor });
      const [above, below] = [await of.above?.(view), await of.below?.(view)];
      const query = queryOf(search);
      const next = found.cursor && queryOf({ ...search, cursor: found.cursor });
      const rows =
        found.items.length > 0
          ? markup`${table(view, found.items, of.columns(view), of.key)}`
          : of.none(view, isFiltered || cursor !== "");
      return markup`<div class="head" data-live><h1>${view.text(title)}</h1>${of.beside?.(view, found.items, query)}</div>
${of.filters && searchForm(view, of.filters(view), isFiltered)}${above}
<div class="card${found.items.length === 0 && " stack"}"${attributes({ "data-live": !of.isStill })}>${of.before?.(view, found)}${rows}${of.after?.(view, found)}
${pager(view, cursor === "", query, next)}</div>${below}`;
    },
  };
}

function searchForm(view: View, filters: Readonly<Record<string, Filter>>, isFiltered: boolean): Html {
  const { t } = view;
  const inputs = (isMore: boolean) =>
    Object.entries(filters)
      .filter(([, filter]) => (filter.isMore ?? false) === isMore)
      .map(([name, { class: named = "", ...filter }]) =>
        inputOf(view, name, { ...filter, class: classes(isMore ? "more" : "search", named)! }, view.query[name]),
      );
  const [first, more] = [inputs(false), inputs(true)];
  const fold = markup`<p class="fold"><label><input type="checkbox" form=""${attributes({ checked: isFiltered })}> ${first.length > 0 ? t("moreFilters") : t("filters")}</label></p>`;
  const address = view.res.req.originalUrl.split("?")[0]!.split("/").at(-1)!;
  return markup`<form class="card filter" method="get" action="${address}" role="search">
${first}${more.length > 0 && fold}${more}<button class="primary${first.length === 0 && " more"}">${t("search")}</button>
${isFiltered && link(address, t("clear"), "button")}</form>`;
}

export function pager({ t }: View, isFirst: boolean, query: string, next: string | undefined): Html | false {
  if (isFirst && !next) return false;
  return markup`<p class="pages">${!isFirst && link(query === "" ? "?" : query, t("firstPage"), "button")}${next && link(next, t("older"), "button")}</p>`;
}

interface RecordPage<Thing> extends Pick<Page, "at" | "title" | "where"> {
  under: string;
  find(view: View): Promise<Thing | undefined>;
  /** Why there is no such page. */
  missing: Extract<TextId, `error.${string}`>;
  /** The page that leads here. */
  back(view: View, thing: Thing): readonly [href: string, text: string];
  heading(view: View, thing: Thing): Part;
  about?(thing: Thing): string;
  reloads?(thing: Thing): boolean;
  /** What stands above and below the facts, in their card. */
  before?(view: View, thing: Thing): Part;
  facts(view: View, thing: Thing): Parameters<typeof facts>[0];
  after?(view: View, thing: Thing): Part;
  /** What stands beside the facts on a wide screen. */
  beside?(view: View, thing: Thing): Part;
  below?(view: View, thing: Thing): Part;
}

/** A page about one thing: the facts, what happened to it, and what people can do with it. */
export const record = <Thing>(of: RecordPage<Thing>): Page => ({
  at: of.at,
  title: of.title,
  under: of.under,
  ...(of.where && { where: of.where }),
  async show(view) {
    const thing = await of.find(view);
    if (thing === undefined) throw refused(404, of.missing as "error.noPayment");
    const main = markup`<div class="card stack" data-live>${of.before?.(view, thing)}${facts(of.facts(view, thing))}${of.after?.(view, thing)}</div>`;
    const beside = of.beside?.(view, thing);
    const body = markup`${back(...of.back(view, thing))}<h1 data-live>${of.heading(view, thing)}</h1>
${beside ? markup`<div class="sides">${main}${beside}</div>` : main}${of.below?.(view, thing)}`;
    const { about, reloads } = of;
    return { body, ...(about && { about: about(thing) }), ...(reloads && { reloads: reloads(thing) }) };
  },
});
