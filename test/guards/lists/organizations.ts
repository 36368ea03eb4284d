import { guardsOf } from '../guard.ts';

const TESTS = ['test/organizations/end.test.ts'];
const PERSONAL_DATA_TESTS = ['test/organizations/people.test.ts'];
const MEANWHILE = { without: '', title: 'erasure begins meanwhile' };
const LATE = { title: 'late log records of it are discarded' };

/** When a company ends. */
export const ORGANIZATION_GUARDS = [
  ...guardsOf('src/modules/organizations/end/store.ts', TESTS, [
    {
      in: 'requestEnd',
      text: ' or(isNull(companies.deletesAt), gt(companies.deletesAt, deletesAt)),',
      without: '',
      title: 'is deleted once',
    },
    { in: 'requestEnd', text: ', isNotErased', ...MEANWHILE },
    { in: 'withdrawEnd', text: ' gt(companies.deletesAt, now),', without: '', title: 'its date has come' },
    { in: 'withdrawEnd', text: ', isNotErased', ...MEANWHILE },
    {
      in: 'countDeleted',
      text: ', isNull(companyErasures.completedAt)',
      without: '',
      title: 'erased once more',
    },
    {
      in: 'beginEnds',
      text: ' where ${lte(companies.deletesAt, now)}',
      without: ' where true',
      title: 'keeps all data',
    },
  ]),
  ...guardsOf('src/modules/organizations/end/people-store.ts', PERSONAL_DATA_TESTS, [
    { in: 'deleteInactive', text: ' eq(users.isActive, false),', without: '', title: 'activated meanwhile' },
    {
      in: 'replaceTexts',
      text: ', ...changed.map(({ column, before }) => sql`${column} = ${before}`)',
      without: '',
      title: 'what others write meanwhile',
    },
  ]),
  ...guardsOf('src/modules/companies/store.ts', TESTS, [
    { in: 'updateCompany', text: ', status && isNull(companies.deletesAt)', ...MEANWHILE },
  ]),
  ...guardsOf('src/objects/company-log.ts', PERSONAL_DATA_TESTS, [
    { text: 'redactForgotten(storage, unique)', without: 'unique', title: 'a queue hands over' },
  ]),
  ...guardsOf('src/logs/forgotten.ts', PERSONAL_DATA_TESTS, [
    { text: 'WHERE at >= ? AND digest', without: 'WHERE 0 <= ? AND digest', title: 'coming back' },
  ]),
  ...guardsOf('src/objects/company-log.ts', TESTS, [
    { text: 'this.#isErased = state.storage.kv.get(ERASED) === true;', without: 'this.#isErased = false;', ...LATE },
    {
      text: 'if (this.#isErased) return 0;\n    const { storage } = this.ctx;\n    const moved',
      without: 'const { storage } = this.ctx;\n    const moved',
      ...LATE,
    },
    {
      text: 'if (this.#isErased) return 0;\n    const { storage } = this.ctx;\n    const everything',
      without: 'const { storage } = this.ctx;\n    const everything',
      title: 'erased once more',
    },
    { text: 'if (this.#isErased) return;', without: '', ...LATE },
  ]),
];
