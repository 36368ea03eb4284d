import { makeGuards } from '../guard.ts';

const COMPANY_END_TESTS = ['test/organizations/end.test.ts'];
const PERSONAL_DATA_TESTS = ['test/organizations/people.test.ts'];
const ERASURE_RACE_CASE = { without: '', title: 'erasure begins during the request' };
const LATE_RECORD_CASE = { title: 'late log records of it are discarded' };

/** Guards of the end of a company. */
export const ORGANIZATION_GUARDS = [
  ...makeGuards('src/modules/organizations/end/store.ts', COMPANY_END_TESTS, [
    {
      in: 'scheduleDeletion',
      text: ' or(isNull(companies.deletesAt), gt(companies.deletesAt, deletesAt)),',
      title: 'is deleted once',
    },
    { in: 'scheduleDeletion', text: ', isNotErased', ...ERASURE_RACE_CASE },
    { in: 'cancelDeletion', text: ' gt(companies.deletesAt, now),', title: 'its date has come' },
    { in: 'cancelDeletion', text: ', isNotErased', ...ERASURE_RACE_CASE },
    {
      in: 'addDeletedCount',
      text: ', isNull(companyErasures.completedAt)',
      title: 'is erased again to remove rows that were still being written during the first erasure',
    },
    {
      in: 'beginErasures',
      text: ' where ${lte(companies.deletesAt, now)}',
      without: ' where true',
      title: 'keeps all data',
    },
  ]),
  ...makeGuards('src/modules/organizations/end/person-erasure-store.ts', PERSONAL_DATA_TESTS, [
    { in: 'deleteInactiveUsers', text: ' eq(users.isActive, false),', title: 'activated meanwhile' },
    {
      in: 'replaceTexts',
      text: ', ...changedColumns.map(({ column, before }) => sql`${column} = ${before}`)',
      title: 'keeps the changes that others make during the erasure',
    },
  ]),
  ...makeGuards('src/modules/companies/store.ts', COMPANY_END_TESTS, [
    { in: 'updateCompany', text: ', status && isNull(companies.deletesAt)', ...ERASURE_RACE_CASE },
  ]),
  ...makeGuards('src/objects/company-log.ts', PERSONAL_DATA_TESTS, [
    {
      text: 'redactErasedPersons(storage, uniqueRecords)',
      without: 'uniqueRecords',
      title: 'removes them from records that a queue delivers later, but not from records made after they came back',
    },
  ]),
  ...makeGuards('src/logs/erased-persons.ts', PERSONAL_DATA_TESTS, [
    {
      text: 'WHERE at >= ? AND digest',
      without: 'WHERE 0 <= ? AND digest',
      title: 'removes them from records that a queue delivers later, but not from records made after they came back',
    },
  ]),
  ...makeGuards('src/objects/company-log.ts', COMPANY_END_TESTS, [
    {
      text: 'this.#isErased = state.storage.kv.get(ERASED_KEY) === true;',
      without: 'this.#isErased = false;',
      ...LATE_RECORD_CASE,
    },
    {
      text: 'if (this.#isErased) return 0;\n    const { storage } = this.ctx;\n    const lastMovedKey',
      without: 'const { storage } = this.ctx;\n    const lastMovedKey',
      ...LATE_RECORD_CASE,
    },
    {
      text: 'if (this.#isErased) return 0;\n    const { storage } = this.ctx;\n    const fullRange',
      without: 'const { storage } = this.ctx;\n    const fullRange',
      title: 'is erased again to remove rows that were still being written during the first erasure',
    },
    { text: 'if (this.#isErased) return;', ...LATE_RECORD_CASE },
  ]),
];
