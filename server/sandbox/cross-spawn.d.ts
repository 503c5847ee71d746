// cross-spawn has no types of its own. It is `spawn` that starts batch files on Windows too, such as npm's commands.
declare module "cross-spawn" {
  export { spawn as default } from "node:child_process";
}
