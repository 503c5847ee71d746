// Keeps a page up to date: reads the page again every two seconds and updates its parts that have `data-live`.
const PAUSE_MS = 2_000;
/**
 * How long a request may take. Without a limit, a connection that has died silently would stop the updates for ever.
 */
const PATIENCE_MS = 15_000;

const { address = location.href } = document.querySelector("main").dataset;
const parts = (page) => [...page.querySelectorAll("[data-live]")];
/** The version of the page that was read last. While it is current, the server sends 304. */
let version = "";
let isReading = false;
let isOver = false;

async function read() {
  // A hidden page is not updated.
  if (isReading || isOver || document.hidden) return;
  isReading = true;
  // If the server cannot be reached, the page stays as it is.
  await readOnce().catch(() => undefined);
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
  if (!response.ok) return;
  const next = parts(new DOMParser().parseFromString(await response.text(), "text/html"));
  for (const [index, part] of parts(document).entries()) if (next[index]) update(part, next[index]);
  version = response.headers.get("etag");
}

function signedOut() {
  isOver = true;
  document.querySelector("#signed-out").hidden = false;
}

/** Rests between two requests, so that a slow server gets fewer of them. */
async function follow() {
  await read();
  if (!isOver) setTimeout(follow, PAUSE_MS);
}

const keyOf = (node) => node.dataset?.key;
const alike = (a, b) => a.nodeName === b.nodeName && keyOf(a) === keyOf(b);

/** Changes a node so that it equals another one. Nodes that remain keep their focus, scroll position and selection. */
function update(node, next) {
  if (node.nodeType === Node.TEXT_NODE) {
    if (node.data !== next.data) node.data = next.data;
    return;
  }
  // A person's input stays: the attribute of a field with typed text does not change the text.
  if (node.nodeType !== Node.ELEMENT_NODE || node.nodeName === "SELECT") return;
  const isKept = (name) => name === "open" && node.nodeName === "DETAILS";
  for (const name of node.getAttributeNames()) {
    if (!next.hasAttribute(name) && !isKept(name)) node.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (node.getAttribute(name) !== value && !isKept(name)) node.setAttribute(name, value);
  }
  updateChildren(node, next);
}

function updateChildren(parent, next) {
  const keys = new Set([...next.children].map(keyOf));
  const known = new Map([...parent.children].filter(keyOf).map((child) => [keyOf(child), child]));
  let place = parent.firstChild;
  const drop = () => {
    const gone = place;
    place = place.nextSibling;
    gone.remove();
  };
  for (const child of Array.from(next.childNodes)) {
    // Remove rows that no longer exist, and the white space around them.
    const isGone = () => (keyOf(place) ? !keys.has(keyOf(place)) : keyOf(child) && place.nodeType === Node.TEXT_NODE);
    while (place && isGone()) drop();
    if (place && alike(place, child)) {
      update(place, child);
      place = place.nextSibling;
    } else if (known.has(keyOf(child))) {
      const found = known.get(keyOf(child));
      parent.insertBefore(found, place);
      update(found, child);
    } else {
      parent.insertBefore(child, place);
    }
  }
  while (place) drop();
}

if (parts(document).length > 0) {
  document.addEventListener("visibilitychange", read);
  setTimeout(follow, PAUSE_MS);
}
