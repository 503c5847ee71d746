// Keeps a page up to date: reads the page again every two seconds and updates its parts that have `data-live`. Adds the
// visitor's local time to times in UTC, and closes the menu with Escape. The server puts the library idiomorph before this text.
const PAUSE_MS = 2_000;
/**
 * How long a request may take. Without a limit, a lost connection of which the browser is not told would stop the
 * updates for ever.
 */
const PATIENCE_MS = 15_000;
/** The page says that the server is away after so many failed requests in a row: a restart is no news. */
const FAILURES_SHOWN = 2;

const { address = location.href } = document.querySelector("main").dataset;
const parts = (page) => [...page.querySelectorAll("[data-live]")];
/** The version of the page that was read last. While it is current, the server sends 304. */
let version = "";
let isReading = false;
/** How many requests in a row have failed. */
let failures = 0;
let isOver = false;

async function read() {
  // A hidden page is not updated.
  if (isReading || isOver || document.hidden) return;
  isReading = true;
  // While the server cannot be reached, the page stays as it is.
  const isReached = await readOnce().then(
    () => true,
    () => false,
  );
  failures = isReached ? 0 : failures + 1;
  document.querySelector("#away").hidden = failures < FAILURES_SHOWN;
  isReading = false;
}

async function readOnce() {
  const response = await fetch(address, {
    headers: { "x-live": "yes", "if-none-match": version },
    // In other modes some browsers request the whole page, in spite of If-None-Match.
    cache: "no-cache",
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  if (response.redirected && response.url.endsWith("/sign-in")) return signedOut();
  if (response.status >= 500) throw new Error("The server is in trouble.");
  if (!response.ok) return;
  const next = parts(new DOMParser().parseFromString(await response.text(), "text/html"));
  for (const [index, part] of parts(document).entries()) if (next[index]) update(part, withLocalTimes(next[index]));
  version = response.headers.get("etag");
}

function signedOut() {
  isOver = true;
  document.querySelector("#signed-out").hidden = false;
}

/** The pause is between two requests, so that a slow server gets fewer requests. */
async function follow() {
  await read();
  if (!isOver) setTimeout(follow, PAUSE_MS);
}

/** Lets the library recognise a row at another place. The library recognises elements by their ids. */
function withIds(part) {
  for (const row of part.querySelectorAll("[data-key]")) row.id ||= `key-${row.dataset.key}`;
  return part;
}

const twoDigits = (count) => String(count).padStart(2, "0");

/** The visitor's time of day; with the day, if the day is another day in UTC. */
function localTimeOf(date) {
  const clock = [date.getHours(), date.getMinutes()].map(twoDigits).join(":");
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()].map(twoDigits);
  return day.join("-") === date.toISOString().slice(0, 10) ? clock : `${day.join("-")} ${clock}`;
}

/**
 * Adds the visitor's time to each time, unless the visitor's time is UTC. It stands below the time, or is its title
 * within a sentence.
 */
function withLocalTimes(part) {
  for (const time of part.querySelectorAll("time")) {
    const date = new Date(time.dateTime);
    if (date.getTimezoneOffset() === 0) continue;
    const text = document.body.dataset.localTime.replace("{time}", localTimeOf(date));
    if (time.nextSibling?.data?.trim()) {
      time.title = text;
      continue;
    }
    const small = document.createElement("small");
    small.className = "under";
    small.textContent = text;
    time.append(" ", small);
  }
  return part;
}

/** The values that a form replaces stay those of the page on which somebody began to type. */
const isBegun = ({ elements }) =>
  [...elements].some((each) => each.type !== "hidden" && "defaultValue" in each && each.value !== each.defaultValue);
const isKept = (node) => node.value !== node.defaultValue || (node.name === "replaces" && isBegun(node.form));

/** Keeps what a person has typed, chosen or opened. */
const callbacks = {
  beforeNodeMorphed: (node) => node.nodeName !== "SELECT",
  beforeAttributeUpdated: (name, node) =>
    !(name === "open" && node.nodeName === "DETAILS") && !(name === "value" && isKept(node)),
};

/**
 * Changes an element so that it equals another element. Parts that do not change keep their focus, scroll position and
 * selection.
 */
const update = (part, next) => Idiomorph.morph(withIds(part), withIds(next), { callbacks });

document.addEventListener("keydown", ({ key }) => {
  const menu = key === "Escape" && document.querySelector(".me[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

withLocalTimes(document);
if (parts(document).length > 0) {
  document.addEventListener("visibilitychange", read);
  setTimeout(follow, PAUSE_MS);
}
