import { join } from "node:path";
import { Eta } from "eta";
import { visible } from "./visible.ts";

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Makes a value safe between tags and inside quoted attributes, of HTML and of XML. */
function escaped(value: unknown): string {
  return visible(String(value)).replace(/[&<>"']/g, (character) => entities[character] ?? "");
}

const eta = new Eta({
  views: join(import.meta.dirname, "templates"),
  cache: true,
  autoEscape: true,
  escapeFunction: escaped,
});

/** Fills `templates/NAME.eta`, where `it` is `data`; whatever a template writes with `<%= %>` is escaped. */
export function render(name: string, data: object): string {
  return eta.render(`./${name}`, data);
}
