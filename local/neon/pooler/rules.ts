import type { Message } from './messages.ts';

/** Statements that change the session beyond their transaction. */
const BEGINNING =
  /^\s*(SET(?!\s+(?:LOCAL|TRANSACTION|CONSTRAINTS)\b)|RESET|LISTEN|UNLISTEN|PREPARE|EXECUTE|DEALLOCATE|DISCARD|LOAD|CREATE\s+TEMP(?:ORARY)?|DECLARE\s(?:(?!\bFOR\b).)*?WITH\s+HOLD)\b/is;
const ADVISORY_LOCK_PATTERN = /\bpg_(?:try_)?advisory_(?:un)?lock(?:_shared|_all)?\s*\(/i;

/** Literals and comments. */
const LITERAL_OR_COMMENT = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\//g;

/** The part of a message whose effect would outlast its transaction on the server, if there is any. */
export function findSessionState({ type, body }: Message): string | undefined {
  if (type !== 'Q' && type !== 'P') return undefined;
  const [first = '', second = ''] = body.toString().split('\0');
  if (type === 'P' && first !== '') return `the named statement ${first}`;
  // PostgreSQL takes one statement alone with Parse.
  const statements =
    type === 'Q' ? first.replaceAll(LITERAL_OR_COMMENT, ' ').split(';') : [second.replaceAll(LITERAL_OR_COMMENT, ' ')];
  for (const statement of statements) {
    // User SQL is a cursor, which runs only where the database has allowed its functions.
    const lock = /^\s*DECLARE\b/i.test(statement) ? null : ADVISORY_LOCK_PATTERN.exec(statement);
    const found = BEGINNING.exec(statement)?.[1] ?? lock?.[0];
    if (found !== undefined) return found;
  }
  return undefined;
}
