import { defineFailure, defineNotFoundFailure } from '../../../kernel/failure.ts';

export const questionNotFound = defineNotFoundFailure('verified_question');

export const questionDuplicate = defineFailure('verified_question.duplicate', 'conflict', {
  message: 'The same verified question already exists; case, accents and punctuation make no difference.',
  detail: (question: string) => ({ question }),
  console: 'VERIFIED_QUESTION_DUPLICATE',
});

export const questionArchived = defineFailure('verified_question.archived', 'conflict', {
  message: 'The verified question is archived. To restore it, send `status: verified` with the change.',
  console: 'VERIFIED_QUESTION_ARCHIVED',
});

export const tooManyQuestions = defineFailure('verified_question.too_many', 'conflict', {
  message: 'The company has the maximum number of verified questions.',
  detail: (limit: number) => ({
    message: `A company can have at most ${limit} verified questions. Archive one first.`,
    limit,
  }),
  console: 'VERIFIED_QUESTION_LIMIT',
});
