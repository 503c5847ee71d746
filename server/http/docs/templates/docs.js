// Adds a button that copies to each block of code. The pages are complete without it.
for (const block of document.querySelectorAll(".code:not(:has(.language-text))")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(block.querySelector("code").textContent.trimEnd());
      button.textContent = "Copied";
    } catch {
      // A page without https may not write to the clipboard: the reader copies what is selected.
      getSelection().selectAllChildren(block.querySelector("code"));
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 2_000);
  });
  block.append(button);
}
