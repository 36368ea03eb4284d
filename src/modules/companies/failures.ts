import { defineFailure, defineNotFoundFailure, defineTakenFailure } from '../../kernel/failure.ts';

export const companyNotFound = defineNotFoundFailure('company', {
  message: 'There is no company with this slug.',
  detail: { field: 'company_slug' },
  sharing: { message: 'There is no such company.' },
});

export const companySlugTaken = defineTakenFailure('company', 'slug', {
  message: 'Another organization has this slug.',
});

export const logoNotFound = defineFailure('company.logo_not_found', 'missing', { message: 'There is no such logo.' });

export const MAX_LOGO_BYTES = 256 * 1024;

export const logoTooLarge = defineFailure('company.logo_too_large', 'too_large', {
  message: 'A logo has at most 256 KiB.',
  detail: { limit: MAX_LOGO_BYTES },
});
