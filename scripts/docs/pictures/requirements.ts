import { catalogue, inProfile } from "../../../conformance/contract/requirements.ts";
import { escapeHtml } from "../highlight.ts";
import { text, type Drawing } from "./drawing.ts";

const LEFT = 150;
const SIZE = 12;
const STEP = 16;
const PER_ROW = 34;
const TOP = 62;

const CLASSES = { must: "good", should: "some", observe: "open" } as const;
type Level = keyof typeof CLASSES;

const square = (x: number, y: number, level: Level, title = "") =>
  `<rect class="${CLASSES[level]}" x="${x}" y="${y}" width="${SIZE}" height="${SIZE}" rx="2">${title && `<title>${escapeHtml(title)}</title>`}</rect>`;

const core = catalogue.filter((requirement) => inProfile(requirement, "core"));
const added = catalogue.filter((requirement) => !inProfile(requirement, "core"));

/** The requirements of the core by section of the interface document, then the requirements of `extended`. */
const rows: [name: string, members: typeof core][] = [
  ...[...Map.groupBy(core, ({ section }) => section!.split(".")[0]!)].toSorted(([a], [b]) =>
    a.localeCompare(b, "en", { numeric: true }),
  ),
  ["extended", added],
];

const counts = (members: typeof core) =>
  (Object.keys(CLASSES) as Level[])
    .map((level) => [members.filter((each) => each.level === level).length, level] as const)
    .filter(([count]) => count > 0)
    .map(([count, level]) => `${count} ${level}`)
    .join(", ");

function grid(): { body: string[]; height: number } {
  const body: string[] = [];
  let y = TOP;
  for (const [name, members] of rows) {
    body.push(text(LEFT - 12, y + SIZE - 1, `${name}: ${members.length}`, "end"));
    for (const [index, { id, level, text: words }] of members.entries()) {
      const row = Math.floor(index / PER_ROW);
      body.push(square(LEFT + (index % PER_ROW) * STEP, y + row * STEP, level, `${id}: ${words}`));
    }
    y += Math.ceil(members.length / PER_ROW) * STEP + 8;
  }
  return { body, height: y + 4 };
}

const { body, height } = grid();

/** Every requirement as a square. */
export const requirements: Drawing = {
  name: "requirements",
  width: 720,
  height,
  description:
    `${core.length} requirements of profile core, by section of the interface document, and ${added.length} that profile ` +
    `extended adds. ${rows.map(([name, members]) => `${name}: ${counts(members)}`).join(". ")}.`,
  body: [
    text(20, 22, `${core.length} requirements of core by section, and ${added.length} that extended adds`, "strong"),
    ...(Object.keys(CLASSES) as Level[]).flatMap((level, index) => [
      square(20 + index * 110, 34, level),
      text(40 + index * 110, 45, level, "soft"),
    ]),
    ...body,
  ],
};
