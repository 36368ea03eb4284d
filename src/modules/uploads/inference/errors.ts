import { MAX_FIELDS, TooManyFields } from '../../../formats/csv/records.ts';
import { shorten } from '../../../kernel/text.ts';
import { MAX_COLUMNS } from '../../../tenant-sql/columns.ts';

/** What can be wrong with a file's content. */
export type InferenceErrorCode =
  | 'NO_ROWS'
  | 'NUL_BYTE'
  | 'UNREADABLE_BYTES'
  | 'UNCLOSED_QUOTE'
  | 'RECORD_TOO_LARGE'
  | 'TOO_MANY_FIELDS'
  | 'TOO_MANY_COLUMNS'
  | 'HEADERS_DIFFER'
  | 'NO_COLUMN_MATCHES'
  | 'COLUMN_MISSING'
  | 'VALUE_DOES_NOT_FIT';

/** Where it is wrong. */
export interface Whereabouts {
  /** The file's name. */
  file?: string;
  /** 1-based line on which the record starts. */
  line?: number;
  /** The column's name. */
  column?: string;
  /** The value as written, cut to 200 characters. */
  value?: string;
}

/** A file that cannot become a table. `message` is the Portuguese sentence that the upload job shows. */
export class InferenceError extends Error {
  readonly code: InferenceErrorCode;
  readonly where: Whereabouts;

  constructor(code: InferenceErrorCode, message: string, where: Whereabouts = {}) {
    super(message);
    this.name = 'InferenceError';
    this.code = code;
    this.where = where;
  }
}

/** A value short enough to be shown in an error. */
export function shown(value: string): string {
  return shorten(value, 200);
}

/** The error of a file that would make a wider table than there can be. */
export function tooManyColumns(file: string, width: number): InferenceError {
  const message = `O arquivo ${file} tem ${width} colunas; o máximo é ${MAX_COLUMNS}.`;
  return new InferenceError('TOO_MANY_COLUMNS', message, { file, line: 1 });
}

/** The error of bytes that are no text in the encoding that the file claims. */
export function unreadable(line: number, encoding: string): InferenceError {
  const message = `O arquivo não pôde ser lido como texto ${encoding}: há bytes inválidos a partir da linha ${line}.`;
  return new InferenceError('UNREADABLE_BYTES', message, { line });
}

export function nulByte(line: number): InferenceError {
  const message = `A linha ${line} contém um byte nulo: o arquivo não é um texto válido.`;
  return new InferenceError('NUL_BYTE', message, { line });
}

export function unclosedQuote(line: number): InferenceError {
  const message = `As aspas abertas no registro da linha ${line} nunca são fechadas.`;
  return new InferenceError('UNCLOSED_QUOTE', message, { line });
}

export function recordTooLarge(line: number): InferenceError {
  const message = `O registro que começa na linha ${line} passa de 16 MiB; talvez falte fechar aspas.`;
  return new InferenceError('RECORD_TOO_LARGE', message, { line });
}

/** What scanning a file threw, worded. */
export function wordScanError(error: unknown): unknown {
  if (!(error instanceof TooManyFields)) return error;
  const { line } = error;
  return new InferenceError('TOO_MANY_FIELDS', `A linha ${line} tem mais de ${MAX_FIELDS} campos.`, { line });
}

/** The error of a row with more fields than its table has columns; `value` is the first that has none. */
export function tooManyValues(line: number, width: number, count: number, value: string): InferenceError {
  const message = `A linha ${line} tem ${count} campos, mas a tabela tem ${width} colunas.`;
  return new InferenceError('TOO_MANY_FIELDS', message, { line, value: shown(value) });
}
