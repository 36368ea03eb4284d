import type { Message } from './messages.ts';

/** Pattern of statements that change the session beyond their transaction. */
const SESSION_STATEMENT_PATTERN =
  /^\s*(SET(?!\s+(?:LOCAL|TRANSACTION|CONSTRAINTS)\b)|RESET|LISTEN|UNLISTEN|PREPARE|EXECUTE|DEALLOCATE|DISCARD|LOAD|CREATE\s+TEMP(?:ORARY)?|DECLARE\s(?:(?!\bFOR\b).)*?WITH\s+HOLD)\b/is;
const ADVISORY_LOCK_PATTERN = /\bpg_(?:try_)?advisory_(?:un)?lock(?:_shared|_all)?\s*\(/i;

/** Pattern of literals and comments in SQL. */
const LITERAL_OR_COMMENT_PATTERN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\//g;

/** Finds the part of a message whose effect would outlast its transaction on the server, if there is any. */
export function findSessionState({ type, body }: Message): string | undefined {
  if (type !== 'Q' && type !== 'P') return undefined;
  const [first = '', second = ''] = body.toString().split('\0');
  if (type === 'P' && first !== '') return `the named statement ${first}`;
  // PostgreSQL takes one statement alone with Parse.
  const statements =
    type === 'Q'
      ? first.replaceAll(LITERAL_OR_COMMENT_PATTERN, ' ').split(';')
      : [second.replaceAll(LITERAL_OR_COMMENT_PATTERN, ' ')];
  for (const statement of statements) {
    // User SQL is a cursor, which runs only where the database has allowed its functions.
    const lock = /^\s*DECLARE\b/i.test(statement) ? null : ADVISORY_LOCK_PATTERN.exec(statement);
    const sessionState = SESSION_STATEMENT_PATTERN.exec(statement)?.[1] ?? lock?.[0];
    if (sessionState !== undefined) return sessionState;
  }
  return undefined;
}
