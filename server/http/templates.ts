import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Eta } from "eta";

/** The templates of a folder and the style sheet that is part of every page. */
export interface Templates {
  /** Renders a template; `name` is without its extension. Values that `<%= %>` inserts are escaped. */
  render(name: string, data: object): string;
  css: string;
  /** The content security policy of the pages: their own style sheet and forms, and nothing else. */
  policy: string;
}

const shared = ["theme", "base", "forms"]
  .map((name) => readFileSync(join(import.meta.dirname, "styles", `${name}.css`), "utf8"))
  .join("");

/**
 * Reads and compiles the templates of a folder, at start. Later, on first use, the process may have no file descriptor
 * left.
 * @param stylesheet the name of a file in the folder; the style that all pages share is added before it
 */
export function loadTemplates(folder: string, stylesheet: string): Templates {
  const eta = new Eta({ views: folder, cache: true, autoEscape: true });
  for (const name of readdirSync(folder).filter((file) => file.endsWith(".eta"))) {
    const path = join(folder, name);
    eta.templatesSync.define(path, eta.compile(readFileSync(path, "utf8"), { filepath: path }));
  }
  return { render: (name, data) => eta.render(`./${name}`, data), ...readStyles(join(folder, stylesheet)) };
}

/** Reads a style sheet after the style that all pages share, with the policy that permits it. */
export function readStyles(file: string): Pick<Templates, "css" | "policy"> {
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
