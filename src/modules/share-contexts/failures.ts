import { defineFailure, defineNotFound, defineTaken, invalid } from '../../kernel/failure.ts';

export const shareContextNotFound = defineNotFound('share_context');

export const shareContextSlugTaken = defineTaken('share_context', 'slug', {
  detail: { field: 'slug' },
  sharing: 'SLUG_DUPLICATE',
});

export const memberNotFound = defineNotFound('share_member', { message: 'There is no such member.' });

export const memberExists = defineFailure('share_member.duplicate', 'conflict', {
  message: 'The context has this member already.',
  sharing: 'MEMBER_DUPLICATE',
});

export const tooManyMembers = (limit: number) =>
  invalid([{ field: 'member_type', message: `a context has at most ${limit} members` }]);
