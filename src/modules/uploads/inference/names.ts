import { cut } from '../../../kernel/text.ts';

/** Names that a column cannot have: the row's id, and what Postgres calls its own columns. */
const RESERVED = new Set(['id', 'ctid', 'xmin', 'xmax', 'cmin', 'cmax', 'tableoid']);

/** Longest identifier that Postgres keeps, in bytes; the names here are ASCII. */
const LONGEST = 63;

/** Letters that Unicode does not take apart into a base letter and an accent. */
const LIGATURES: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  Æ: 'Ae',
  œ: 'oe',
  Œ: 'Oe',
  ø: 'o',
  Ø: 'O',
  ł: 'l',
  Ł: 'L',
  đ: 'd',
  Đ: 'D',
  ı: 'i',
};

/** A text as lower snake case without accents, `_` before a leading digit; empty when it has no Latin letter or digit. */
export function snakeCase(text: string): string {
  const plain = cut(text, 500)
    .replace(/[ßæÆœŒøØłŁđĐı]/g, (letter) => LIGATURES[letter] ?? letter)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '');
  const snake = plain
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');
  const named = /^[0-9]/.test(snake) ? `_${snake}` : snake;
  return named.slice(0, LONGEST).replace(/_+$/, '');
}

/** The column name that a header cell asks for, before repetitions are told apart; empty for an empty one. */
export function columnName(header: string): string {
  const name = snakeCase(header);
  return RESERVED.has(name) ? `source_${name}` : name;
}

/** Database names for header cells, in order: unique, never reserved; `column_N` (from 1) where a cell gives none. */
export function columnNames(headers: string[]): string[] {
  const taken = new Set<string>();
  return headers.map((header, index) => {
    const wanted = columnName(header) || `column_${index + 1}`;
    let name = wanted;
    for (let count = 2; taken.has(name); count++) {
      const suffix = `_${count}`;
      name = wanted.slice(0, LONGEST - suffix.length) + suffix;
    }
    taken.add(name);
    return name;
  });
}

/** A table name made of a file's name (without folders and extensions); `uploaded_table` when it has no Latin letter or digit. */
export function tableName(fileName: string): string {
  const base = fileName.replace(/^.*[/\\]/, '').replace(/(?:\.(?:csv|tsv|txt|xlsx?|zip))+$/i, '');
  return snakeCase(base) || 'uploaded_table';
}
