import { Failure, invalid } from '../../kernel/failure.ts';

export const MAX_FILES = 10;
/** Of all files of one call together. Before the Worker stands its zone, which lets 100 MB through on Free and Pro. */
export const MAX_UPLOAD_BYTES = 100 * 1024 * 1024;

export const jobNotFound = () => new Failure('missing', 'upload_job.not_found');

export const notWaitingConfirm = () => new Failure('invalid', 'upload_job.not_waiting_confirm');

export const jobEnded = () => new Failure('invalid', 'upload_job.ended');

export const notMultipart = () =>
  new Failure('malformed', 'upload.not_multipart', {
    message: 'Send the files as multipart/form-data, in the field "files".',
  });

/** The body is no whole form; `message` says why. */
export const malformedForm = (message: string) => new Failure('malformed', 'multipart.malformed', { message });

export const wrongMode = () => invalid([{ field: 'mode', message: 'must be append or replace' }]);

export const noFiles = () => new Failure('invalid', 'upload.no_files');

export const tooManyFiles = () => new Failure('invalid', 'upload.too_many_files', { limit: MAX_FILES });

export const tooLarge = () => new Failure('too_large', 'upload.too_large', { limit_bytes: MAX_UPLOAD_BYTES });

/** `file` is the name as it will be shown, `accepted` the extensions with their dots. */
export const wrongFileType = (file: string, accepted: readonly string[]) =>
  new Failure('invalid', 'upload.file_type', { file, accepted });
