import type { Dialect } from '../../../formats/csv/dialect.ts';
import {
  createFields,
  MAX_FIELDS,
  type OnRecord,
  readFieldText,
  type ScanEnd,
  scanRecords,
  TooManyFields,
} from '../../../formats/csv/records.ts';
import { createDecoder } from '../../../formats/text/decode.ts';
import { importUnreadable } from './failures.ts';
import { MAX_ENTRIES, makeTooManyEntriesFailure, type ParsedDocument } from './read-knowledge.ts';

const GLOSSARY_COLUMNS = ['name', 'description', 'type', 'aliases', 'tags'];
const LIST_COLUMNS = ['aliases', 'tags'];
const REQUIRED_COLUMNS = ['name', 'description'];

/** Reads a glossary: one concept per line, the columns in any order. Cells are text, even if they look like numbers. */
export function readGlossary(text: string): ParsedDocument {
  const bytes = new TextEncoder().encode(text);
  const dialect = detectDialect(text);
  const decode = createDecoder('utf-8');
  const fields = createFields();
  const document: ParsedDocument = { source: 'a glossary', foundEntries: [], errors: [] };
  let header: string[] | undefined;
  const takeRecord: OnRecord = (_start, _end, line) => {
    const cells = Array.from({ length: Math.min(fields.fieldCount, GLOSSARY_COLUMNS.length + 1) }, (_, index) =>
      readFieldText(bytes, fields, index, dialect, decode).trim(),
    );
    if (cells.every((cell) => cell === '')) return;
    if (document.foundEntries.length + document.errors.length > MAX_ENTRIES) throw makeTooManyEntriesFailure();
    if (!header) header = readHeader(cells, line);
    else if (fields.fieldCount > header.length) {
      const problem = `has ${fields.fieldCount} cells, but the header has ${header.length}`;
      document.errors.push({ line, place: [], problem });
    } else document.foundEntries.push({ listName: 'concepts', line, value: toConcept(header, cells) });
  };
  let end: ScanEnd;
  try {
    end = scanRecords(bytes, 0, true, dialect, 1, fields, takeRecord);
  } catch (error) {
    if (error instanceof TooManyFields) throw importUnreadable(`a line has more than ${MAX_FIELDS} cells`, error.line);
    throw error;
  }
  if (end.isUnclosed) throw importUnreadable('a quote is not closed', end.nextLine);
  if (!header) throw importUnreadable('it is empty');
  return document;
}

/** Detects how cells are separated and quoted: the delimiter is the one in the header. */
function detectDialect(text: string): Dialect {
  const [header = ''] = text.split(/\r?\n/, 1);
  const delimiter = ([',', ';', '\t'] as const).find((candidate) => header.includes(candidate)) ?? ',';
  return { delimiter, quote: '"', escape: 'doubled', spaceBeforeQuote: false };
}

function readHeader(cells: readonly string[], line: number): string[] {
  const header = cells.map((cell) => cell.toLowerCase());
  const unknownColumn = header.find((name, index) => !GLOSSARY_COLUMNS.includes(name) || header.indexOf(name) < index);
  if (unknownColumn !== undefined) {
    throw importUnreadable(
      `its header can only have the columns ${GLOSSARY_COLUMNS.join(', ')}, each once: "${unknownColumn.slice(0, 80)}"`,
      line,
    );
  }
  const missingColumn = REQUIRED_COLUMNS.find((name) => !header.includes(name));
  if (missingColumn) throw importUnreadable(`its header must have the column ${missingColumn}`, line);
  return header;
}

/** Returns the fields of a concept by the names of their columns, without empty cells of optional columns. */
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
    .map((item) => item.trim())
    .filter((item) => item !== '');
