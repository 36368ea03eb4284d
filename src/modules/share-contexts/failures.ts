import { Failure, invalid } from '../../kernel/failure.ts';

export const shareContextNotFound = () =>
  new Failure('missing', 'share_context.not_found', { message: 'There is no such share context.' });

export const slugTaken = () =>
  new Failure('conflict', 'share_context.slug_taken', {
    message: 'Another share context has this slug.',
    field: 'slug',
  });

/** Somebody changed the grants at the same moment. */
export const changedMeanwhile = () =>
  new Failure('conflict', 'share_context.changed_meanwhile', { message: 'The context is being changed. Try again.' });

export const memberNotFound = () =>
  new Failure('missing', 'share_member.not_found', { message: 'There is no such member.' });

export const memberDuplicate = () =>
  new Failure('conflict', 'share_member.duplicate', { message: 'This is a member already.' });

export const tooManyMembers = (most: number) =>
  invalid([{ field: 'member_type', message: `a context has at most ${most} members` }]);
