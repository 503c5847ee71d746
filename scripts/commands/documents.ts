import { lexer, type Token, type Tokens } from "marked";

/** A block of code in a document. */
export interface Block {
  language: string;
  text: string;
  /** The number of the headings before it. */
  section: number;
  /** The file in which the reader is told to save the block. */
  file?: string | undefined;
  /** Why no test runs it. */
  notRun?: string | undefined;
}

/** Every block of code of a document, in order, also those inside lists. */
export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  let before: Token | undefined;
  let section = 0;
  const visit = (tokens: Token[] = []) => {
    for (const token of tokens) {
      if (token.type === "code") blocks.push(blockOf(token as Tokens.Code, before, section));
      if (token.type === "heading") section += 1;
      if (token.type === "list") visit((token as Tokens.List).items);
      else if (token.type === "list_item" || token.type === "blockquote") visit(token.tokens);
      if (token.type !== "space") before = token;
    }
  };
  visit(lexer(markdown));
  return blocks;
}

function blockOf({ lang = "", text }: Tokens.Code, before: Token | undefined, section: number): Block {
  const [, notRun] = /^<!-- not run: (.+) -->\s*$/s.exec(before?.type === "html" ? before.raw : "") ?? [];
  const [, file] = /Save this as `([^`]+)`/.exec(before?.type === "paragraph" ? before.raw : "") ?? [];
  return { language: lang, text, section, file, notRun };
}

export const isShell = ({ language }: Block): boolean => ["sh", "bash", "shell", "console", "zsh"].includes(language);
