import { defineFailure, invalid } from '../../kernel/failure.ts';

export const shareContextNotFound = defineFailure('share_context.not_found', {
  kind: 'missing',
  detail: { message: 'There is no such share context.' },
  says: { sharing: 'NOT_FOUND' },
});

export const shareContextSlugTaken = defineFailure('share_context.slug_taken', {
  kind: 'conflict',
  detail: { message: 'Another share context has this slug.', field: 'slug' },
  says: { sharing: 'SLUG_DUPLICATE' },
});

export const memberNotFound = defineFailure('share_member.not_found', {
  kind: 'missing',
  detail: { message: 'There is no such member.' },
  says: { sharing: 'NOT_FOUND' },
});

export const memberExists = defineFailure('share_member.duplicate', {
  kind: 'conflict',
  detail: { message: 'The context has this member already.' },
  says: { sharing: 'MEMBER_DUPLICATE' },
});

export const tooManyMembers = (limit: number) =>
  invalid([{ field: 'member_type', message: `a context has at most ${limit} members` }]);
