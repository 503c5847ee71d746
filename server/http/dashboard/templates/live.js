// Keeps a page up to date: reads the page again every two seconds and changes what differs in its parts that have
// `data-live`.
const PAUSE_MS = 2_000;
/** How long a request may take. A connection that has died silently would keep the page as it is for ever. */
const PATIENCE_MS = 15_000;

const { address = location.href } = document.querySelector("main").dataset;
const parts = (page) => [...page.querySelectorAll("[data-live]")];
/** The version of the page that was read last. The server sends no page that has this version. */
let version = "";
let isReading = false;
let isOver = false;

async function read() {
  // A page that nobody sees stays as it is.
  if (isReading || isOver || document.hidden) return;
  isReading = true;
  // So does a page whose server cannot be reached.
  await readOnce().catch(() => undefined);
  isReading = false;
}

async function readOnce() {
  const response = await fetch(address, {
    headers: { "x-live": "yes", "if-none-match": version },
    // In other modes some browsers ask for the whole page, whatever version they name.
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

/** Changes a node so that it equals another one. The nodes that stay keep their focus, scroll position and selection. */
function update(node, next) {
  if (node.nodeType === Node.TEXT_NODE) {
    if (node.data !== next.data) node.data = next.data;
    return;
  }
  // What a person has typed or opened stays: the attribute of a field that was typed in does not change what it shows.
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
    // Rows that are gone, and the spaces around them, make room for those that follow.
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
