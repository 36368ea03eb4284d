import { defineFailure, invalid } from '../../kernel/failure.ts';

export const endpointNotFound = defineFailure('viz_api_endpoint.not_found', {
  kind: 'missing',
  detail: { message: 'There is no such endpoint.' },
  says: { console: 'VIZ_API_ENDPOINT_NOT_FOUND', organization: 'NotFound' },
});

export const endpointSlugTaken = defineFailure('viz_api_endpoint.slug_taken', {
  kind: 'conflict',
  detail: { message: 'Another endpoint has this slug.', field: 'slug' },
  says: { console: 'VIZ_API_ENDPOINT_SLUG_DUPLICATE' },
});

/** @returns the failure of publishing a visualization whose parameter could not be told from the form of the answer */
export const formatTaken = () =>
  invalid([
    {
      field: 'visualization_id',
      message: 'has a parameter named "format", a name that the Data API needs for the format of the answer',
    },
  ]);

export const jobNotFound = defineFailure('data_job.not_found', {
  kind: 'missing',
  detail: { message: 'There is no such job. Jobs and their results are deleted after a day.' },
  says: { organization: 'NotFound' },
});

export const tooManyJobs = defineFailure('data_job.too_many', {
  kind: 'conflict',
  detail: { message: 'At most 20 jobs of a company can be unfinished at once. Try again later.' },
  says: { organization: 'TooManyJobs' },
});
