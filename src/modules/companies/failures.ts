import { Failure, invalid } from '../../kernel/failure.ts';

export const companyNotFound = () =>
  new Failure('missing', 'company.not_found', { message: 'There is no company of this slug.', field: 'company_slug' });

export const slugTaken = () =>
  new Failure('conflict', 'company.slug_taken', { message: 'This slug is taken.', field: 'slug', reason: 'taken' });

export const slugReserved = () => invalid([{ field: 'slug', message: 'is reserved; choose another' }]);
