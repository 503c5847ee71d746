// Keeps a page up to date. The server says that something has changed; the page then reads itself again and changes what
// differs in its parts that have `data-live`. `data-live="requests"` stands for what changes with the log of requests, and
// `data-live="settings"` for what no event announces.
// Without server-sent events the page reads itself every two seconds.
const TICK_MS = 2_000;
/** A connection on which nothing arrives for this long does not work. The server sends something every five seconds. */
const SILENCE_MS = 12_000;
/** How often a page reads itself in any case: not every change is announced. */
const REREAD_MS = 5_000;
/** How long a page waits before it opens a connection again that the server has refused. */
const REOPEN_MS = 30_000;
/** After reading itself a page rests for as long as that took, so that a slow server gets fewer requests, but no longer. */
const LONGEST_REST_MS = 1_000;

const { stream, address = location.href } = document.querySelector("main").dataset;
const parts = (page) => [...page.querySelectorAll("[data-live]")];
const topics = new Set(parts(document).map((part) => part.dataset.live || "payments"));
let source;
let openedAt;
let heardAt = Infinity;
let readAt = performance.now();
/** True if the page changed while it was being read. */
let isStale = false;
let isReading = false;
let isOver = false;

function open() {
  openedAt = performance.now();
  heardAt = openedAt;
  source = new EventSource(stream);
  // Something may have changed before the connection was open.
  source.addEventListener("open", read);
  source.addEventListener("error", () => (heardAt = -Infinity));
  source.addEventListener("message", ({ data }) => {
    heardAt = performance.now();
    if (data === "signed-out") signedOut();
    else if (topics.has(data)) read();
  });
}

function close() {
  source?.close();
  source = undefined;
}

function signedOut() {
  isOver = true;
  close();
  document.querySelector("#signed-out").hidden = false;
}

async function read() {
  isStale = true;
  if (isReading || isOver) return;
  isReading = true;
  while (isStale && !isOver) {
    isStale = false;
    const begun = performance.now();
    // The page stays as it is while the server cannot be reached.
    await readOnce().catch(() => undefined);
    readAt = performance.now();
    const rest = Math.min(readAt - begun, LONGEST_REST_MS);
    await new Promise((resolve) => setTimeout(resolve, rest));
  }
  isReading = false;
}

async function readOnce() {
  const response = await fetch(address, { headers: { "x-live": "yes" } });
  if (response.redirected && response.url.endsWith("/sign-in")) return signedOut();
  if (!response.ok) return;
  const next = parts(new DOMParser().parseFromString(await response.text(), "text/html"));
  for (const [index, part] of parts(document).entries()) if (next[index]) update(part, next[index]);
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

function tick() {
  if (isOver || document.hidden) return;
  const now = performance.now();
  const isSilent = now - heardAt > SILENCE_MS;
  if (isSilent || now - readAt > REREAD_MS) read();
  // Pages that belong to no merchant have no stream.
  if (stream && (!source || (isSilent && now - openedAt > REOPEN_MS))) {
    close();
    open();
  }
}

// A page that nobody sees needs no connection, of which a browser has few.
document.addEventListener("visibilitychange", () => (document.hidden ? close() : tick()));
if (topics.size > 0) {
  setInterval(tick, TICK_MS);
  tick();
}
