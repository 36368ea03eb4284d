import { defineFailure } from '../../kernel/failure.ts';

export const companyNotFound = defineFailure('company.not_found', {
  kind: 'missing',
  detail: { message: 'There is no company with this slug.', field: 'company_slug' },
  says: { console: 'COMPANY_NOT_FOUND', sharing: { code: 'NOT_FOUND', message: 'There is no such company.' } },
});

export const companySlugTaken = defineFailure('company.slug_taken', {
  kind: 'conflict',
  detail: { message: 'Another organization has this slug.', field: 'slug', reason: 'taken' },
  says: { organization: 'AlreadyExists' },
});

export const logoNotFound = defineFailure('company.logo_not_found', {
  kind: 'missing',
  detail: { message: 'There is no such logo.' },
  says: { sharing: 'NOT_FOUND' },
});

export const MAX_LOGO_BYTES = 256 * 1024;

export const logoTooLarge = defineFailure('company.logo_too_large', {
  kind: 'too_large',
  detail: { message: 'A logo has at most 256 KiB.', limit: MAX_LOGO_BYTES },
  says: { console: 'PAYLOAD_TOO_LARGE' },
});
