import { join } from "node:path";
import { Eta } from "eta";
import { visible } from "./visible.ts";

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Escapes a value for use in the text and in quoted attributes of HTML and XML. */
function escaped(value: unknown): string {
  return visible(String(value)).replace(/[&<>"']/g, (character) => entities[character] ?? "");
}

const eta = new Eta({
  views: join(import.meta.dirname, "templates"),
  cache: true,
  autoEscape: true,
  escapeFunction: escaped,
});

/** Renders `templates/NAME.eta`. The template reads `data` as `it`, and `<%= %>` escapes its output. */
export function render(name: string, data: object): string {
  return eta.render(`./${name}`, data);
}
