import { guardsOf } from '../guard.ts';

const VERIFIED = ['test/knowledge/questions/verified.console.test.ts'];
const RECHECKS = ['test/knowledge/questions/rechecks.test.ts'];
const OUTBOX = ['test/outbox/outbox.test.ts'];

/** Verified questions, and the messages that have them checked again. */
export const QUESTIONS = [
  ...guardsOf('src/modules/knowledge/questions/store.ts', VERIFIED, [
    { in: 'insertQuestion', text: 'isRoom(row.companyId)', without: 'sql`true`', title: 'once there are a thousand' },
    {
      in: 'replaceQuestion',
      text: 'eq(questions.version, row.version - 1),',
      without: '',
      tests: ['test/contract/updates.test.ts'],
      title: 'verified-questions',
    },
    {
      in: 'replaceQuestion',
      text: 'restores ? isRoom(companyId) : undefined,',
      without: '',
      title: 'once there are a thousand',
    },
    {
      in: 'recordCheck',
      text: ', eq(questions.version, row.version)',
      without: '',
      tests: RECHECKS,
      title: 'changed or archived meanwhile',
    },
  ]),
  ...guardsOf('src/modules/outbox/store.ts', OUTBOX, [
    { in: 'insertRowAfterChange', text: 'sql`changes() > 0`', without: 'sql`true`', title: 'another comes first' },
    { in: 'insertRowAfterChange', text: ', condition)', without: ')', title: 'nobody has a question' },
    { in: 'claimDue', text: '.where(lte(outbox.dueAt, now))', without: '', title: 'stored before the table changes' },
    { in: 'claimDue', text: '.where(inArray(outbox.id, due))', without: '', title: 'stored before the table changes' },
  ]),
  ...guardsOf('src/modules/managed-tables/changes.ts', OUTBOX, [
    {
      in: 'inShapeChange',
      text: '        await announced;\n',
      without: '',
      title: 'stored before the table changes',
    },
  ]),
  ...guardsOf('drizzle/0024_verify-questions-and-keep-messages.sql', VERIFIED, [
    {
      text: 'UNIQUE INDEX `knowledge_verified_questions_living_key`',
      without: 'INDEX `knowledge_verified_questions_living_key`',
      title: 'created first',
    },
  ]),
];
