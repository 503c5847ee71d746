import { join } from "node:path";
import { Eta } from "eta";
import { visible } from "./visible.ts";

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Escapes a value for text and quoted attributes of HTML and XML. */
function escaped(value: unknown): string {
  return visible(String(value)).replace(/[&<>"']/g, (character) => entities[character] ?? "");
}

const eta = new Eta({
  views: join(import.meta.dirname, "templates"),
  cache: true,
  autoEscape: true,
  escapeFunction: escaped,
});

/** Renders `templates/NAME.eta` with `data` as `it`. Output of `<%= %>` is escaped. */
export function render(name: string, data: object): string {
  return eta.render(`./${name}`, data);
}
