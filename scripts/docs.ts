// Writes generated/docs/, the pages that the server serves. npm runs it after an installation.
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { docsFiles } from "./docs/files.ts";

const folder = new URL("../generated/docs/", import.meta.url);
const files = await docsFiles(JSON.parse(await readFile(new URL("../openapi.json", folder), "utf8")));
await rm(folder, { recursive: true, force: true });
await mkdir(new URL("requirements/", folder), { recursive: true });
for (const [name, text] of Object.entries(files)) await writeFile(new URL(name, folder), text);
