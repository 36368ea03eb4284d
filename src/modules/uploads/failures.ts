import { defineFailure, defineNotFoundFailure, invalidInput } from '../../kernel/failure.ts';

export const MAX_FILES = 10;
/** The maximum bytes of all files of one call: on its Free and Pro plans, Cloudflare rejects more than 100 MB before the Worker. */
export const MAX_UPLOAD_BYTES = 100 * 1024 * 1024;

export const jobNotFound = defineNotFoundFailure('upload_job', { portuguese: 'Upload não encontrado.' });

export const notWaitingConfirm = defineFailure('upload_job.not_waiting_confirm', 'invalid', {
  message: 'The upload job is not waiting for its confirm.',
  portuguese: 'Este upload não está aguardando confirmação.',
  'managed-tables': { status: 400, code: 'UPLOAD_JOB_NOT_WAITING_CONFIRM' },
});

export const jobEnded = defineFailure('upload_job.ended', 'invalid', {
  message: 'The upload job has ended.',
  portuguese: 'Este upload já foi encerrado.',
  'managed-tables': { status: 400, code: 'UPLOAD_JOB_ENDED' },
});

/** The reasons why a load cannot be undone, each with a sentence for people. */
const UNDO_REFUSALS = {
  not_done: 'A carga não foi concluída.',
  already_undone: 'A carga já foi desfeita.',
  upsert: 'Uma carga que atualiza linhas não pode ser desfeita.',
  earlier_version: 'A carga foi feita antes de ser possível desfazer cargas.',
  too_old: 'Já se passaram 30 dias desde a carga.',
  table_deleted: 'A tabela foi excluída.',
  later_load: 'Houve outra carga depois desta.',
  columns_changed: 'As colunas da tabela mudaram depois da carga.',
  truncated: 'A tabela foi esvaziada depois da carga.',
  column_filled: 'Uma coluna que a carga criou tem valores que não vieram dela.',
  values_do_not_fit: 'Uma coluna cujo tipo a carga ampliou tem valores que não cabem no tipo de antes.',
  unique_index: 'Um índice único não aceita as linhas de antes junto com as que foram incluídas depois.',
} as const;

export type UndoRefusal = keyof typeof UNDO_REFUSALS;

export const notUndoable = defineFailure('upload_job.not_undoable', 'conflict', {
  message:
    'The load cannot be undone. `details.reason` says why: `not_done`, `already_undone`, `upsert`, `earlier_version`, `too_old`, `table_deleted`, `later_load`, `columns_changed`, `truncated`, `column_filled`, `values_do_not_fit` or `unique_index`; `details.column` names the column that would lose values.',
  portuguese: 'Esta carga não pode ser desfeita.',
  detail: (reason: UndoRefusal, column?: string) => ({
    reason,
    explanation: UNDO_REFUSALS[reason],
    ...(column !== undefined && { column }),
  }),
  'managed-tables': 'UPLOAD_JOB_NOT_UNDOABLE',
});

export const notMultipart = defineFailure('upload.not_multipart', 'malformed', {
  message: 'Send the files as multipart/form-data, in the field "files".',
  portuguese: 'Envie os arquivos como multipart/form-data, no campo "files".',
});

/** The body is not a complete form; `message` says why. */
export const malformedForm = defineFailure('upload.malformed_form', 'malformed', {
  message: 'The form is incomplete or malformed.',
  portuguese: 'O formulário enviado está incompleto ou malformado.',
  detail: (message: string) => ({ message }),
});

export const wrongMode = () => invalidInput([{ field: 'mode', message: 'must be append, replace or upsert' }]);

export const wrongEvolve = () => invalidInput([{ field: 'evolve', message: 'must be none, add or widen' }]);

/** Makes the failure for a load that would give the table too many columns. */
export const tooManyTableColumns = (maxColumns: number) =>
  invalidInput([{ field: 'columns', message: `would be more than ${maxColumns} columns in the table` }]);

export const noFiles = defineFailure('upload.no_files', 'invalid', {
  message: 'No file was sent.',
  portuguese: 'Nenhum arquivo foi enviado. Envie de 1 a 10 arquivos no campo "files".',
  'managed-tables': 'UPLOAD_NO_FILES',
});

export const tooManyFiles = defineFailure('upload.too_many_files', 'invalid', {
  message: 'Too many files were sent.',
  portuguese: 'São aceitos no máximo 10 arquivos por envio.',
  detail: { limit: MAX_FILES },
  'managed-tables': 'UPLOAD_TOO_MANY_FILES',
});

export const tooLarge = defineFailure('upload.too_large', 'too_large', {
  message: 'The files are too large together.',
  portuguese: 'Os arquivos excedem o limite de 100 MB no total.',
  detail: { limit_bytes: MAX_UPLOAD_BYTES },
  'managed-tables': 'UPLOAD_TOO_LARGE',
});

/** The file has no accepted type. `file` is its displayed name, `accepted` the extensions with their dots. */
export const wrongFileType = defineFailure('upload.file_type', 'invalid', {
  message: 'Files of this type are not accepted.',
  portuguese: 'O tipo de um dos arquivos não é aceito.',
  detail: (file: string, accepted: readonly string[]) => ({ file, accepted }),
  'managed-tables': 'UPLOAD_FILE_TYPE',
});

export const uploadNotFound = defineNotFoundFailure('resumable_upload', { portuguese: 'Upload não encontrado.' });

/** The maximum size of a file of a resumable upload. Bytes. */
export const MAX_RESUMABLE_BYTES = 5 * 1024 ** 3;

export const resumableTooLarge = defineFailure('resumable_upload.too_large', 'too_large', {
  message: 'The file is larger than 5 GiB.',
  portuguese: 'O arquivo excede o limite de 5 GiB.',
  detail: { limit_bytes: MAX_RESUMABLE_BYTES },
  'managed-tables': 'UPLOAD_TOO_LARGE',
});

export const uploadBeyondLength = defineFailure('resumable_upload.beyond_length', 'too_large', {
  message: 'More bytes were sent than the upload has.',
  portuguese: 'Foram enviados mais bytes do que o upload tem.',
  detail: (length: number) => ({ length }),
  'managed-tables': 'UPLOAD_BEYOND_LENGTH',
});

export const offsetConflict = defineFailure('resumable_upload.offset', 'conflict', {
  message: 'The upload is at another offset. Ask for it with HEAD and go on there.',
  portuguese: 'O upload está em outra posição. Consulte-a com HEAD e continue dali.',
  detail: (offset: number) => ({ offset }),
  'managed-tables': 'UPLOAD_OFFSET_CONFLICT',
});

export const uploadLocked = defineFailure('resumable_upload.locked', 'conflict', {
  message: 'Another request is sending bytes of this upload. Try again in ten seconds.',
  portuguese: 'Outra requisição está enviando bytes deste upload. Tente novamente em dez segundos.',
  'managed-tables': { status: 423, code: 'UPLOAD_LOCKED' },
});

/** The bytes do not have the sent checksum; 460 is the tus protocol's status for this. */
export const checksumMismatch = defineFailure('resumable_upload.checksum', 'invalid', {
  message: 'The bytes do not have the checksum that was sent with them. None of them was kept.',
  portuguese: 'Os bytes não conferem com a soma de verificação enviada. Nenhum deles foi guardado.',
  'managed-tables': { status: 460, code: 'UPLOAD_CHECKSUM_MISMATCH' },
});

export const tooManyUnfinished = defineFailure('resumable_upload.too_many', 'too_many', {
  message: 'The company has too many uploads that are begun and not finished. Finish or delete one.',
  portuguese: 'A empresa tem uploads demais iniciados e não concluídos. Conclua ou exclua um deles.',
  detail: (limit: number) => ({ limit, retryAfter: 60 }),
});

/** The supported version of tus. */
export const TUS_VERSION = '1.0.0';

export const wrongTusVersion = defineFailure('resumable_upload.version', 'invalid', {
  message: 'Send the header Tus-Resumable: 1.0.0.',
  portuguese: 'Envie o cabeçalho Tus-Resumable: 1.0.0.',
  detail: { field: 'Tus-Resumable' },
  'managed-tables': { status: 412, code: 'TUS_VERSION_NOT_SUPPORTED' },
});

export const wrongUploadHeader = defineFailure('resumable_upload.header', 'malformed', {
  message: 'A header of the upload is missing or malformed.',
  portuguese: 'Um cabeçalho do upload está ausente ou malformado.',
  detail: (field: string, expectedFormat: string) => ({ field, expected: expectedFormat }),
  'managed-tables': 'UPLOAD_HEADER',
});

export const wrongUploadType = defineFailure('resumable_upload.media_type', 'malformed', {
  message: 'Send the bytes with Content-Type: application/offset+octet-stream.',
  portuguese: 'Envie os bytes com Content-Type: application/offset+octet-stream.',
  'managed-tables': { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' },
});
