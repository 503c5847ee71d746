// Adds a button that copies to each block of code. The pages are complete without it.
const { copy, copied, selected } = document.querySelector("main").dataset;
for (const block of document.querySelectorAll(".code:not(:has(.language-text))")) {
  const button = document.createElement("button");
  button.type = "button";
  // The code may be on a page in another language.
  button.lang = document.documentElement.lang;
  button.textContent = copy;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(block.querySelector("code").textContent.trimEnd());
      button.textContent = copied;
    } catch {
      // A page without https may not write to the clipboard: the reader copies what is selected.
      getSelection().selectAllChildren(block.querySelector("code"));
      button.textContent = selected;
    }
    setTimeout(() => (button.textContent = copy), 2_000);
  });
  block.append(button);
}
