import { defineFailure, defineNotFoundFailure, type FieldProblem, invalidInput } from '../../../kernel/failure.ts';

/** The accepted file extensions. */
export const ACCEPTED_FILE_TYPES = ['.docx', '.xlsx', '.csv', '.tsv', '.txt', '.md'] as const;

/** There is no such job; also thrown for the id of a job whose type the route does not handle. */
export const jobNotFound = defineNotFoundFailure('knowledge_job', {
  message: 'There is no such job.',
  console: 'JOB_NOT_FOUND',
});

export const jobEnded = defineFailure('knowledge_job.ended', 'conflict', {
  message: 'The job has ended.',
  detail: (status: string) => ({ message: `The job has ended: it is ${status}.`, status }),
  console: 'JOB_ENDED',
});

/** Another job of the type is running. @param jobId the id of the running job, where that is known */
export const jobRunning = defineFailure('knowledge_job.running', 'conflict', {
  message: 'Another job of this type is running. Wait until it ends, or cancel it.',
  detail: (jobId?: string) => ({ ...(jobId !== undefined && { job_id: jobId }) }),
  console: 'JOB_RUNNING',
});

/** Makes the failure for missing prerequisites of a generation: each problem's field names one. */
export const makePrerequisiteFailure = (...problems: FieldProblem[]) =>
  invalidInput(problems, 'Something that the generation needs is missing.');

/** Returns the failure for a problem with the file, reported for the field `file`. */
export const makeFileFailure = (message: string) => invalidInput([{ field: 'file', message }]);

/** The file is larger than the route accepts. @param limit the maximum size in bytes */
export const fileTooLarge = defineFailure('knowledge_file.too_large', 'too_large', {
  message: 'The file is larger than this route accepts.',
  detail: (limit: number) => ({ message: `The file is larger than ${limit} bytes.`, limit }),
});

/** Too many files are being read in this isolate. */
export const tooManyFiles = defineFailure('knowledge_file.too_many', 'unavailable', {
  message: 'Too many files are being read at the moment. Try again in a few seconds.',
  detail: { retryAfter: 5 },
});

export const malformedForm = defineFailure('knowledge_form.malformed', 'malformed', {
  message: 'The form is incomplete or malformed.',
});
