// What people often write in the place of a careful part of a certified example, and the table of what then fails.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { examples, type Example } from "./examples.ts";

type Naive = {
  /** What this version does otherwise, and what then happens. */
  about: string;
  /** Texts that the example has once, and what takes their place. */
  edits: readonly (readonly [careful: string, usual: string])[];
  /** A scenario in which it fails, for the tests. */
  scenario: string;
};

export const naiveVersions: Readonly<Record<string, Naive>> = {
  "clients/careful.py": {
    about: "It does not compare amount and recipient after a 409, so last month's salary passes for this month's.",
    edits: [['return outcome(found) if same(entry, found) else "refused"', "return outcome(found)"]],
    scenario: "exists",
  },
  "clients/careful.go": {
    about:
      "It follows redirects, as Go's client does unless it is told otherwise, so the API key goes wherever they lead.",
    edits: [
      ["\t\tCheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },\n", ""],
    ],
    scenario: "crossed-9",
  },
  "clients/Careful.java": {
    about: "It reports a payment as failed if no response comes, although it may be recorded and succeed.",
    edits: [
      ["var data = reply == null ?", 'if (reply == null) return "failed";\n            var data = reply == null ?'],
    ],
    scenario: "dropped-three-times",
  },
  "clients/backoff.php": {
    about: "It believes every response with a 4xx status, so a gateway's page counts as a refusal by the service.",
    edits: [[" && ($body['statusCode'] ?? null) === $status && isset($body['code']);", ";"]],
    scenario: "crossed-9",
  },
  "receivers/standard.py": {
    about:
      "It does not compare the timestamp with the clock, so a request that somebody recorded is accepted for ever.",
    edits: [[" or abs(time.time() - int(timestamp)) > 300", ""]],
    scenario: "stale",
  },
  "receivers/with_django.py": {
    about:
      "It calls `get_or_create` for a field that is not unique, so an event that arrives twice at once is booked twice.",
    edits: [
      [
        "id = models.CharField(primary_key=True, ",
        "number = models.BigAutoField(primary_key=True)\n    id = models.CharField(",
      ],
      [
        "with transaction.atomic():\n            # What the event asks for belongs into this transaction too.\n            Booking",
        "Booking",
      ],
    ],
    scenario: "at-once",
  },
  "receivers/standard.go": {
    about: "It responds at once and books in a goroutine, so an event is lost if its booking fails.",
    edits: [
      [
        "if err := rc.book(b); err != nil {\n\t\tlog.Print(err)\n\t\treturn http.StatusInternalServerError\n\t}",
        "go rc.book(b)",
      ],
    ],
    scenario: "outage",
  },
  "receivers/standard.php": {
    about: "It compares the signature header as a whole, so it refuses every event while a secret is being replaced.",
    edits: [["foreach (explode(' ', $signatures) as $given) {", "foreach ([$signatures] as $given) {"]],
    scenario: "several-signatures",
  },
  "receivers/laravel-style.php": {
    about:
      "It verifies JSON that it has parsed and encoded again, so it accepts bytes that were never signed, and refuses signed bytes.",
    edits: [
      [
        '"$id.$timestamp.$request->content"',
        '"$id.$timestamp." . json_encode(json_decode($request->content), JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE)',
      ],
    ],
    scenario: "encoding-1",
  },
};

/** Returns the naive version of an example's source. @throws Error if the example has changed so that an edit has no place */
export function makeNaive(file: string, source: string): string {
  return naiveVersions[file]!.edits.reduce((text, [careful, usual]) => {
    const parts = text.split(careful);
    if (parts.length !== 2) {
      throw new Error(`${file} has this text ${parts.length - 1} times, not once. Adapt naive.ts to it:\n${careful}`);
    }
    return parts.join(usual);
  }, source);
}

/** Calls `use` with the naive version of an example, in a temporary folder. */
export async function withNaive<T>(example: Example, use: (naive: Example) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "naive-"));
  try {
    const file = join(folder, basename(example.file));
    await writeFile(file, makeNaive(example.file, await readFile(join(import.meta.dirname, example.file), "utf8")));
    return await use({ ...example, file });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Reads from a page what the naive versions fail, by the file of their example. */
export const readNaive = (page: string): Map<string, string> =>
  new Map(
    Array.from(page.matchAll(/^\| \[[^\]]+\]\((\S+)\) +\|[^|]+\| (\S.*?) +\|$/gm), ([, file, fails]) => [
      file!,
      fails!,
    ]),
  );

/** Renders the table of the naive versions, as Markdown. */
export function naiveTable(fails: ReadonlyMap<string, string>): string {
  const rows = examples.flatMap(({ file }) => {
    const naive = naiveVersions[file];
    return naive ? [`| [${basename(file)}](${file}) | ${naive.about} | ${fails.get(file) ?? "?"} |`] : [];
  });
  return ["| example | what its naive version does | what that fails |", "| --- | --- | --- |", ...rows].join("\n");
}
