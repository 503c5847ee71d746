// Adds search, filters, folding and copy buttons. The report is complete and readable without this script.
const form = document.querySelector(".filter");
const requirements = [...document.querySelectorAll(".requirement")];

function show() {
  const text = form.elements.text.value.trim().toLowerCase();
  const shown = new Set([...form.querySelectorAll("[name=verdict]:checked")].map((box) => box.value));
  let count = 0;
  for (const requirement of requirements) {
    const heads = requirement.querySelectorAll(":scope > summary, :scope > .inside > .about");
    const words = [...heads].map((head) => head.textContent).join(" ");
    const fits = shown.has(requirement.dataset.verdict) && words.toLowerCase().includes(text);
    requirement.hidden = !fits;
    if (fits) count += 1;
  }
  for (const group of document.querySelectorAll(".group")) {
    group.hidden = !group.querySelector(".requirement:not([hidden])");
    if (text !== "") group.open = true;
  }
  form.querySelector("output").textContent = `${count} of ${requirements.length} shown`;
}

function setOpen(open) {
  for (const part of document.querySelectorAll(".group, .requirement")) part.open = open;
}

/** Expands the requirement whose id is the URL's fragment, and what it is in. */
function expandTarget() {
  const target = document.querySelector(`[id="${CSS.escape(decodeURIComponent(location.hash.slice(1)))}"]`);
  if (!target) return;
  for (let part = target; part; part = part.parentElement?.closest("details")) {
    if (part instanceof HTMLDetailsElement) part.open = true;
  }
  target.scrollIntoView();
}

form.hidden = false;
form.addEventListener("input", show);
form.addEventListener("submit", (event) => event.preventDefault());
form.elements.expand.addEventListener("click", () => setOpen(true));
form.elements.collapse.addEventListener("click", () => setOpen(false));
addEventListener("hashchange", expandTarget);
expandTarget();
show();

for (const command of document.querySelectorAll(".command")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(command.querySelector("code").textContent);
    button.textContent = "Copied";
  });
  command.prepend(button);
}
