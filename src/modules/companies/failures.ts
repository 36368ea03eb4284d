import { defineFailure } from '../../kernel/failure.ts';

export const companyNotFound = defineFailure('company.not_found', {
  kind: 'missing',
  detail: { message: 'There is no company of this slug.', field: 'company_slug' },
  says: { console: 'COMPANY_NOT_FOUND', sharing: { code: 'NOT_FOUND', message: 'There is no such company.' } },
});

export const companySlugTaken = defineFailure('company.slug_taken', {
  kind: 'conflict',
  detail: { message: 'This slug is taken.', field: 'slug', reason: 'taken' },
  says: { organization: 'AlreadyExists' },
});
