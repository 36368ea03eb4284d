import { defineFailure, invalid } from '../../kernel/failure.ts';

export const MAX_FILES = 10;
/** Of all files of one call together. Before the Worker stands its zone, which lets 100 MB through on Free and Pro. */
export const MAX_UPLOAD_BYTES = 100 * 1024 * 1024;

export const jobNotFound = defineFailure('upload_job.not_found', {
  kind: 'missing',
  detail: { message: 'There is no such upload job.' },
  says: { 'managed-tables': { message: 'Upload não encontrado.' } },
});

export const notWaitingConfirm = defineFailure('upload_job.not_waiting_confirm', {
  kind: 'invalid',
  detail: { message: 'The upload job is not waiting for its confirm.' },
  says: {
    'managed-tables': {
      status: 400,
      code: 'UPLOAD_JOB_NOT_WAITING_CONFIRM',
      message: 'Este upload não está aguardando confirmação.',
    },
  },
});

export const jobEnded = defineFailure('upload_job.ended', {
  kind: 'invalid',
  detail: { message: 'The upload job has ended.' },
  says: {
    'managed-tables': { status: 400, code: 'UPLOAD_JOB_ENDED', message: 'Este upload já foi encerrado.' },
  },
});

/** Why a load cannot be undone, in a word for programs and a sentence for people. */
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
  unique_index: 'Um índice único não aceita as linhas de antes junto com as que foram incluídas depois.',
} as const;

export type UndoRefusal = keyof typeof UNDO_REFUSALS;

export const notUndoable = defineFailure('upload_job.not_undoable', {
  kind: 'conflict',
  describes:
    'The load cannot be undone. `details.reason` says why: `not_done`, `already_undone`, `upsert`, `earlier_version`, `too_old`, `table_deleted`, `later_load`, `columns_changed`, `truncated` or `unique_index`.',
  detail: (reason: UndoRefusal) => ({ reason, explanation: UNDO_REFUSALS[reason] }),
  says: { 'managed-tables': { code: 'UPLOAD_JOB_NOT_UNDOABLE', message: 'Esta carga não pode ser desfeita.' } },
});

export const notMultipart = defineFailure('upload.not_multipart', {
  kind: 'malformed',
  detail: { message: 'Send the files as multipart/form-data, in the field "files".' },
  says: { 'managed-tables': { message: 'Envie os arquivos como multipart/form-data, no campo "files".' } },
});

/** The body is no whole form; `message` says why. */
export const malformedForm = defineFailure('upload.malformed_form', {
  kind: 'malformed',
  describes: 'The form is incomplete or malformed.',
  detail: (message: string) => ({ message }),
  says: { 'managed-tables': { message: 'O formulário enviado está incompleto ou malformado.' } },
});

export const wrongMode = () => invalid([{ field: 'mode', message: 'must be append, replace or upsert' }]);

export const noFiles = defineFailure('upload.no_files', {
  kind: 'invalid',
  detail: { message: 'No file was sent.' },
  says: {
    'managed-tables': {
      code: 'UPLOAD_NO_FILES',
      message: 'Nenhum arquivo foi enviado. Envie de 1 a 10 arquivos no campo "files".',
    },
  },
});

export const tooManyFiles = defineFailure('upload.too_many_files', {
  kind: 'invalid',
  detail: { message: 'Too many files were sent.', limit: MAX_FILES },
  says: {
    'managed-tables': { code: 'UPLOAD_TOO_MANY_FILES', message: 'São aceitos no máximo 10 arquivos por envio.' },
  },
});

export const tooLarge = defineFailure('upload.too_large', {
  kind: 'too_large',
  detail: { message: 'The files are too large together.', limit_bytes: MAX_UPLOAD_BYTES },
  says: {
    'managed-tables': { code: 'UPLOAD_TOO_LARGE', message: 'Os arquivos excedem o limite de 100 MB no total.' },
  },
});

/** `file` is the name as it will be shown, `accepted` the extensions with their dots. */
export const wrongFileType = defineFailure('upload.file_type', {
  kind: 'invalid',
  describes: 'Files of this type are not accepted.',
  detail: (file: string, accepted: readonly string[]) => ({
    file,
    accepted,
  }),
  says: { 'managed-tables': { code: 'UPLOAD_FILE_TYPE', message: 'O tipo de um dos arquivos não é aceito.' } },
});
