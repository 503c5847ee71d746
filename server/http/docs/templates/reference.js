// Sends the requests of the reference to this server. The key stays in this page's memory.
const key = document.querySelector("#key");
key.form.hidden = false;
key.form.addEventListener("submit", (event) => event.preventDefault());

/** Each reference works once, so the form gets a new reference after every request that was accepted. */
function renew(body) {
  const suffix = `-${Date.now().toString(36)}`;
  body.value = body.value.replace(/("reference": ")([^"]*?)(-\w{8,})?(")/, `$1$2${suffix}$4`);
}

function addressOf({ dataset, elements }) {
  const query = new URLSearchParams();
  let path = dataset.path;
  for (const { name, value, dataset: part } of elements) {
    if (part.in === "path") path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (part.in === "query" && value !== "") query.set(name, value);
  }
  return `..${path}${query.size > 0 ? `?${query}` : ""}`;
}

const pretty = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

async function send(form) {
  const { body } = form.elements;
  const init = { method: form.dataset.method, headers: { "x-api-key": key.value }, redirect: "error" };
  if (body) Object.assign(init, { body: body.value, headers: { ...init.headers, "content-type": "application/json" } });
  const response = await fetch(addressOf(form), init);
  if (response.ok && body) renew(body);
  return `${response.status} ${response.statusText}\n\n${pretty(await response.text())}`;
}

for (const form of document.querySelectorAll(".try form")) {
  form.closest("details").hidden = false;
  if (form.elements.body) renew(form.elements.body);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const output = form.querySelector("output");
    output.textContent = "Sending …";
    output.textContent = await send(form).catch((error) => `No response: ${error.message}`);
  });
}
