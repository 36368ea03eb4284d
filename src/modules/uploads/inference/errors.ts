import { MAX_FIELDS, TooManyFields } from '../../../formats/csv/records.ts';
import { shorten } from '../../../kernel/text.ts';
import { MAX_COLUMNS } from '../../../tenant-sql/columns.ts';

/** The kinds of errors in a file's content. */
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
  | 'VALUE_DOES_NOT_FIT'
  | 'DELIMITER_NOT_FOUND';

/** The location of an error in a file's content. */
export interface ErrorLocation {
  file?: string;
  /** The 1-based line on which the record starts. */
  line?: number;
  column?: string;
  /** The value as it stands in the file, cut to 200 characters. */
  value?: string;
}

/** Thrown for a file that cannot become a table. `message` is the Portuguese sentence in the upload job's answer. */
export class InferenceError extends Error {
  readonly code: InferenceErrorCode;
  readonly location: ErrorLocation;

  constructor(code: InferenceErrorCode, message: string, location: ErrorLocation = {}) {
    super(message);
    this.name = 'InferenceError';
    this.code = code;
    this.location = location;
  }
}

/** Cuts a value for an error's details. */
export const cutValue = (value: string): string => shorten(value, 200);

/** Makes the error of a file with `width` columns, more than a table may have. */
export function tooManyColumns(file: string, width: number | string): InferenceError {
  const message = `O arquivo ${file} tem ${width} colunas; o máximo é ${MAX_COLUMNS}.`;
  return new InferenceError('TOO_MANY_COLUMNS', message, { file, line: 1 });
}

export const fileWithoutRows = (file: string) =>
  new InferenceError('NO_ROWS', `O arquivo ${file} não tem nenhuma linha de dados.`, { file });

/** Makes the error of bytes that are not text in the file's encoding. */
export function bytesUnreadable(line: number, encoding: string): InferenceError {
  const message = `O arquivo não pôde ser lido como texto ${encoding}: há bytes inválidos a partir da linha ${line}.`;
  return new InferenceError('UNREADABLE_BYTES', message, { line });
}

export const nulByteFound = (line: number) =>
  new InferenceError('NUL_BYTE', `A linha ${line} contém um byte nulo: o arquivo não é um texto válido.`, { line });

export const unclosedQuote = (line: number) =>
  new InferenceError('UNCLOSED_QUOTE', `As aspas abertas no registro da linha ${line} nunca são fechadas.`, { line });

export function recordTooLarge(line: number): InferenceError {
  const message = `O registro que começa na linha ${line} passa de 16 MiB; talvez falte fechar aspas.`;
  return new InferenceError('RECORD_TOO_LARGE', message, { line });
}

/** Makes the error of a delimiter that a person gave, and that the beginning of the file does not contain. */
export function delimiterNotFound(file: string, delimiter: string): InferenceError {
  const delimiterName = delimiter === '\t' ? 'tabulação' : `"${delimiter}"`;
  const message = `O separador ${delimiterName} não aparece no arquivo ${file}.`;
  return new InferenceError('DELIMITER_NOT_FOUND', message, { file });
}

/** Turns an error of the scanner into an {@link InferenceError}. */
export function toInferenceError(error: unknown): unknown {
  if (!(error instanceof TooManyFields)) return error;
  const { line } = error;
  return new InferenceError('TOO_MANY_FIELDS', `A linha ${line} tem mais de ${MAX_FIELDS} campos.`, { line });
}

/** Makes the error of a row with more fields than its table has columns; `value` is the first surplus one. */
export function tooManyValues(line: number, width: number, count: number, value: string): InferenceError {
  const message = `A linha ${line} tem ${count} campos, mas a tabela tem ${width} colunas.`;
  return new InferenceError('TOO_MANY_FIELDS', message, { line, value: cutValue(value) });
}
