import { or, type SQL, type SQLWrapper, sql } from 'drizzle-orm';

/** Maximum number of letters beyond ASCII whose case is ignored: D1 takes expressions of depth 100, and each adds two. */
const MAX_FOLDED_LETTERS = 30;

/**
 * Builds a WHERE condition: one of the texts contains `search`, in any case and literally; undefined for an empty search. The
 * database changes the case of ASCII letters only; other letters of `search` are replaced one by one.
 */
export function makeContainsSql(texts: readonly SQLWrapper[], search: string): SQL | undefined {
  if (search === '') return undefined;
  const { wanted, lower } = foldCase(search);
  return or(...texts.map((text) => sql`instr(${lower(text)}, ${wanted}) > 0`));
}

/**
 * Builds a condition: the text equals `value`, in any case. If no letter beyond ASCII has another case, an index on
 * `collate nocase` serves it.
 * @param maxLetters the maximum number of letters beyond ASCII whose case is ignored; without this limit, the case of
 * all letters is ignored
 */
export function makeEqualsSql(text: SQLWrapper, value: string, maxLetters?: number): SQL {
  const { letters, wanted, lower } = foldCase(value, maxLetters);
  if (maxLetters === undefined && letters.length === MAX_FOLDED_LETTERS) return makeLetterwiseEqualsSql(text, value);
  return letters.length === 0 ? sql`${makeNocaseSql(text)} = ${value}` : sql`${lower(text)} = ${wanted}`;
}

/**
 * Builds a condition: each letter of the text equals that of `value` in any case. The condition's depth does not grow
 * with the number of letters.
 */
function makeLetterwiseEqualsSql(text: SQLWrapper, value: string): SQL {
  const characters = [...value].map((letter) => {
    const lower = letter.toLowerCase();
    return hasCapital(lower) || letter <= '\x7f' ? `${lower}${lower.toUpperCase()}` : letter;
  });
  return sql`(length(${text}) = ${characters.length} and not exists (select 1 from json_each(${JSON.stringify(characters)}) as cases where instr(cases.value, substr(${text}, cases.key + 1, 1)) = 0))`;
}

/**
 * Folds the case of ASCII and of the given letters. Returns the folded search text, and a function that folds an SQL
 * text in the same way.
 */
export function foldCase(search: string, maxLetters = MAX_FOLDED_LETTERS) {
  // Letter by letter: the small form of a letter is another one at the end of a word in Greek.
  const lowerLetters = [...search].map((letter) => letter.toLowerCase());
  const letters = [...new Set(lowerLetters)].filter(hasCapital).slice(0, maxLetters);
  const isFolded = (letter: string) => letter <= '\x7f' || letters.includes(letter.toLowerCase());
  const foldedSearch = [...search].map((letter, index) => (isFolded(letter) ? lowerLetters[index] : letter)).join('');
  const toFoldedSql = (text: SQLWrapper): SQL =>
    letters.reduce(
      (folded, letter) =>
        sql`replace(${folded}, ${makeCharacterSql(letter.toUpperCase())}, ${makeCharacterSql(letter)})`,
      sql`lower(${text})`,
    );
  return { letters, wanted: foldedSearch, lower: toFoldedSql };
}

/** Returns true for a letter beyond ASCII with exactly one capital letter. */
function hasCapital(letter: string): boolean {
  const capital = letter.toUpperCase();
  return letter > '\x7f' && capital !== letter && [...capital].length === 1 && capital.toLowerCase() === letter;
}

/** Writes a character into the statement's text itself, since D1 takes only 100 parameters. */
const makeCharacterSql = (letter: string): SQL => sql.raw(`char(${letter.codePointAt(0)})`);

/** Builds an expression that orders texts without regard to the case of ASCII letters. */
export const makeNocaseSql = (text: SQLWrapper): SQL => sql`${text} collate nocase`;
