import { or, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { toComparedText } from '../kernel/text.ts';

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

/** Builds the condition of `makeEqualsSql` letter by letter: its depth does not grow with the number of letters. */
function makeLetterwiseEqualsSql(text: SQLWrapper, value: string): SQL {
  const characters = [...value].map((letter) => {
    const lowerLetter = toComparedText(letter);
    if (letter <= '\x7f') return `${lowerLetter}${lowerLetter.toUpperCase()}`;
    const otherForms = findOtherForms(lowerLetter);
    return otherForms.length === 0 ? letter : [lowerLetter, ...otherForms].join('');
  });
  return sql`(length(${text}) = ${characters.length} and not exists (select 1 from json_each(${JSON.stringify(characters)}) as cases where instr(cases.value, substr(${text}, cases.key + 1, 1)) = 0))`;
}

/** Folds the case of ASCII and of the text's letters. Returns the folded text, and how to fold an SQL text alike. */
export function foldCase(search: string, maxLetters = MAX_FOLDED_LETTERS) {
  const lowerLetters = [...search].map(toComparedText);
  const letters = [...new Set(lowerLetters)].filter((letter) => findOtherForms(letter).length > 0).slice(0, maxLetters);
  const isFolded = (letter: string) => letter <= '\x7f' || letters.includes(toComparedText(letter));
  const foldedSearch = [...search].map((letter, index) => (isFolded(letter) ? lowerLetters[index] : letter)).join('');
  const replacements = letters.flatMap((letter) => findOtherForms(letter).map((form) => ({ form, letter })));
  const toFoldedSql = (text: SQLWrapper): SQL =>
    replacements.reduce(
      (foldedText, { form, letter }) =>
        sql`replace(${foldedText}, ${makeCharacterSql(form)}, ${makeCharacterSql(letter)})`,
      sql`lower(${text})`,
    );
  return { letters, wanted: foldedSearch, lower: toFoldedSql };
}

/** Finds the other forms of a small letter beyond ASCII: its capital if that is one letter; ẞ for ß, and also ς for σ. */
function findOtherForms(letter: string): string[] {
  if (letter === 'σ') return ['Σ', 'ς'];
  if (letter === 'ß') return ['ẞ'];
  const capital = letter.toUpperCase();
  const isOneLetter = [...capital].length === 1 && capital.toLowerCase() === letter;
  return letter > '\x7f' && capital !== letter && isOneLetter ? [capital] : [];
}

/** Writes a character into the statement's text itself, since D1 takes only 100 parameters. */
const makeCharacterSql = (letter: string): SQL => sql.raw(`char(${letter.codePointAt(0)})`);

/** Builds an expression that orders texts without regard to the case of ASCII letters. */
export const makeNocaseSql = (text: SQLWrapper): SQL => sql`${text} collate nocase`;
