import type { Label } from "../../texts/index.ts";
import { inputOf } from "./forms.ts";
import { attributes, back, classes, Html, link, markup, soft, table, type Column, type Part } from "./html.ts";
import { queryOf, type Filters, type Searched, type View } from "./view.ts";

/** A page of the dashboard. Every role may see every page. */
export interface Page extends Searched {
  /**
   * Its path. A path with `{scope}` is there twice: for a merchant, and for all merchants. Without a merchant, a page is
   * for operators.
   */
  at: string;
  title: Label;
  /** The path of the page of the navigation that it belongs to; absent for a page of the navigation. */
  under?: string;
  /** The only services that have the page. */
  where?: "sandbox" | "live" | "requests";
  /** Resolves with undefined if it has sent the response itself. */
  show(view: View): Promise<Html | undefined> | Html;
}

interface Found<Row> {
  items: readonly Row[];
  cursor?: string | undefined;
  /** True if the page does not show all. */
  isCut?: boolean;
}

interface List<Row, Of extends Found<Row>> extends Omit<Page, "show"> {
  read(view: View, cursor: { cursor: string | undefined }): Promise<Of>;
  columns(view: View): readonly (Column<Row> | false)[];
  /** Identifies a row; by default its id. */
  key?(row: Row): string;
  /** True if all rows are on one page. */
  isWhole?: true;
  /** True if people choose rows, which must not change meanwhile. */
  isStill?: true;
  /** What stands beside the title. */
  beside?(view: View, rows: readonly Row[], query: string): Part;
  above?(view: View): Part | Promise<Part>;
  /** What stands above and below the rows, in their card. */
  before?(view: View, found: Of): Part;
  after?(view: View, found: Of): Part;
  below?(view: View, found: Of): Part;
}

const idOf = (row: { id?: string }): string | undefined => row.id;

/** A page with a list that can be searched, newest or oldest first, a few rows at a time. */
export function list<Row extends object, Of extends Found<Row> = Found<Row>>(of: List<Row, Of>): Page {
  const { title, query = [], key = idOf } = of;
  return {
    ...of,
    query: of.isWhole ? query : [...query, "cursor"],
    async show(view) {
      const { t } = view;
      const { cursor = "", ...search } = view.query;
      const found = await of.read(view, { cursor: cursor || undefined });
      const { items } = found;
      await view.nameMerchants(items);
      const above = await of.above?.(view);
      const address = queryOf(search);
      const isFiltered = address !== "";
      const cut = found.isCut && soft(t("moreThere"));
      const next = found.cursor && queryOf({ ...search, cursor: found.cursor });
      const isEmpty = items.length === 0;
      const none = isFiltered || cursor !== "" ? [t("nothingFound"), ". ", t("searchWhole")] : t("nothingHere");
      const rows = isEmpty ? markup`<p>${none}</p>` : table(view, items, of.columns(view), key);
      return markup`<div class="head" data-live><h1>${t(title)}</h1>${of.beside?.(view, items, address)}</div>
${of.filters && searchForm(view, of.filters, isFiltered)}${above}
<div class="card${isEmpty && " stack"}"${attributes({ "data-live": !of.isStill })}>${of.before?.(view, found)}${rows}${cut}${of.after?.(view, found)}
${pager(view, cursor === "", address, next)}</div>${of.below?.(view, found)}`;
    },
  };
}

export function searchForm(view: View, filters: Filters, isFiltered: boolean): Html {
  const { t } = view;
  const [first, ...more] = Object.entries(filters).map(([name, filter], index) =>
    inputOf(
      view,
      name,
      { ...filter, class: classes(index === 0 ? "search" : "more", filter.class)! },
      view.query[name],
    ),
  );
  const fold = markup`<p class="fold"><label><input type="checkbox" form=""${attributes({ checked: isFiltered })}> ${t("moreFilters")}</label></p>`;
  const address = view.res.req.originalUrl.split("?")[0]!.split("/").at(-1)!;
  return markup`<form class="card filter" method="get" action="${address}" role="search">
${first}${more.length > 0 && fold}${more}<button class="primary">${t("search")}</button>
${isFiltered && link(address, t("clear"), "button")}</form>`;
}

function pager({ t }: View, isFirst: boolean, first: string, next: string | undefined): Html | false {
  if (isFirst && !next) return false;
  return markup`<p class="pages">${!isFirst && link(first || "?", t("firstPage"), "button")}${next && link(next, t("older"), "button")}</p>`;
}

interface About {
  /** The page that leads here. */
  back: readonly [href: string, text: Part];
  heading: Part;
  main: Part;
  /** What stands beside it on a wide screen, and below. */
  beside?: Part;
  below?: Part;
}

/** The content of a page about one thing: the facts, what happened to it, and what people can do with it. */
export const record = ({ back: way, heading, main, beside, below }: About): Html =>
  markup`${back(...way)}<h1 data-live>${heading}</h1>
<div class="sides"><div class="card stack" data-live>${main}</div>${beside}</div>${below}`;
