import { truncateText } from '../../../kernel/text.ts';
import { MAX_IDENTIFIER_LENGTH, RESERVED_COLUMN_NAMES } from '../../../tenant-sql/identifiers.ts';

/** Letters that Unicode does not decompose into a base letter and an accent. */
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

/** Converts a text to snake case without accents, with `_` before a leading digit; empty without a Latin letter or digit. */
function toSnakeCase(text: string): string {
  const unaccentedText = truncateText(text, 500)
    .replace(/[ßæÆœŒøØłŁđĐı]/g, (letter) => LIGATURES[letter] ?? letter)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '');
  const snakeCase = unaccentedText
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');
  const identifier = /^[0-9]/.test(snakeCase) ? `_${snakeCase}` : snakeCase;
  return identifier.slice(0, MAX_IDENTIFIER_LENGTH).replace(/_+$/, '');
}

/** Makes the column name for a header cell, before repeated names are numbered; empty for an empty cell. */
export function toColumnName(header: string): string {
  const name = toSnakeCase(header);
  return RESERVED_COLUMN_NAMES.has(name) ? `source_${name}` : name;
}

/** Makes column names for header cells, in order: unique, never reserved; `column_N` (from 1) for a cell without a name. */
export function makeColumnNames(headers: string[]): string[] {
  const takenNames = new Set<string>();
  return headers.map((header, index) => {
    const wantedName = toColumnName(header) || `column_${index + 1}`;
    let name = wantedName;
    for (let count = 2; takenNames.has(name); count++) {
      const suffix = `_${count}`;
      name = wantedName.slice(0, MAX_IDENTIFIER_LENGTH - suffix.length) + suffix;
    }
    takenNames.add(name);
    return name;
  });
}

/** Makes the table name for a file's name (without folders and extensions); `uploaded_table` without a Latin letter or digit. */
export function toTableName(fileName: string): string {
  const baseName = fileName
    .replace(/^.*[/\\]/, '')
    .replace(/(?:\.(?:csv|tsv|txt|xlsx?|zip|ndjson|jsonl|json|parquet|gz))+$/i, '');
  return toSnakeCase(baseName) || 'uploaded_table';
}
