import { readFile } from "node:fs/promises";
import { architecture } from "./architecture.ts";
import { asFile, inPage, type Drawing } from "./drawing.ts";
import { lostResponse } from "./lost-response.ts";
import { requirements } from "./requirements.ts";
import { retries } from "./retries.ts";

const drawings: Readonly<Record<string, Drawing>> = Object.fromEntries(
  [lostResponse, retries, architecture, requirements].map((drawing) => [`${drawing.name}.svg`, drawing]),
);

/** Returns the drawing to which an image in Markdown leads, as a part of a page. */
export const pictureOf = (href: string, label: string): string => inPage(drawingOf(href, label), label);

function drawingOf(href: string, label: string): Drawing {
  const drawing = drawings[href.split("/").at(-1)!];
  if (!drawing) throw new Error(`No drawing is named ${href} (${label}).`);
  return drawing;
}

const styles = new URL("../../../server/http/styles/", import.meta.url);
const read = (name: string) => readFile(new URL(`${name}.css`, styles), "utf8");

/** The files of the drawings, for pages outside of the documentation. */
export async function pictureFiles(): Promise<Record<string, string>> {
  const css = (await Promise.all(["theme", "drawing"].map(read))).join("");
  return Object.fromEntries(
    Object.entries(drawings).map(([file, drawing]) => [`server/docs/pictures/${file}`, `${asFile(drawing, css)}\n`]),
  );
}
