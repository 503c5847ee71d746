import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Eta } from "eta";

const shared = ["theme", "base", "forms"]
  .map((name) => readFileSync(join(import.meta.dirname, "styles", `${name}.css`), "utf8"))
  .join("");

/** Renders a template; `name` is without its extension. Values that `<%= %>` inserts are escaped. */
export type Render = (name: string, data: object) => string;

/** Returns a function that renders the templates of a folder, each of which is read on first use. */
export function loadTemplates(folder: string): Render {
  const eta = new Eta({ views: folder, cache: true, autoEscape: true });
  return (name, data) => eta.render(`./${name}`, data);
}

/**
 * Reads a style sheet after the style that all pages share, with the content security policy of the pages that contain
 * it: their own style sheet and forms, and nothing else.
 */
export function readStyles(file: string): { css: string; policy: string } {
  const css = shared + readFileSync(file, "utf8");
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${createHash("sha256").update(css).digest("base64")}'`,
    // Browsers also apply this to redirects after a form is sent, so these must not lead elsewhere (see
    // pages/checkout.ts).
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  return { css, policy };
}
