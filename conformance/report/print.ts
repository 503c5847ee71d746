/* oxlint-disable no-console */
// The only module that prints lines, apart from the progress of a run and its rendered report. What it prints may contain
// texts of the target or of a program under test, which a terminal must not obey.
import { inspect } from "node:util";
import { visible } from "./visible.ts";

/** Prints to stdout, with escape sequences as text. */
export const print = (text: string): void => console.log(visible(text));

/** Prints to stderr, with escape sequences as text. An error that is not a text is printed with its stack. */
export const complain = (problem: unknown): void =>
  console.error(visible(typeof problem === "string" ? problem : inspect(problem)));
