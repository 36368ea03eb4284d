import { defineFailure, defineNotFoundFailure, defineTakenFailure, invalidInput } from '../../kernel/failure.ts';

export const shareContextNotFound = defineNotFoundFailure('share_context');

export const shareContextSlugTaken = defineTakenFailure('share_context', 'slug', {
  detail: { field: 'slug' },
  sharing: 'SLUG_DUPLICATE',
});

export const memberNotFound = defineNotFoundFailure('share_member', { message: 'There is no such member.' });

export const memberExists = defineFailure('share_member.duplicate', 'conflict', {
  message: 'The context has this member already.',
  sharing: 'MEMBER_DUPLICATE',
});

export const tooManyMembers = (limit: number) =>
  invalidInput([{ field: 'member_type', message: `a context has at most ${limit} members` }]);
