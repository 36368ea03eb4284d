import { makeGuards } from '../guard.ts';

const VERIFIED_QUESTION_TESTS = ['test/knowledge/questions/verified.console.test.ts'];
const RECHECK_TESTS = ['test/knowledge/questions/rechecks.test.ts'];
const ASKED_QUESTION_TESTS = ['test/knowledge/ask/question-history.console.test.ts'];
const ASK_TESTS = ['test/knowledge/ask/ask.console.test.ts'];
const OUTBOX_TESTS = ['test/outbox/outbox.test.ts'];

/** Guards of verified questions, and of the messages that have these checked again. */
export const QUESTION_GUARDS = [
  ...makeGuards('src/modules/knowledge/questions/store.ts', VERIFIED_QUESTION_TESTS, [
    { in: 'insertQuestion', text: 'hasQuotaLeft(row.companyId)', without: 'sql`true`', title: 'has a thousand' },
    {
      in: 'replaceQuestion',
      text: 'eq(questions.version, row.version - 1),',
      tests: ['test/contract/updates.test.ts'],
      title: 'verified-questions',
    },
    { in: 'replaceQuestion', text: 'isRestored ? hasQuotaLeft(companyId) : undefined,', title: 'has a thousand' },
    {
      in: 'recordCheck',
      text: ', eq(questions.version, row.version)',
      tests: RECHECK_TESTS,
      title: 'changed or archived meanwhile',
    },
  ]),
  ...makeGuards('src/modules/knowledge/ask/store.ts', ASKED_QUESTION_TESTS, [
    { in: 'insertAskedQuestion', text: ', isBelowLimit)', without: ', sql`true`)', title: 'limited per minute' },
    {
      in: 'deleteOldestQuestions',
      text: 'lte(asked.number, sql`${makeLastNumberSql(companyId)} - ${maxKeptQuestions}`),',
      title: 'last ten thousand',
    },
    { in: 'deleteQuestionsBefore', text: '.where(lt(asked.askedAt, cutoff))', title: 'after 90 days' },
    {
      in: 'deleteQuestionsBefore',
      text: 'inArray(',
      without: '((id, ids) => sql`${id} not in ${ids}`)(',
      title: 'after 90 days',
    },
    { in: 'markAccepted', text: ', HAS_CHANGED_ROWS', title: 'only if that one was written' },
  ]),
  ...makeGuards('src/modules/knowledge/ask/answer.ts', ASK_TESTS, [
    {
      in: 'validateQuery',
      text: "if (!mayReadTables(ctx, prepared.tables)) return { kind: 'refusal', reason: 'not_readable' };",
      title: 'no values of tables',
    },
  ]),
  ...makeGuards('src/modules/knowledge/metrics/dimension-values.ts', ASK_TESTS, [
    { in: 'sampleValues', text: ' && mayReadTables(ctx, sample.tables)', title: 'no values of tables' },
  ]),
  ...makeGuards('src/modules/outbox/store.ts', OUTBOX_TESTS, [
    {
      in: 'insertRowAfterChange',
      text: 'HAS_CHANGED_ROWS, ',
      without: 'sql`true`, ',
      title: 'is stored once if the change is retried because a concurrent change came first',
    },
    { in: 'insertRowAfterChange', text: ', condition)', without: ')', title: 'has no verified question' },
    { in: 'claimDueMessages', text: 'lte(outbox.dueAt, now), ', title: 'stored before the table changes' },
    {
      in: 'claimDueMessages',
      text: '.where(inArray(outbox.id, dueMessages))',
      title: 'stored before the table changes',
    },
  ]),
  ...makeGuards('src/modules/managed-tables/changes.ts', OUTBOX_TESTS, [
    { in: 'runShapeChange', text: '        await announcement;\n', title: 'stored before the table changes' },
  ]),
  ...makeGuards('drizzle/0024_verify-questions-and-keep-messages.sql', VERIFIED_QUESTION_TESTS, [
    {
      text: 'UNIQUE INDEX `knowledge_verified_questions_living_key`',
      without: 'INDEX `knowledge_verified_questions_living_key`',
      title: 'created first',
    },
  ]),
];
