import { Failure, invalid } from '../../../kernel/failure.ts';

/** What files may be called. */
export const ACCEPTED_FILE_TYPES = ['.docx', '.xlsx', '.csv', '.tsv', '.txt', '.md'] as const;

/** The company has no job under the id, or none of the type that the route is about. */
export const jobNotFound = () =>
  new Failure('missing', 'knowledge_job.not_found', { message: 'There is no such job.' });

/** What is over cannot be cancelled; `status` is how it ended. */
export const jobEnded = (status: string) =>
  new Failure('conflict', 'knowledge_job.ended', { message: `The job has ended: it is ${status}.`, status });

/** One generation of concepts, and one of ontology, at a time. */
export const jobRunning = (jobId: string | undefined) =>
  new Failure('conflict', 'knowledge_job.running', {
    message: 'Another generation is under way. Wait for its end, or cancel it.',
    ...(jobId !== undefined && { job_id: jobId }),
  });

/** What a generation needs is not there; `field` says what. */
export const prerequisiteMissing = (field: string, message: string) =>
  invalid([{ field, message }], 'Something that the generation needs is missing.');

/** The file that was sent cannot be read, or is none. */
export const badFile = (message: string) => invalid([{ field: 'file', message }]);

/** `limit` in bytes. */
export const fileTooLarge = (limit: number) =>
  new Failure('too_large', 'request.too_large', { message: `The file is larger than ${limit} bytes.`, limit });

/** The body is no whole `multipart/form-data`. */
export const malformedForm = () =>
  new Failure('malformed', 'multipart.malformed', { message: 'The form is incomplete or malformed.' });
