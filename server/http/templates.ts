import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Eta } from "eta";

const shared = ["theme", "base", "forms"]
  .map((name) => readFileSync(join(import.meta.dirname, "styles", `${name}.css`), "utf8"))
  .join("");

/** Renders a template; `name` is without its extension. Values that `<%= %>` inserts are escaped. */
export type Render = (name: string, data: object) => string;

/**
 * Reads and compiles the templates of a folder, at start. Later, on first use, the process may have no file descriptor
 * left.
 */
export function loadTemplates(folder: string): Render {
  const eta = new Eta({ views: folder, cache: true, autoEscape: true });
  for (const name of readdirSync(folder).filter((file) => file.endsWith(".eta"))) {
    const path = join(folder, name);
    eta.templatesSync.define(path, eta.compile(readFileSync(path, "utf8"), { filepath: path }));
  }
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
