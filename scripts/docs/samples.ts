import { readFile } from "node:fs/promises";

/** A program that uses every operation of a payment, and how a page calls its language. */
interface Language {
  name: string;
  /** The name of the language in a block of Markdown. */
  id: "ts" | "python" | "php";
  file: string;
}

export const languages: readonly Language[] = [
  { name: "TypeScript", id: "ts", file: "payments.ts" },
  { name: "Python", id: "python", file: "payments.py" },
  { name: "PHP", id: "php", file: "payments.php" },
];

/** The parts of a program: its beginning, and the part below the comment with the id of each operation. */
export interface Sample extends Language {
  setUp: string;
  parts: ReadonlyMap<string, string>;
}

export const sampleFile = (file: string): URL => new URL(`samples/${file}`, import.meta.url);

/** Reads the programs. scripts/samples.full.test.ts runs them. */
export function readSamples(): Promise<Sample[]> {
  return Promise.all(
    languages.map(async (language) => {
      const text = await readFile(sampleFile(language.file), "utf8");
      const [setUp = "", ...rest] = text.split(/^(?:\/\/|#) (\w+)\n/m);
      const parts = new Map<string, string>();
      for (let index = 0; index < rest.length; index += 2) parts.set(rest[index]!, rest[index + 1]!.trim());
      return { ...language, setUp: setUp.trim(), parts };
    }),
  );
}
