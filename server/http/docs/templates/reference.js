// Shows the contract's operations with a console. Requests go to this server, and the key stays in this page's memory.
/* global SwaggerUIBundle */
const place = document.querySelector("#reference");
const root = new URL("..", location.href).href.replace(/\/$/, "");

const dark = matchMedia("(prefers-color-scheme: dark)");
const useColours = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", useColours);
useColours();

const spec = await (await fetch("../openapi.json")).json();
spec.servers = [{ url: root, description: "This server" }];
// Each reference works once, so every visit proposes others.
const visit = Date.now().toString(36);
for (const [name, { value }] of Object.entries(spec.components.examples))
  if (name.includes("Request") && value.reference) value.reference += `-${visit}`;
if (place.dataset.sandbox === "false") {
  for (const path of Object.keys(spec.paths)) if (path.startsWith("/sandbox/")) delete spec.paths[path];
  spec.tags = spec.tags.filter(({ name }) => name !== "Sandbox");
}

const nothing = () => () => null;
SwaggerUIBundle({
  spec,
  domNode: place,
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  persistAuthorization: false,
  // Otherwise the specification would be sent to a service of another origin.
  validatorUrl: null,
  // Hide the title, the contract's text and the choice of servers: the page has a heading, the text has its own page,
  // and there is one server.
  plugins: [() => ({ wrapComponents: { InfoContainer: nothing, ServersContainer: nothing } })],
});
