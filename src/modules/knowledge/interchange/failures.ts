import { defineFailure } from '../../../kernel/failure.ts';

export const importTooLarge = defineFailure('knowledge_import.too_large', 'too_large', {
  message: 'The document is larger than an import accepts.',
  detail: (limit: number) => ({ message: `The document is larger than ${limit} bytes.`, limit }),
});

/**
 * The document cannot be read in its format.
 * @param line the line from which the document could not be read, where that is known
 */
export const importUnreadable = defineFailure('knowledge_import.unreadable', 'invalid', {
  message: 'The document is not in the format that `Content-Type` says.',
  detail: (message: string, line?: number) => ({
    message: `The document cannot be read: ${message}`,
    ...(line !== undefined && { line }),
  }),
  console: 'IMPORT_UNREADABLE',
});

export const exportTooLarge = defineFailure('knowledge_export.too_large', 'conflict', {
  message: 'There is more active knowledge than fits into a document.',
  detail: (limit: number) => ({ message: `The document would be larger than ${limit} bytes.`, limit }),
  console: 'EXPORT_TOO_LARGE',
});
