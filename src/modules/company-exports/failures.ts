import { defineFailure, defineNotFoundFailure } from '../../kernel/failure.ts';

export const exportNotFound = defineNotFoundFailure('export', {
  message: 'There is no such export. Exports are deleted a day after they end.',
});

/** The archive of an export would be too large. Failures of exports are stored in their record, not thrown to a caller. */
export const archiveTooLarge = defineFailure('export.too_large', 'too_large', {
  message: 'The archive would be larger than 78 GiB.',
});

export const tableKeptChanging = defineFailure('export.table_kept_changing', 'conflict', {
  message: 'A table was changed again and again while it was read.',
  detail: (table: string) => ({ message: `The table ${table} was changed again and again while it was read.` }),
});
