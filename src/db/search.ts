import { or, type SQL, type SQLWrapper, sql } from 'drizzle-orm';

/** Different letters beyond ASCII whose case is ignored. D1 takes expressions of a depth of 100, and each adds two. */
const MAX_LETTERS = 30;

/**
 * For the WHERE of a list: one of the texts contains `search`, in any case and literally. Undefined where nothing is searched
 * for. The database changes the case of ASCII letters only; other letters of `search` are replaced one by one.
 */
export function containsSql(texts: readonly SQLWrapper[], search: string): SQL | undefined {
  if (search === '') return undefined;
  const { wanted, lower } = foldCase(search);
  return or(...texts.map((text) => sql`instr(${lower(text)}, ${wanted}) > 0`));
}

/**
 * SQL condition: the text is `value`, in any case. Where no letter beyond ASCII has another case, an index on `collate nocase`
 * serves it.
 */
export function equalsInAnyCase(text: SQLWrapper, value: string, mostLetters?: number): SQL {
  const { letters, wanted, lower } = foldCase(value, mostLetters);
  return letters.length === 0 ? sql`${ignoreCase(text)} = ${value}` : sql`${lower(text)} = ${wanted}`;
}

/**
 * A text that is looked for, and how others are written to be compared with it, whatever the case of ASCII and these letters:
 * the others are left as they are.
 */
export function foldCase(search: string, mostLetters = MAX_LETTERS) {
  // Letter by letter: the small form of a letter is another one at the end of a word in Greek.
  const small = [...search].map((letter) => letter.toLowerCase());
  const letters = [...new Set(small)].filter(hasCapital).slice(0, mostLetters);
  const isFolded = (letter: string) => letter <= '\x7f' || letters.includes(letter.toLowerCase());
  const wanted = [...search].map((letter, index) => (isFolded(letter) ? small[index] : letter)).join('');
  const lower = (text: SQLWrapper): SQL =>
    letters.reduce(
      (folded, letter) => sql`replace(${folded}, ${characterSql(letter.toUpperCase())}, ${characterSql(letter)})`,
      sql`lower(${text})`,
    );
  return { letters, wanted, lower };
}

/** Whether it is a letter beyond ASCII with one capital of its own. */
function hasCapital(letter: string): boolean {
  const capital = letter.toUpperCase();
  return letter > '\x7f' && capital !== letter && [...capital].length === 1 && capital.toLowerCase() === letter;
}

/** As a part of the statement: D1 takes 100 parameters. */
const characterSql = (letter: string): SQL => sql.raw(`char(${letter.codePointAt(0)})`);

/** A text to order by, whatever the case of its letters in ASCII. */
export const ignoreCase = (text: SQLWrapper): SQL => sql`${text} collate nocase`;
