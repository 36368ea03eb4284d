import { defineFailure } from '../../../kernel/failure.ts';

export const questionNotFound = defineFailure('verified_question.not_found', {
  kind: 'missing',
  detail: { message: 'There is no such verified question.' },
  says: { console: 'VERIFIED_QUESTION_NOT_FOUND' },
});

export const questionDuplicate = defineFailure('verified_question.duplicate', {
  kind: 'conflict',
  describes: 'The same verified question already exists; case, accents and punctuation make no difference.',
  detail: (question: string) => ({ question }),
  says: { console: 'VERIFIED_QUESTION_DUPLICATE' },
});

export const questionArchived = defineFailure('verified_question.archived', {
  kind: 'conflict',
  detail: {
    message: 'The verified question is archived. To restore it, send `status: verified` with the change.',
  },
  says: { console: 'VERIFIED_QUESTION_ARCHIVED' },
});

export const tooManyQuestions = defineFailure('verified_question.too_many', {
  kind: 'conflict',
  describes: 'The company has the maximum number of verified questions.',
  detail: (limit: number) => ({
    message: `A company can have at most ${limit} verified questions. Archive one first.`,
    limit,
  }),
  says: { console: 'VERIFIED_QUESTION_LIMIT' },
});
