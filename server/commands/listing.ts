import type { Page } from "../domain/pages.ts";
import { listView } from "../http/views.ts";
import type { Output } from "./command.ts";

/**
 * Prints a page of a list.
 * @param view converts an item for `--json`, as in a response of the API
 * @param lines the lines that are printed for a view without `--json`
 */
export function listing<T, V>(page: Page<T>, view: (item: T) => V, lines: (view: V) => string[]): Output {
  const json = listView(page, view);
  const printed = json.items.length === 0 ? ["None."] : json.items.flatMap(lines);
  const more =
    json.nextCursor === undefined ? [] : [`There are more. For the next page add: --cursor ${json.nextCursor}`];
  return { lines: [...printed, ...more], json };
}
