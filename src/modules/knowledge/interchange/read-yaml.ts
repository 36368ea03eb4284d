import { isCollection, Lexer, LineCounter, type Node, parseDocument } from 'yaml';
import { importUnreadable } from './failures.ts';
import type { LocatedValue } from './read-knowledge.ts';

/**
 * The maximum nesting of a document: the YAML parser recurses for each level, and its work grows with the number of
 * tokens.
 */
const MAX_DEPTH = 50;
const MAX_INDENT = 200;
const MAX_TOKENS = 300_000;
const MAX_ALIASES = 100;
/**
 * The maximum total length of double-quoted texts, which the parser builds character by character: each takes thirty times its
 * memory.
 */
const MAX_QUOTED_CHARACTERS = 1_000_000;

/** Parses YAML, with the line numbers of its parts. */
export function readYaml(text: string): LocatedValue {
  requireBoundedYaml(text);
  const lines = new LineCounter();
  // Whether a key is there twice is asked of each pair of keys.
  const document = parseDocument(text, {
    lineCounter: lines,
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'silent',
  });
  const [error] = document.errors;
  if (error)
    throw importUnreadable(`it is not valid YAML: ${error.message.slice(0, 200)}`, lines.linePos(error.pos[0]).line);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (failure) {
    throw importUnreadable(`it is not valid YAML: ${(failure as Error).message.slice(0, 200)}`);
  }
  const findLine: LocatedValue['findLine'] = (...path) => {
    let node: unknown = document.contents;
    let line = 1;
    for (const pathSegment of [...path, null]) {
      const { range } = Object(node) as Partial<Node>;
      if (range) line = lines.linePos(range[0]).line;
      if (pathSegment === null || !isCollection(node)) break;
      node = node.get(pathSegment, true);
    }
    return line;
  };
  return { value, findLine };
}

/** Throws for a text that would take too much depth or time, before any of it is parsed. */
function requireBoundedYaml(text: string): void {
  let tokenCount = 0;
  let line = 1;
  let flowDepth = 0;
  let blockDepth = 0;
  let quoted = 0;
  const makeTooDeepFailure = () => importUnreadable(`it is nested more than ${MAX_DEPTH} levels deep`, line);
  for (const token of new Lexer().lex(text)) {
    tokenCount += 1;
    if (tokenCount > MAX_TOKENS) throw importUnreadable(`it has more than ${MAX_TOKENS} tokens`, line);
    if (token.startsWith('"')) quoted += token.length;
    if (quoted > MAX_QUOTED_CHARACTERS)
      throw importUnreadable(`it has more than ${MAX_QUOTED_CHARACTERS} characters in double quotes`, line);
    if (token === '[' || token === '{') flowDepth += 1;
    else if (token === ']' || token === '}') flowDepth -= 1;
    else if (token === '-' || token === '?' || token === ':') blockDepth += flowDepth === 0 ? 1 : 0;
    else if (token.includes('\n')) {
      line += token.split('\n').length - 1;
      blockDepth = 0;
    } else if (token.length > MAX_INDENT && token.trim() === '' && !token.includes('\t')) throw makeTooDeepFailure();
    if (flowDepth > MAX_DEPTH || blockDepth > MAX_DEPTH) throw makeTooDeepFailure();
  }
}
