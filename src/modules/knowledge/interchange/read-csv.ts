import type { Dialect } from '../../../formats/csv/dialect.ts';
import {
  type Fields,
  fieldText,
  MAX_FIELDS,
  newFields,
  type OnRecord,
  type ScanEnd,
  scan,
  TooManyFields,
} from '../../../formats/csv/records.ts';
import { createDecoder } from '../../../formats/text/decode.ts';
import { importUnreadable } from './failures.ts';
import { MAX_ENTRIES, type ReadDocument, tooManyEntries } from './read-knowledge.ts';

const COLUMNS = ['name', 'description', 'type', 'aliases', 'tags'];
const LIST_COLUMNS = ['aliases', 'tags'];
const REQUIRED_COLUMNS = ['name', 'description'];

/** Reads a glossary: one concept a line, the columns in any order. Cells are text, even if they look like numbers. */
export function readGlossary(text: string): ReadDocument {
  const bytes = new TextEncoder().encode(text);
  const dialect = detectDialect(text);
  const decode = createDecoder('utf-8');
  const fields = newFields();
  const document: ReadDocument = { source: 'a glossary', found: [], errors: [] };
  let header: string[] | undefined;
  const take: OnRecord = (_start, _end, line) => {
    const cells = Array.from({ length: Math.min(fields.count, COLUMNS.length + 1) }, (_, index) =>
      fieldText(bytes, fields, index, dialect, decode).trim(),
    );
    if (cells.every((cell) => cell === '')) return;
    if (document.found.length + document.errors.length > MAX_ENTRIES) throw tooManyEntries();
    if (!header) header = readHeader(cells, line);
    else if (fields.count > header.length) {
      document.errors.push({ line, message: `has ${fields.count} cells, but the header has ${header.length}` });
    } else document.found.push({ list: 'concepts', line, value: toConcept(header, cells) });
  };
  const end = scanAll(bytes, dialect, fields, take);
  if (end.unclosed) throw importUnreadable('a quote is not closed', end.line);
  if (!header) throw importUnreadable('it is empty');
  return document;
}

function scanAll(bytes: Uint8Array, dialect: Dialect, fields: Fields, onRecord: OnRecord): ScanEnd {
  try {
    return scan(bytes, 0, true, dialect, 1, fields, onRecord);
  } catch (error) {
    if (error instanceof TooManyFields) throw importUnreadable(`a line has more than ${MAX_FIELDS} cells`, error.line);
    throw error;
  }
}

/** Returns how cells are separated and quoted: the delimiter is the one in the header. */
function detectDialect(text: string): Dialect {
  const [header = ''] = text.split(/\r?\n/, 1);
  const delimiter = ([',', ';', '\t'] as const).find((sign) => header.includes(sign)) ?? ',';
  return { delimiter, quote: '"', escape: 'doubled', spaceBeforeQuote: false };
}

function readHeader(cells: readonly string[], line: number): string[] {
  const header = cells.map((cell) => cell.toLowerCase());
  const unknown = header.find((name, index) => !COLUMNS.includes(name) || header.indexOf(name) < index);
  if (unknown !== undefined) {
    throw importUnreadable(
      `its header can only have the columns ${COLUMNS.join(', ')}, each once: "${unknown.slice(0, 80)}"`,
      line,
    );
  }
  const missing = REQUIRED_COLUMNS.find((name) => !header.includes(name));
  if (missing) throw importUnreadable(`its header must have the column ${missing}`, line);
  return header;
}

/** The fields of a concept by the names of their columns, without empty cells of optional columns. */
const toConcept = (header: readonly string[], cells: readonly string[]) =>
  Object.fromEntries(
    header.flatMap((name, index) => {
      const cell = cells[index] ?? '';
      if (cell === '' && !REQUIRED_COLUMNS.includes(name)) return [];
      return [[name, LIST_COLUMNS.includes(name) ? parseList(cell) : cell]];
    }),
  );

const parseList = (cell: string): string[] =>
  cell
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '');
