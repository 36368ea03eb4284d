import { defineFailure, type FieldProblem, invalid } from '../../kernel/failure.ts';

export const tableNotFound = defineFailure('managed_table.not_found', {
  kind: 'missing',
  detail: { message: 'There is no such table.' },
  says: { 'managed-tables': { message: 'Tabela não encontrada.' } },
});

export const rowNotFound = defineFailure('managed_table.row_not_found', {
  kind: 'missing',
  detail: { message: 'There is no such row.' },
  says: { 'managed-tables': { message: 'Linha não encontrada.' } },
});

export const tableNameTaken = defineFailure('managed_table.duplicate_name', {
  kind: 'invalid',
  describes: 'Another table has this name.',
  detail: (displayName: string) => ({
    field: 'display_name',
    display_name: displayName,
  }),
  says: {
    'managed-tables': {
      status: 400,
      code: 'MANAGED_TABLE_DUPLICATE_NAME',
      message: 'Já existe uma tabela ativa com este nome.',
    },
  },
});

/** A deleted table is to be restored, and another has its name. */
export const restoredNameTaken = defineFailure('managed_table.restored_name_taken', {
  kind: 'conflict',
  detail: { message: 'Another table has the name of the deleted one. Rename that, then restore this one.' },
  says: {
    'managed-tables': {
      code: 'MANAGED_TABLE_DUPLICATE_NAME',
      message: 'Outra tabela ativa já tem o nome da tabela excluída.',
    },
  },
});

/** An upload job uses the table, so it cannot be emptied. */
export const truncateLocked = defineFailure('managed_table.truncate_locked', {
  kind: 'conflict',
  detail: { message: 'The table cannot be emptied while files are loaded into it.' },
  says: {
    'managed-tables': {
      code: 'MANAGED_TABLE_TRUNCATE_LOCKED',
      message: 'A tabela não pode ser esvaziada enquanto há uma carga de arquivos em andamento.',
    },
  },
});

/** An upload job uses the table, so it can be neither deleted, renamed nor changed. */
export const tableLocked = defineFailure('managed_table.locked', {
  kind: 'conflict',
  detail: { message: 'The table cannot be changed or deleted while files are loaded into it.' },
  says: {
    'managed-tables': {
      code: 'MANAGED_TABLE_LOCKED',
      message: 'A tabela não pode ser alterada nem excluída enquanto há uma carga de arquivos em andamento.',
    },
  },
});

/** The values of a row are larger than a row of Postgres can be. */
export const rowNotStorable = defineFailure('managed_table.row_too_big', {
  kind: 'invalid',
  detail: { message: 'The row is too large to be stored.' },
  says: { 'managed-tables': { message: 'A linha é grande demais para ser armazenada.' } },
});

/** The values of a row are larger than an answer may be. */
export const rowTooLargeToReturn = defineFailure('managed_table.row_too_large', {
  kind: 'too_large',
  describes: 'The values of this row are too large for one answer. List it by its `id`, with some of its `fields`.',
  detail: (bytes: number, limit: number) => ({
    bytes,
    limit_bytes: limit,
  }),
  says: {
    'managed-tables': {
      message:
        'Os valores desta linha são grandes demais para uma única resposta. Liste-a pelo id, com parte das colunas.',
    },
  },
});

/** Rows with large values are written one insert at a time. */
export const tooManyLargeRows = defineFailure('managed_table.too_many_large_rows', {
  kind: 'unavailable',
  detail: { message: 'Too many large rows are being written at the moment.', retryAfter: 5 },
  says: {
    'managed-tables': { message: 'Há muitas linhas grandes sendo gravadas no momento. Tente novamente em instantes.' },
  },
});

/** The values of the page are larger than an answer may be. */
export const pageTooLarge = defineFailure('managed_table.page_too_large', {
  kind: 'too_large',
  describes: 'The values of this page are too large for one answer. Ask for fewer rows.',
  detail: (bytes: number, limit: number) => ({
    bytes,
    limit_bytes: limit,
  }),
  says: {
    'managed-tables': {
      message: 'Os valores desta página são grandes demais para uma única resposta. Peça menos linhas por página.',
    },
  },
});

/** Rows were looked for longer than people's own SQL may run. */
export const selectionTooSlow = defineFailure('managed_table.selection_too_slow', {
  kind: 'invalid',
  detail: {
    message: 'Looking for these rows takes too long. Use filters that an index answers, or that leave fewer rows.',
  },
  says: {
    'managed-tables': {
      code: 'MANAGED_TABLE_QUERY_TIMEOUT',
      message: 'A busca por estas linhas demora demais. Use filtros mais seletivos ou crie um índice.',
    },
  },
});

/** As many exports of the company run as may run at once. */
export const tooManyExports = defineFailure('managed_table.too_many_exports', {
  kind: 'too_many',
  detail: {
    message: 'Other exports of your company are running.',
    retryAfter: 30,
  },
  says: {
    'managed-tables': { message: 'Outras exportações da sua empresa estão em andamento.' },
  },
});

/** The format of an export cannot hold so many rows. */
export const tooManyRows = defineFailure('managed_table.too_many_rows', {
  kind: 'too_large',
  describes: 'The format cannot hold so many rows. Ask for fewer, or for another format.',
  detail: (rows: number, limit: number) => ({ rows, limit }),
  says: {
    'managed-tables': {
      message: 'O formato não comporta tantas linhas. Use filtros ou peça outro formato.',
    },
  },
});

/** Other transactions lock the table for longer than a request for its rows waits, or the work takes too long. */
export const tableBusy = defineFailure('managed_table.busy', {
  kind: 'unavailable',
  detail: { message: 'Others are using the table. Try again in a moment.', retryAfter: 5 },
  says: { 'managed-tables': { message: 'A tabela está em uso por outra operação. Tente novamente em instantes.' } },
});

/** The same for a change of the table itself, of which nothing was done. */
export const tableInUse = defineFailure('managed_table.in_use', {
  kind: 'conflict',
  detail: {
    message: 'Others are using the table, or the change takes too long. Nothing was changed.',
    retryAfter: 5,
  },
  says: {
    'managed-tables': {
      code: 'MANAGED_TABLE_BUSY',
      message: 'A tabela está em uso por outra operação, ou a alteração demora demais. Nada foi alterado.',
    },
  },
});

/** The most wrong values of a list of rows that a failure names. */
export const MAX_ROW_PROBLEMS = 100;

/** Values that do not fit the table: at most `MAX_ROW_PROBLEMS` problems, each with its row, counted from 0. */
export const valuesDoNotFit = (problems: FieldProblem[]) =>
  invalid(problems, 'Some values do not fit the columns of the table; nothing was written.');

export const badSort = (message: string) => invalid([{ field: 'sort_by', message }]);

/** A cursor that was changed, or is of another table, company, selection or order. */
export const badCursor = () =>
  invalid([
    {
      field: 'cursor',
      message: 'must be the next_cursor of a page of this table, with the same filters, search and sort_by',
    },
  ]);

/** A page ends at a value that is too long to go on from. */
export const keyTooLong = (column: string, bytes: number) =>
  invalid([
    {
      field: 'sort_by',
      message: `"${column}" has texts of more than ${bytes} bytes, too long for a cursor: sort by another column`,
    },
  ]);

export const indexNotFound = defineFailure('managed_table.index_not_found', {
  kind: 'missing',
  detail: { message: 'There is no such index.' },
  says: { 'managed-tables': { message: 'Índice não encontrado.' } },
});

export const tooManyIndexes = defineFailure('managed_table.too_many_indexes', {
  kind: 'conflict',
  describes: 'The table has as many indexes as it can have.',
  detail: (limit: number) => ({ limit }),
  says: {
    'managed-tables': {
      code: 'MANAGED_TABLE_TOO_MANY_INDEXES',
      message: 'A tabela já tem o número máximo de índices.',
    },
  },
});

/**
 * A unique index of the table forbids a row. `value` is Postgres's text of the values, in the order of the columns; null for
 * somebody who may not read rows.
 */
export const duplicateValue = defineFailure('managed_table.duplicate_value', {
  kind: 'conflict',
  describes: 'Another row has this value, and an index of the table says that it is unique.',
  detail: (columns: string[], value: string | null) => ({ columns, value }),
  says: {
    'managed-tables': {
      code: 'MANAGED_TABLE_DUPLICATE_VALUE',
      message: 'Já existe uma linha com este valor, e um índice da tabela exige que ele seja único.',
    },
  },
});

export const unknownColumns = (names: string[]) =>
  invalid(names.map((name) => ({ field: 'columns', message: `"${name}" is not a column of the table` })));

/** A unique index cannot be built: there are several rows of one value, which is null for somebody who may not read rows. */
export const duplicatesForIndex = (columns: string[], value: string | null) =>
  invalid([
    {
      field: 'columns',
      message: `several rows have the same "${columns.join('", "')}"${value === null ? '' : `: ${value}`}`,
    },
  ]);

/** A value that no index can hold: of a row that is written, counted from 0, or of one that is there, with its id. */
export const tooLongForIndex = ({
  field,
  column,
  row,
  id,
}: {
  field: string;
  column: string;
  row?: number;
  id?: string;
}) =>
  invalid([
    {
      ...(row !== undefined && { row }),
      field,
      message: `"${column}" is too long for an index${id === undefined ? '' : `, in the row ${id}`}`,
    },
  ]);

/** The wanted columns cannot be applied; the table is unchanged. */
export const columnsRefused = (problems: FieldProblem[]) =>
  invalid(problems, 'The columns cannot be changed as asked; the table was left as it was.');
