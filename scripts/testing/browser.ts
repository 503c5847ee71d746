import { chromium, type Browser } from "playwright-core";
import { shared } from "./ask-shared.ts";

/** Connects to the browser that all test files share. Closing the connection closes its pages only. */
export const openBrowser = async (): Promise<Browser> => chromium.connect(await shared("browser"));
