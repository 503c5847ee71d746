// The webhook guide in the introduction of openapi.yaml: its test vector and its code.
import { readFile } from "node:fs/promises";
import { parse } from "yaml";

const text = await readFile(new URL("../openapi.yaml", import.meta.url), "utf8");
const guide: string = parse(text).info.description;

/** The value of a line of the test vector. */
export const inGuide = (name: string): string => new RegExp(`^${name}: +(\\S+)$`, "m").exec(guide)![1]!;

const code = /^```js\n(.*?)^```/ms.exec(guide)![1]!;
const source = `data:text/javascript,${encodeURIComponent(`${code}\nexport { isAuthentic };`)}`;

/** The guide's function, exactly as printed there. */
export const { isAuthentic } = (await import(source)) as {
  isAuthentic(headers: Record<string, string | string[] | undefined>, body: Uint8Array, secret: string): boolean;
};
