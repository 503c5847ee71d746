// Finds the places in a TypeScript file where one edit weakens the code. Types and texts for people are left alone.
import ts from "typescript";
import type { Edit } from "./edit.ts";
import { isSql, sqlEdits } from "./sql.ts";

const { SyntaxKind } = ts;

const boundaries: Partial<Record<ts.SyntaxKind, string>> = {
  [SyntaxKind.LessThanToken]: "<=",
  [SyntaxKind.LessThanEqualsToken]: "<",
  [SyntaxKind.GreaterThanToken]: ">=",
  [SyntaxKind.GreaterThanEqualsToken]: ">",
};
const negations: Partial<Record<ts.SyntaxKind, string>> = {
  [SyntaxKind.EqualsEqualsEqualsToken]: "!==",
  [SyntaxKind.ExclamationEqualsEqualsToken]: "===",
};
const arithmetic: Partial<Record<ts.SyntaxKind, string>> = {
  [SyntaxKind.PlusToken]: "-",
  [SyntaxKind.MinusToken]: "+",
  [SyntaxKind.AsteriskToken]: "/",
  [SyntaxKind.SlashToken]: "*",
  [SyntaxKind.PercentToken]: "*",
  [SyntaxKind.PlusEqualsToken]: "-=",
  [SyntaxKind.MinusEqualsToken]: "+=",
};
const logical = new Set([SyntaxKind.AmpersandAmpersandToken, SyntaxKind.BarBarToken, SyntaxKind.QuestionQuestionToken]);
const methods: Record<string, string> = {
  min: "max",
  max: "min",
  ceil: "floor",
  floor: "ceil",
  round: "floor",
  some: "every",
  every: "some",
  startsWith: "endsWith",
};
/** Methods that an edit can remove, so that the code uses the object on which they are called unchanged. */
const dropped = new Set(["filter", "toSorted", "slice", "trim", "toLowerCase", "toUpperCase", "replace", "replaceAll"]);

/** Returns every edit of a file. */
export function typescriptEdits(path: string, text: string): { edit: Edit; where: string }[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: { edit: Edit; where: string }[] = [];
  const names: string[] = [];

  function visit(node: ts.Node) {
    if (isLeftAlone(node)) return;
    const name = nameOf(node);
    if (name !== undefined) names.push(name);
    for (const edit of editsAt(node, text)) found.push({ edit, where: names.join(".") });
    ts.forEachChild(node, visit);
    if (name !== undefined) names.pop();
  }
  visit(source);
  return found;
}

/** True for types, imports, logging, and the assembly of the parts, which the compiler checks. */
function isLeftAlone(node: ts.Node): boolean {
  if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return true;
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return true;
  if (ts.isCallExpression(node)) return /^(log|logger|console)\b|\.log\b/.test(node.expression.getText());
  return ts.isNewExpression(node) && node.expression.getText() === "StorageError";
}

function nameOf(node: ts.Node): string | undefined {
  const named =
    ts.isFunctionDeclaration(node) ||
    ts.isMethodDeclaration(node) ||
    ts.isVariableDeclaration(node) ||
    ts.isPropertyAssignment(node) ||
    ts.isClassDeclaration(node);
  if (!named || !node.name || !ts.isIdentifier(node.name)) return undefined;
  const isScope = ts.isVariableDeclaration(node) || ts.isPropertyAssignment(node) ? isFunction(node.initializer) : true;
  return isScope ? node.name.text : undefined;
}

const isFunction = (node?: ts.Node) =>
  node !== undefined && (ts.isArrowFunction(node) || ts.isFunctionExpression(node));

function replace(operator: string, target: ts.Node, by: string): Edit {
  return { operator, start: target.getStart(), end: target.getEnd(), text: by };
}

function editsAt(node: ts.Node, text: string): Edit[] {
  if (ts.isIfStatement(node) || ts.isConditionalExpression(node)) {
    const condition = ts.isIfStatement(node) ? node.expression : node.condition;
    return [replace("condition", condition, "true"), replace("condition", condition, "false")];
  }
  if (ts.isWhileStatement(node)) return [replace("condition", node.expression, "false")];
  if (ts.isBinaryExpression(node)) return binaryEdits(node);
  if (ts.isPrefixUnaryExpression(node) && node.operator === SyntaxKind.ExclamationToken) {
    return isCondition(node) ? [] : [replace("negation", node, node.operand.getText())];
  }
  if (ts.isExpressionStatement(node))
    return isRemovable(node.expression) ? [replace("removed statement", node, ";")] : [];
  if (ts.isThrowStatement(node)) return [replace("removed throw", node, ";")];
  if (ts.isAwaitExpression(node) && ts.isExpressionStatement(node.parent)) {
    return [replace("removed await", node, node.expression.getText())];
  }
  if (ts.isCallExpression(node)) return callEdits(node);
  if (ts.isObjectLiteralExpression(node))
    return isWiring(node) ? [] : removals("removed property", node.properties, text);
  if (ts.isArrayLiteralExpression(node) && node.elements.length > 1 && !isPattern(node)) {
    return removals("removed element", node.elements, text);
  }
  return literalEdits(node);
}

function binaryEdits(node: ts.BinaryExpression): Edit[] {
  const { left, right, operatorToken: token } = node;
  if (logical.has(token.kind)) {
    const operand = (side: ts.Node) => replace("operand", node, `(${side.getText()})`);
    return [operand(left), operand(right)];
  }
  const boundary = boundaries[token.kind];
  if (boundary) return [replace("boundary", token, boundary)];
  const negation = negations[token.kind];
  if (negation) return isCondition(node) ? [] : [replace("negation", token, negation)];
  const isText = [left, right].some((side) => ts.isStringLiteralLike(side) || ts.isTemplateExpression(side));
  const sign = isText ? undefined : arithmetic[token.kind];
  return sign ? [replace("arithmetic", token, sign)] : [];
}

function callEdits(node: ts.CallExpression): Edit[] {
  if (!ts.isPropertyAccessExpression(node.expression)) return [];
  const { name, expression } = node.expression;
  const other = Object.hasOwn(methods, name.text) ? methods[name.text] : undefined;
  if (other) return [replace("method", name, other)];
  return dropped.has(name.text) ? [replace("removed call", node, expression.getText())] : [];
}

/** True for the condition of an `if` or `?:`, which is replaced as a whole. */
function isCondition(node: ts.Node): boolean {
  const { parent } = node;
  return (
    (ts.isIfStatement(parent) && parent.expression === node) ||
    (ts.isConditionalExpression(parent) && parent.condition === node)
  );
}

function isRemovable(expression: ts.Expression): boolean {
  if (ts.isAwaitExpression(expression)) return isRemovable(expression.expression);
  if (ts.isVoidExpression(expression)) return isRemovable(expression.expression);
  if (ts.isCallExpression(expression)) return !isLeftAlone(expression);
  return (
    ts.isBinaryExpression(expression) || ts.isDeleteExpression(expression) || ts.isPostfixUnaryExpression(expression)
  );
}

/** True for the object passed to `createX` or `startX`. */
const isWiring = ({ parent }: ts.Node) =>
  ts.isCallExpression(parent) && /^(create|start)[A-Z]/.test(parent.expression.getText());

/** True for the target of a destructuring assignment. */
const isPattern = ({ parent }: ts.Node) =>
  ts.isBinaryExpression(parent) && parent.operatorToken.kind === SyntaxKind.EqualsToken;

/** Removes each element of a list, with the comma after it. */
function removals(operator: string, elements: readonly ts.Node[], text: string): Edit[] {
  return elements.map((element) => {
    const comma = /^\s*,/.exec(text.slice(element.getEnd()))?.[0] ?? "";
    return { operator, start: element.getStart(), end: element.getEnd() + comma.length, text: "" };
  });
}

function literalEdits(node: ts.Node): Edit[] {
  if (node.kind === SyntaxKind.TrueKeyword) return [replace("constant", node, "false")];
  if (node.kind === SyntaxKind.FalseKeyword) return [replace("constant", node, "true")];
  if (ts.isNumericLiteral(node)) {
    const value = Number(node.text.replaceAll("_", ""));
    return [replace("constant", node, String(value <= 1000 ? value + 1 : value * 2))];
  }
  if (ts.isRegularExpressionLiteral(node)) {
    return regexEdits(node.text).map((by) => replace("pattern", node, by));
  }
  if (!ts.isStringLiteralLike(node) && !ts.isTemplateExpression(node)) return [];
  const raw = node.getText();
  if (isSql(raw)) {
    const start = node.getStart();
    return sqlEdits(raw).map((edit) => ({ ...edit, start: start + edit.start, end: start + edit.end }));
  }
  if (/\s/.test(raw) || raw.length <= 3 || isName(node)) return [];
  return [replace("constant", node, '"mutated"')];
}

/** True for a string that names a property or is compared. Comparisons are mutated as a whole. */
function isName({ parent }: ts.Node): boolean {
  if (ts.isBinaryExpression(parent))
    return parent.operatorToken.kind in negations || parent.operatorToken.kind === SyntaxKind.InKeyword;
  return (
    (ts.isPropertyAssignment(parent) &&
      ts.isStringLiteralLike(parent.name) &&
      parent.initializer.kind === SyntaxKind.Unknown) ||
    ts.isCaseClause(parent) ||
    ts.isComputedPropertyName(parent) ||
    ts.isElementAccessExpression(parent)
  );
}

function regexEdits(regex: string): string[] {
  const edits: string[] = [];
  const edit = (pattern: RegExp, by: string | ((...parts: string[]) => string)) => {
    for (const match of regex.matchAll(pattern)) {
      const replacement = typeof by === "string" ? by : by(...match);
      edits.push(regex.slice(0, match.index) + replacement + regex.slice(match.index + match[0].length));
    }
  };
  edit(/(?<![[\\])\^/g, "");
  edit(/(?<!\\)\$/g, "");
  edit(/(?<=[\])\w.])\+/g, "*");
  edit(
    /\{(\d+)(,?)(\d*)\}/g,
    (_, least, comma, most) => `{${Math.max(0, Number(least) - 1)}${comma === "" ? `,${least}` : comma}${most}}`,
  );
  edit(/\{(\d+),(\d+)\}/g, (_, least, most) => `{${least},${Number(most) + 1}}`);
  edit(/(?<=\/[gmsuvy]*)i(?=[gmsuvy]*$)/g, "");
  return edits;
}
