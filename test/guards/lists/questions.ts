import { guardsOf } from '../guard.ts';

const VERIFIED_QUESTION_TESTS = ['test/knowledge/questions/verified.console.test.ts'];
const RECHECK_TESTS = ['test/knowledge/questions/rechecks.test.ts'];
const ASKED_QUESTION_TESTS = ['test/knowledge/ask/asked.console.test.ts'];
const ASK_TESTS = ['test/knowledge/ask/ask.console.test.ts'];
const OUTBOX_TESTS = ['test/outbox/outbox.test.ts'];

/** Verified questions, and the messages that have them checked again. */
export const QUESTION_GUARDS = [
  ...guardsOf('src/modules/knowledge/questions/store.ts', VERIFIED_QUESTION_TESTS, [
    { in: 'insertQuestion', text: 'hasRoom(row.companyId)', without: 'sql`true`', title: 'has a thousand' },
    {
      in: 'replaceQuestion',
      text: 'eq(questions.version, row.version - 1),',
      without: '',
      tests: ['test/contract/updates.test.ts'],
      title: 'verified-questions',
    },
    {
      in: 'replaceQuestion',
      text: 'restores ? hasRoom(companyId) : undefined,',
      without: '',
      title: 'has a thousand',
    },
    {
      in: 'recordCheck',
      text: ', eq(questions.version, row.version)',
      without: '',
      tests: RECHECK_TESTS,
      title: 'changed or archived meanwhile',
    },
  ]),
  ...guardsOf('src/modules/knowledge/ask/store.ts', ASKED_QUESTION_TESTS, [
    { in: 'insertAsked', text: ', isAllowed)', without: ', sql`true`)', title: 'limited per minute' },
    {
      in: 'deleteOldest',
      text: ', lte(asked.number, sql`${lastNumber(companyId)} - ${most}`)',
      without: '',
      title: 'last ten thousand',
    },
    { in: 'deleteBefore', text: '.where(lt(asked.askedAt, before))', without: '', title: 'after 90 days' },
    { in: 'deleteBefore', text: 'inArray(', without: 'notInArray(', title: 'after 90 days' },
    { in: 'markAccepted', text: ', afterChange', without: '', title: 'only if that one was written' },
  ]),
  ...guardsOf('src/modules/knowledge/ask/answer.ts', ASK_TESTS, [
    {
      in: 'validateQuery',
      text: "if (!mayRead(ctx, prepared.tables)) return { kind: 'refusal', why: 'not_readable' };",
      without: '',
      title: 'no values of tables',
    },
  ]),
  ...guardsOf('src/modules/knowledge/metrics/dimension-values.ts', ASK_TESTS, [
    { in: 'sampleValues', text: ' && mayRead(ctx, sample.tables)', without: '', title: 'no values of tables' },
  ]),
  ...guardsOf('src/modules/outbox/store.ts', OUTBOX_TESTS, [
    { in: 'insertRowAfterChange', text: 'afterChange, ', without: 'sql`true`, ', title: 'another one came first' },
    { in: 'insertRowAfterChange', text: ', condition)', without: ')', title: 'has no verified question' },
    { in: 'claimDue', text: 'lte(outbox.dueAt, now), ', without: '', title: 'stored before the table changes' },
    { in: 'claimDue', text: '.where(inArray(outbox.id, due))', without: '', title: 'stored before the table changes' },
  ]),
  ...guardsOf('src/modules/managed-tables/changes.ts', OUTBOX_TESTS, [
    {
      in: 'runShapeChange',
      text: '        await announced;\n',
      without: '',
      title: 'stored before the table changes',
    },
  ]),
  ...guardsOf('drizzle/0024_verify-questions-and-keep-messages.sql', VERIFIED_QUESTION_TESTS, [
    {
      text: 'UNIQUE INDEX `knowledge_verified_questions_living_key`',
      without: 'INDEX `knowledge_verified_questions_living_key`',
      title: 'created first',
    },
  ]),
];
