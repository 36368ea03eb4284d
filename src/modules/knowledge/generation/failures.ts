import { defineFailure, invalid } from '../../../kernel/failure.ts';

/** What the names of files must end in. */
export const ACCEPTED_FILE_TYPES = ['.docx', '.xlsx', '.csv', '.tsv', '.txt', '.md'] as const;

/** Also for a job of another type than the route's. */
export const jobNotFound = defineFailure('knowledge_job.not_found', {
  kind: 'missing',
  detail: { message: 'There is no such job.' },
  says: { console: 'JOB_NOT_FOUND' },
});

export const jobEnded = defineFailure('knowledge_job.ended', {
  kind: 'conflict',
  describes: 'The job has ended.',
  detail: (status: string) => ({ message: `The job has ended: it is ${status}.`, status }),
  says: { console: 'JOB_ENDED' },
});

/** @param jobId the job that is running, where that is known */
export const jobRunning = defineFailure('knowledge_job.running', {
  kind: 'conflict',
  describes: 'Another job of this type is running. Wait until it ends, or cancel it.',
  detail: (jobId?: string) => ({
    ...(jobId !== undefined && { job_id: jobId }),
  }),
  says: { console: 'JOB_RUNNING' },
});

/** @param field what is missing */
export const prerequisiteMissing = (field: string, message: string) =>
  invalid([{ field, message }], 'Something that the generation needs is missing.');

/** What is wrong with the file, as a problem of the field `file`. */
export const badFile = (message: string) => invalid([{ field: 'file', message }]);

/** @param limit in bytes */
export const fileTooLarge = defineFailure('knowledge_file.too_large', {
  kind: 'too_large',
  describes: 'The file is larger than this route accepts.',
  detail: (limit: number) => ({ message: `The file is larger than ${limit} bytes.`, limit }),
  says: { console: 'PAYLOAD_TOO_LARGE' },
});

/** Too many files are read in this isolate. */
export const tooManyFiles = defineFailure('knowledge_file.too_many', {
  kind: 'unavailable',
  detail: { message: 'Too many files are being read at the moment. Try again in a few seconds.', retryAfter: 5 },
  says: { console: 'SERVICE_UNAVAILABLE' },
});

export const malformedForm = defineFailure('knowledge_form.malformed', {
  kind: 'malformed',
  detail: { message: 'The form is incomplete or malformed.' },
  says: { console: 'BAD_REQUEST' },
});
