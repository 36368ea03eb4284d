import { defineFailure, type FieldProblem, invalidInput } from '../../kernel/failure.ts';

export const tableNotFound = defineFailure('managed_table.not_found', 'missing', {
  message: 'There is no such table.',
  portuguese: 'Tabela não encontrada.',
});

export const rowNotFound = defineFailure('managed_table.row_not_found', 'missing', {
  message: 'There is no such row.',
  portuguese: 'Linha não encontrada.',
});

export const tableNameTaken = defineFailure('managed_table.duplicate_name', 'invalid', {
  message: 'Another table has this name.',
  portuguese: 'Já existe uma tabela ativa com este nome.',
  detail: (displayName: string) => ({ field: 'display_name', display_name: displayName }),
  'managed-tables': { status: 400, code: 'MANAGED_TABLE_DUPLICATE_NAME' },
});

/** A deleted table cannot be restored because another table has its name. */
export const restoredNameTaken = defineFailure('managed_table.restored_name_taken', 'conflict', {
  message: 'Another table has the name of the deleted one. Rename that, then restore this one.',
  portuguese: 'Outra tabela ativa já tem o nome da tabela excluída.',
  'managed-tables': 'MANAGED_TABLE_DUPLICATE_NAME',
});

/** An upload job uses the table, so it cannot be emptied. */
export const truncateLocked = defineFailure('managed_table.truncate_locked', 'conflict', {
  message: 'The table cannot be emptied while files are loaded into it.',
  portuguese: 'A tabela não pode ser esvaziada enquanto há uma carga de arquivos em andamento.',
  'managed-tables': 'MANAGED_TABLE_TRUNCATE_LOCKED',
});

/** An upload job uses the table, so it can be neither deleted, renamed nor changed. */
export const tableLocked = defineFailure('managed_table.locked', 'conflict', {
  message: 'The table cannot be changed or deleted while files are loaded into it.',
  portuguese: 'A tabela não pode ser alterada nem excluída enquanto há uma carga de arquivos em andamento.',
  'managed-tables': 'MANAGED_TABLE_LOCKED',
});

/** The values of a row are larger than a row of Postgres can be. */
export const rowNotStorable = defineFailure('managed_table.row_too_big', 'invalid', {
  message: 'The row is too large to be stored.',
  portuguese: 'A linha é grande demais para ser armazenada.',
});

/** The values of a row are larger than a response may be. */
export const rowTooLargeToReturn = defineFailure('managed_table.row_too_large', 'too_large', {
  message: 'The values of this row are too large for one answer. List it by its `id`, with some of its `fields`.',
  portuguese:
    'Os valores desta linha são grandes demais para uma única resposta. Liste-a pelo id, com parte das colunas.',
  detail: (bytes: number, limit: number) => ({ bytes, limit_bytes: limit }),
});

/** Too many inserts of rows with large values are waiting: they are written one at a time. */
export const tooManyLargeRows = defineFailure('managed_table.too_many_large_rows', 'unavailable', {
  message: 'Too many large rows are being written at the moment.',
  portuguese: 'Há muitas linhas grandes sendo gravadas no momento. Tente novamente em instantes.',
  detail: { retryAfter: 5 },
});

/** The values of the page are larger than a response may be. */
export const pageTooLarge = defineFailure('managed_table.page_too_large', 'too_large', {
  message: 'The values of this page are too large for one answer. Ask for fewer rows.',
  portuguese: 'Os valores desta página são grandes demais para uma única resposta. Peça menos linhas por página.',
  detail: (bytes: number, limit: number) => ({ bytes, limit_bytes: limit }),
});

/** Finding the rows takes longer than user SQL may run. */
export const selectionTooSlow = defineFailure('managed_table.selection_too_slow', 'invalid', {
  message: 'Looking for these rows takes too long. Use filters that an index answers, or that leave fewer rows.',
  portuguese: 'A busca por estas linhas demora demais. Use filtros mais seletivos ou crie um índice.',
  'managed-tables': 'MANAGED_TABLE_QUERY_TIMEOUT',
});

/** The company has reached its maximum number of concurrent exports. */
export const tooManyExports = defineFailure('managed_table.too_many_exports', 'too_many', {
  message: 'Other exports of your company are running.',
  portuguese: 'Outras exportações da sua empresa estão em andamento.',
  detail: { retryAfter: 30 },
});

/** The format of an export cannot hold so many rows. */
export const tooManyRows = defineFailure('managed_table.too_many_rows', 'too_large', {
  message: 'The format cannot hold so many rows. Ask for fewer, or for another format.',
  portuguese: 'O formato não comporta tantas linhas. Use filtros ou peça outro formato.',
  detail: (rowCount: number, limit: number) => ({ rows: rowCount, limit }),
});

/** Other transactions lock the table for longer than a request for its rows waits, or the operation takes too long. */
export const tableBusy = defineFailure('managed_table.busy', 'unavailable', {
  message: 'Others are using the table. Try again in a moment.',
  portuguese: 'A tabela está em uso por outra operação. Tente novamente em instantes.',
  detail: { retryAfter: 5 },
});

/** The table is busy, as in `tableBusy`, for a change of the table itself, which was not made. */
export const tableInUse = defineFailure('managed_table.in_use', 'conflict', {
  message: 'Others are using the table, or the change takes too long. Nothing was changed.',
  portuguese: 'A tabela está em uso por outra operação, ou a alteração demora demais. Nada foi alterado.',
  detail: { retryAfter: 5 },
  'managed-tables': 'MANAGED_TABLE_BUSY',
});

/** The maximum number of wrong values in a list of rows that a failure names. */
export const MAX_ROW_PROBLEMS = 100;

/** Returns the failure for values that do not fit the table: at most `MAX_ROW_PROBLEMS` problems, each with its 0-based row. */
export const makeValuesFailure = (problems: FieldProblem[]) =>
  invalidInput(problems, 'Some values do not fit the columns of the table; nothing was written.');

export const makeSortFailure = (message: string) => invalidInput([{ field: 'sort_by', message }]);

/** Returns the failure for a cursor that was changed, or is of another table, company, selection or order. */
export const makeCursorFailure = () =>
  invalidInput([
    {
      field: 'cursor',
      message: 'must be the next_cursor of a page of this table, with the same filters, search and sort_by',
    },
  ]);

/** Returns the failure for a page that ends at a value too long for a cursor. */
export const makeKeyTooLongFailure = (column: string, bytes: number) =>
  invalidInput([
    {
      field: 'sort_by',
      message: `"${column}" has texts of more than ${bytes} bytes, too long for a cursor: sort by another column`,
    },
  ]);

export const indexNotFound = defineFailure('managed_table.index_not_found', 'missing', {
  message: 'There is no such index.',
  portuguese: 'Índice não encontrado.',
});

export const tooManyIndexes = defineFailure('managed_table.too_many_indexes', 'conflict', {
  message: 'The table has as many indexes as it can have.',
  portuguese: 'A tabela já tem o número máximo de índices.',
  detail: (limit: number) => ({ limit }),
  'managed-tables': 'MANAGED_TABLE_TOO_MANY_INDEXES',
});

/** A unique index forbids a row. `value`: Postgres's text of the columns' values; null for a caller who may not read rows. */
export const duplicateValue = defineFailure('managed_table.duplicate_value', 'conflict', {
  message: 'Another row has this value, and an index of the table says that it is unique.',
  portuguese: 'Já existe uma linha com este valor, e um índice da tabela exige que ele seja único.',
  detail: (columns: string[], value: string | null) => ({ columns, value }),
  'managed-tables': 'MANAGED_TABLE_DUPLICATE_VALUE',
});

export const makeUnknownColumnsFailure = (names: string[]) =>
  invalidInput(names.map((name) => ({ field: 'columns', message: `"${name}" is not a column of the table` })));

/** Returns the failure when no unique index can be built, as rows share `value`: null for a caller who may not read rows. */
export const makeDuplicatesForIndexFailure = (columns: string[], value: string | null) =>
  invalidInput([
    {
      field: 'columns',
      message: `several rows have the same "${columns.join('", "')}"${value === null ? '' : `: ${value}`}`,
    },
  ]);

/**
 * Returns the failure for a value too long for an index: of a row to write (counted from 0), or of an existing row (with its
 * id).
 */
export const makeTooLongForIndexFailure = (value: { field: string; column: string; row?: number; id?: string }) => {
  const { field, column, row, id } = value;
  const message =
    id === undefined
      ? `"${column}" is too long for an index`
      : `"${column}" is too long for an index, in the row ${id}`;
  return invalidInput([{ ...(row !== undefined && { row }), field, message }]);
};

/** Returns the failure when the requested columns cannot be applied; the table is unchanged. */
export const makeColumnsRefusedFailure = (problems: FieldProblem[]) =>
  invalidInput(problems, 'The columns cannot be changed as asked; the table was left as it was.');
