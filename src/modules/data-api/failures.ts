import { defineFailure, defineNotFoundFailure, defineTakenFailure, invalidInput } from '../../kernel/failure.ts';

export const endpointNotFound = defineNotFoundFailure('viz_api_endpoint', { message: 'There is no such endpoint.' });

export const endpointSlugTaken = defineTakenFailure('viz_api_endpoint', 'slug', {
  message: 'Another endpoint has this slug.',
  detail: { field: 'slug' },
});

/** Makes the failure for a visualization with a parameter `format`, which is also the name of a parameter of the query. */
export const makeFormatConflictFailure = () =>
  invalidInput([
    {
      field: 'visualization_id',
      message: 'has a parameter named "format", a name that the Data API needs for the format of the answer',
    },
  ]);

export const jobNotFound = defineNotFoundFailure('data_job', {
  message: 'There is no such job. Jobs and their results are deleted after a day.',
});

export const tooManyJobs = defineFailure('data_job.too_many', 'conflict', {
  message: 'At most 20 jobs of a company can be unfinished at once. Try again later.',
  organization: 'TooManyJobs',
});
