import type { JsonFault, JsonProblem } from '../../formats/json/problem.ts';
import type { JsonForm } from '../../formats/json/read.ts';
import type { ParquetFault, ParquetProblem } from '../../formats/parquet/problem.ts';
import type { FailureDetail } from '../../kernel/failure.ts';
import { MAX_COLUMNS } from '../../tenant-sql/columns.ts';
import type { JobError } from './job.ts';
import { ACCEPTED_EXTENSIONS } from './kinds.ts';

/** Thrown for a problem with a job's files or its table that fails the job; `error` is the job's error. */
export class JobProblem extends Error {
  readonly error: JobError;

  constructor(error: JobError) {
    super(error.code);
    this.name = 'JobProblem';
    this.error = error;
  }
}

/** Thrown where another delivery of the message has done the work, or the job has ended: nothing is left to do. */
export class SupersededError extends Error {
  constructor() {
    super('another delivery has done this step, or the job has ended');
    this.name = 'SupersededError';
  }
}

export const uploadCancelled: JobError = { code: 'CANCELLED', message: 'O upload foi cancelado.' };

export const waitExpired: JobError = {
  code: 'EXPIRED',
  message: 'O upload não foi confirmado em 24 horas e expirou. Envie os arquivos novamente.',
};

export const retriesExhausted: JobError = {
  code: 'RETRIES_EXHAUSTED',
  message: 'Não foi possível concluir o processamento após várias tentativas. Envie os arquivos novamente.',
};

export const databaseFullError: JobError = {
  code: 'MANAGED_DATABASE_FULL',
  message:
    'O banco de dados gerenciado está sem espaço ou não aceita alterações. Nada foi carregado. Libere espaço e envie os arquivos novamente.',
};

/** Makes the error for a load that would exceed a quota of the company, by its rows or its file. */
export const quotaWouldBeExceeded = ({ quota, limit, use }: FailureDetail): JobError => ({
  code: 'QUOTA_EXCEEDED',
  message: 'Isto passaria de uma cota da organização. Nada foi carregado.',
  quota: String(quota),
  limit: Number(limit),
  use: Number(use),
});

/** Makes the error for a file that could not be fetched; `reason` is a clause without full stop and without any URL. */
export const sourceUnreachable = (reason: string): JobError => ({
  code: 'SOURCE_UNREACHABLE',
  message: `Não foi possível baixar o arquivo: ${reason}. Nada foi carregado.`,
});

export const sourceChanged: JobError = {
  code: 'SOURCE_CHANGED',
  message: 'O arquivo mudou no endereço de origem enquanto era baixado. Inicie o upload novamente.',
};

export const sourceTooLarge: JobError = {
  code: 'UPLOAD_TOO_LARGE',
  message: 'O arquivo do endereço passa do limite de 5 GiB.',
};

export const sourceTypeUnknown: JobError = {
  code: 'UPLOAD_FILE_TYPE',
  message: `O tipo do arquivo não pôde ser reconhecido pelo endereço nem pela resposta. Informe o nome do arquivo com uma destas extensões: ${ACCEPTED_EXTENSIONS.join(', ')}.`,
};

export const nameTaken = (displayName: string): JobError => ({
  code: 'MANAGED_TABLE_DUPLICATE_NAME',
  message: `Já existe uma tabela chamada "${displayName}".`,
});

export const tableDeleted: JobError = {
  code: 'TABLE_NOT_FOUND',
  message: 'A tabela de destino não existe mais.',
};

/** The error for a table that has changed since the upload was confirmed. */
export const tableChanged: JobError = {
  code: 'TABLE_CHANGED',
  message: 'As colunas da tabela de destino mudaram durante a carga. Envie os arquivos novamente.',
};

/** The error for a table that cannot have the new columns, as deleted columns count, too. */
export const tooManyColumnsOverTime: JobError = {
  code: 'TOO_MANY_COLUMNS',
  message: 'A tabela não comporta mais colunas; as que já foram excluídas também contam. Nada foi carregado.',
};

/** Makes the error for a row of the files that a unique index of the table forbids. */
export const duplicateValue = (column: string, value: string): JobError => ({
  code: 'MANAGED_TABLE_DUPLICATE_VALUE',
  message: `Um índice da tabela exige valores únicos em "${column}", e o valor "${value}" se repete. Nada foi carregado.`,
  column,
  value,
});

/** Makes the error for a row of the files that has the same key as an earlier row. */
export const keyRepeated = (file: string, line: number, keyColumns: string[], value: string): JobError => ({
  code: 'UPSERT_KEY_TWICE',
  message: `A chave "${value}" aparece mais de uma vez nos arquivos, pela segunda vez em "${file}" (linha ${line}).`,
  file,
  line,
  column: keyColumns.join(', '),
  value,
});

/** Makes the error for a row of the files with an id that no row of the table has. */
export const idUnknown = (file: string, line: number, value: string): JobError => ({
  code: 'UPSERT_ID_UNKNOWN',
  message: `Nenhuma linha da tabela tem o id "${value}" (linha ${line} de "${file}"). Nada foi carregado.`,
  file,
  line,
  column: 'id',
  value,
});

/** Makes the error for an upsert by a key that several rows of the table have. */
export const keyNotUnique = (keyColumns: string[], value: string): JobError => ({
  code: 'UPSERT_KEY_NOT_UNIQUE',
  message: `Mais de uma linha da tabela tem a chave "${value}". Nada foi carregado.`,
  column: keyColumns.join(', '),
  value,
});

/** The error for a key that needs an index when the table has the maximum number of indexes. */
export const noIndexLeft: JobError = {
  code: 'MANAGED_TABLE_TOO_MANY_INDEXES',
  message: 'A chave precisa de um índice único, e a tabela já tem o máximo de índices.',
};

/** Makes the error for a new row that has no value in a column that may not be null. */
export const rowWithoutRequiredValue = (file: string, line: number, column: string): JobError => ({
  code: 'COLUMN_MISSING',
  message: `A linha ${line} de "${file}" seria incluída sem a coluna "${column}", que não aceita valores vazios.`,
  file,
  line,
  column,
});

/** Makes the error for a value that is too long for an index: of the files, or of the table for the index of a key. */
export const tooLongForIndex = (column: string, place: { file?: string; line?: number; value?: string }): JobError => ({
  code: 'VALUE_TOO_LONG_FOR_INDEX',
  message: `Um valor da coluna "${column}"${
    place.file === undefined ? '' : `, na linha ${place.line} de "${place.file}",`
  } é longo demais para um índice da tabela. Nada foi carregado.`,
  ...place,
  column,
});

/** Makes the error for a row that only Postgres rejects, and not our own check; `place` is where it reports the error. */
export const rowRefused = (file: string, place: { line: number; column?: string; value?: string }): JobError => ({
  code: 'ROW_REFUSED',
  message: `O banco de dados recusou uma linha do arquivo "${file}" (linha ${place.line}).`,
  file,
  ...place,
});

/** Makes the error for a load with another number of rows than the analysis: a table that lacks rows would be worse. */
export const rowsDiffer = (loadedCount: number, expectedCount: number): JobError => ({
  code: 'ROWS_DIFFER',
  message: `Foram lidas ${loadedCount} linhas, mas a análise encontrou ${expectedCount}. Envie os arquivos novamente.`,
});

const makeFileProblem = (code: string, file: string, message: string) => new JobProblem({ code, message, file });

export const fileMissing = (file: string) =>
  makeFileProblem('FILE_MISSING', file, `O arquivo "${file}" não está mais disponível. Envie-o novamente.`);

export const workbookUnreadable = (file: string) =>
  makeFileProblem('WORKBOOK_UNREADABLE', file, `A planilha "${file}" está corrompida ou não é um arquivo do Excel.`);

/** The content of a file that differs from its extension. */
export type OtherContent = 'HTML' | 'MHTML' | 'XML' | 'JSON';

/**
 * Makes the error for a file that is no workbook. A `.xlsx` is never read as another format, so that nothing is guessed;
 * `fileExtension` is the extension with which the file may be sent again.
 */
export const notWorkbook = (file: string, content: OtherContent | 'texto', fileExtension?: '.csv' | '.xls') =>
  makeFileProblem(
    'WORKBOOK_UNREADABLE',
    file,
    `O conteúdo de "${file}" é ${content}, e não uma planilha .xlsx. Salve-o como .xlsx no Excel${
      fileExtension ? `, ou envie-o com a extensão ${fileExtension}` : ''
    }.`,
  );

export const contentUnreadable = (file: string, content: OtherContent) =>
  makeFileProblem(
    'UNREADABLE_CONTENT',
    file,
    `O conteúdo de "${file}" é ${content}, e não uma tabela que possa ser lida. Exporte-o como .csv ou .xlsx.`,
  );

export const workbookEncrypted = (file: string) =>
  makeFileProblem('WORKBOOK_ENCRYPTED', file, `A planilha "${file}" é protegida por senha. Envie-a sem senha.`);

export const workbookEmpty = (file: string) =>
  makeFileProblem('NO_ROWS', file, `A planilha "${file}" não tem nenhuma linha de dados.`);

/** Makes the error for a workbook without a sheet of the name that a person gave. */
export const sheetUnknown = (file: string, sheet = '') =>
  makeFileProblem('SHEET_UNKNOWN', file, `A planilha "${file}" não tem nenhuma aba chamada "${sheet}".`);

export const workbookTooLarge = (file: string, smallerFormat: '.csv' | '.xlsx' = '.csv') =>
  makeFileProblem(
    'WORKBOOK_TOO_LARGE',
    file,
    `A planilha "${file}" é grande demais para ser convertida. Salve-a como ${smallerFormat} e envie novamente.`,
  );

/** The packed files that are unpacked for a load. */
type PackedFormat = 'ZIP' | 'GZIP';

export const packedFileDamaged = (format: PackedFormat, file: string) =>
  makeFileProblem(
    `${format}_CORRUPT`,
    file,
    `O arquivo "${file}" está corrompido ou incompleto e não pôde ser descompactado.`,
  );

export const unpackedTooLarge = (format: PackedFormat, file: string) =>
  makeFileProblem(
    `${format}_TOO_LARGE`,
    file,
    `O conteúdo de "${file}" passa de ${format === 'ZIP' ? 1 : 5} GiB depois de descompactado.`,
  );

export const unpackedOverRatio = (format: PackedFormat, file: string) =>
  makeFileProblem(
    `${format}_RATIO`,
    file,
    `O conteúdo de "${file}" é grande demais para o tamanho do arquivo e foi recusado.`,
  );

export const archiveEncrypted = (file: string) =>
  makeFileProblem('ZIP_ENCRYPTED', file, `O arquivo "${file}" é protegido por senha. Envie-o sem senha.`);

export const archiveNested = (file: string) =>
  makeFileProblem('ZIP_NESTED', file, `O arquivo "${file}" contém outro .zip. Envie os arquivos em um único nível.`);

export const archiveWithoutFiles = (file: string) =>
  makeFileProblem('ZIP_NO_FILES', file, `O arquivo "${file}" não contém nenhum .csv, .xlsx ou .xls.`);

export const archiveOfTooManyFiles = (file: string, limit: number) =>
  makeFileProblem('ZIP_TOO_MANY_FILES', file, `O arquivo "${file}" contém mais de ${limit} arquivos.`);

export const archiveWithUnsafeName = (file: string) =>
  makeFileProblem('ZIP_UNSAFE_NAME', file, `O arquivo "${file}" contém um caminho inválido ("..") e foi recusado.`);

export const archiveMethodUnknown = (file: string) =>
  makeFileProblem(
    'ZIP_METHOD',
    file,
    `O arquivo "${file}" usa uma compressão que não é aceita. Compacte-o como .zip comum.`,
  );

export const fileWithoutRecords = (file: string) =>
  makeFileProblem('NO_ROWS', file, `O arquivo "${file}" não tem nenhuma linha de dados.`);

export const fileWithoutColumns = (file: string) =>
  makeFileProblem('NO_COLUMNS', file, `O arquivo "${file}" não tem nenhuma coluna.`);

/** The code and sentence for each fault of a JSON file. `at` is the location, a clause without full stop. */
const JSON_FAULTS: Record<JsonFault, [code: string, sentence: (at: string, form: JsonForm, member: string) => string]> =
  {
    malformed: ['JSON_MALFORMED', (at) => `não é JSON válido: há um erro de sintaxe ${at}`],
    truncated: ['JSON_MALFORMED', (at) => `está incompleto: o JSON termina ${at}`],
    trailing_comma: ['JSON_MALFORMED', (at) => `não é JSON válido: há uma vírgula a mais ${at}`],
    more_after_end: ['JSON_MALFORMED', () => 'não é JSON válido: há conteúdo depois do fim da lista'],
    not_object: [
      'JSON_NOT_OBJECT',
      (at, jsonForm) =>
        `deve ter um objeto ${jsonForm === 'lines' ? 'em cada linha' : 'em cada item da lista'}, mas há outro valor ${at}`,
    ],
    not_array: [
      'JSON_NOT_ARRAY',
      () => 'deve conter uma lista de objetos. Se cada linha é um objeto, envie-o com a extensão .ndjson',
    ],
    duplicate_member: ['JSON_DUPLICATE_MEMBER', (at, _, member) => `repete o campo "${member}" ${at}`],
    too_deep: ['JSON_TOO_DEEP', (at) => `tem listas ou objetos aninhados demais ${at}`],
    too_long: ['RECORD_TOO_LARGE', (at) => `tem um objeto de mais de 16 MiB ${at}`],
    too_many_members: [
      'TOO_MANY_COLUMNS',
      (at) => `tem mais de ${MAX_COLUMNS} campos diferentes, a partir de um ${at}`,
    ],
    long_name: ['JSON_NAME_TOO_LONG', (at) => `tem um campo de nome longo demais ${at}`],
    nul: ['NUL_BYTE', (at) => `contém um caractere nulo, que não é texto válido, ${at}`],
    not_utf8: ['UNREADABLE_BYTES', (at) => `não pôde ser lido como texto Unicode: há bytes inválidos ${at}`],
  };

/** Converts the fault of a JSON file to a problem. For an array, `line` counts its items. */
export function toJsonProblem(file: string, jsonForm: JsonForm, { fault, line, memberName }: JsonProblem): JobProblem {
  const [code, makeSentence] = JSON_FAULTS[fault];
  const at = jsonForm === 'lines' ? `na linha ${line}` : `no item ${line} da lista`;
  const message = `O arquivo "${file}" ${makeSentence(at, jsonForm, memberName ?? '')}.`;
  return new JobProblem({ code, message, file, line, ...(memberName !== undefined && { column: memberName }) });
}

/** Makes the error for files of records whose texts together are too long; `file` is the one that was being converted. */
export const recordsTooLarge = (format: 'JSON' | 'PARQUET', file: string) =>
  makeFileProblem(
    `${format}_TOO_LARGE`,
    file,
    `Com "${file}", o conteúdo dos arquivos passa de 10 GiB depois de convertido.`,
  );

/** The code and sentence for each fault of a Parquet file. `inColumn` is a phrase that names the column, where there is one. */
const PARQUET_FAULTS: Record<ParquetFault, [code: string, sentence: (inColumn: string, detail: string) => string]> = {
  not_parquet: ['PARQUET_UNREADABLE', () => 'não é um arquivo Parquet'],
  damaged: ['PARQUET_UNREADABLE', (inColumn) => `está corrompido ou incompleto e não pôde ser lido${inColumn}`],
  encrypted: ['PARQUET_ENCRYPTED', () => 'é protegido por criptografia. Envie-o sem ela'],
  codec: [
    'PARQUET_CODEC',
    (inColumn, codec) =>
      `usa uma compressão que não é aceita${codec ? ` (${codec})` : ''}${inColumn}. Use Snappy, gzip, Zstandard, Brotli ou LZ4`,
  ],
  encoding: [
    'PARQUET_ENCODING',
    (inColumn, encoding) => `usa uma codificação que não é aceita${encoding ? ` (${encoding})` : ''}${inColumn}`,
  ],
  binary: [
    'PARQUET_BINARY',
    (inColumn) => `tem bytes que não são declarados como texto${inColumn}. Converta-os em texto`,
  ],
  footer_too_large: ['PARQUET_TOO_LARGE', () => 'tem um rodapé grande demais. Grave-o com menos grupos de linhas'],
  page_too_large: [
    'PARQUET_TOO_LARGE',
    (inColumn) => `tem uma página grande demais${inColumn}. Grave-o com páginas de até 16 MiB`,
  ],
  row_too_long: ['RECORD_TOO_LARGE', (inColumn) => `tem uma linha grande demais${inColumn}`],
  no_columns: ['NO_COLUMNS', () => 'não tem nenhuma coluna'],
  too_many_columns: ['TOO_MANY_COLUMNS', () => `tem colunas demais; o máximo é ${MAX_COLUMNS}`],
  nul: ['NUL_BYTE', (inColumn) => `contém um caractere nulo, que não é texto válido${inColumn}`],
  not_utf8: ['UNREADABLE_BYTES', (inColumn) => `tem um texto que não é UTF-8 válido${inColumn}`],
};

/** Converts the fault of a Parquet file to a problem. */
export function toParquetProblem(file: string, { fault, column, detail }: ParquetProblem): JobProblem {
  const [code, makeSentence] = PARQUET_FAULTS[fault];
  const inColumn = column === undefined ? '' : ` na coluna "${column}"`;
  const message = `O arquivo "${file}" ${makeSentence(inColumn, detail ?? '')}.`;
  return new JobProblem({ code, message, file, ...(column !== undefined && { column }) });
}
