import { nextStep } from "../../../server/webhooks/schedule.ts";
import { line, text, type Drawing } from "./drawing.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const LEFT = 30;
const RIGHT = 690;
const AXIS = 130;
const FROM = SECOND;
const UNTIL = 5 * DAY;

/** Where a time after the event is on the axis, which is logarithmic. */
const place = (ms: number) =>
  Math.round(LEFT + ((RIGHT - LEFT) * Math.log(Math.max(ms, FROM) / FROM)) / Math.log(UNTIL / FROM));

/** The time of each attempt after the event, if no attempt gets a response. */
function times(random: number): number[] {
  const found: number[] = [];
  for (let at = 0, attempts = 0; ; attempts += 1) {
    const { nextAttemptAt } = nextStep(attempts, at, { sentAt: 0, latencyMs: 0 }, () => random);
    if (nextAttemptAt === undefined) return found;
    found.push((at = nextAttemptAt));
  }
}

function inWords(ms: number): string {
  if (ms === 0) return "at once";
  if (ms < MINUTE) return `${ms / SECOND} s`;
  if (ms < HOUR) return `${Math.round(ms / MINUTE)} min`;
  return ms < DAY ? `${(ms / HOUR).toFixed(1)} h` : `${(ms / DAY).toFixed(1)} d`;
}

const early = times(0);
const usual = times(0.5);
const late = times(1);

const TICKS: [ms: number, name: string][] = [
  [SECOND, "at once"],
  [10 * SECOND, "10 s"],
  [MINUTE, "1 min"],
  [10 * MINUTE, "10 min"],
  [HOUR, "1 h"],
  [6 * HOUR, "6 h"],
  [DAY, "1 day"],
  [4 * DAY, "4 days"],
];

/** When a webhook is sent again, on a logarithmic axis. */
export const retries: Drawing = {
  name: "retries",
  width: 720,
  height: 190,
  description:
    `A webhook that gets no response is sent ${usual.length} times, at these times after the event, each gap up to 20 % ` +
    `shorter or longer: ${usual.map(inWords).join(", ")}. The axis is logarithmic.`,
  body: [
    text(LEFT, 22, `${usual.length} attempts, on a logarithmic axis; the bars show the random 20 %`, "soft"),
    line(LEFT - 10, AXIS, RIGHT + 10, AXIS),
    ...TICKS.flatMap(([ms, name]) => [
      line(place(ms), AXIS, place(ms), AXIS + 6),
      text(place(ms), AXIS + 24, name, "middle soft"),
    ]),
    text(RIGHT, AXIS + 48, "time after the event", "end soft"),
    ...usual.flatMap((ms, index) => {
      const [x, from, to] = [place(ms), place(early[index]!), place(late[index]!)];
      // Labels of late attempts are close to each other, so they stand in two rows.
      const y = index > 4 && index % 2 === 0 ? AXIS - 60 : AXIS - 40;
      return [
        `<rect class="good" opacity="0.35" x="${from}" y="${AXIS - 14}" width="${Math.max(2, to - from)}" height="8"/>`,
        line(x, y + 6, x, AXIS - 10),
        `<circle class="good" cx="${x}" cy="${AXIS - 10}" r="5"/>`,
        text(x, y, inWords(ms), "middle"),
      ];
    }),
  ],
};
