import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The script that keeps pages up to date. */
export const script = readFileSync(join(import.meta.dirname, "templates", "live.js"));

/** Changes with the script's text, so that browsers may keep it. */
export const scriptName = `live-${createHash("sha256").update(script).digest("hex").slice(0, 16)}.js`;
