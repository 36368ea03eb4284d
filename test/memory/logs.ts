import type { System } from '../../bench/system.ts';
import { signedRequest } from '../../examples/signing/sign.ts';
import { downloadAnswer, type MemoryCase } from './case.ts';

/** The number of records in one file of R2. */
const RECORD_COUNT = 20_000;
const OLD_RECORD_DAYS = 100;

const fillLog = ({ call }: System, name: string, daysAgo: number) =>
  call(
    'GET',
    `/log/fill?${new URLSearchParams({ name, days_ago: `${daysAgo}`, from: `${daysAgo * RECORD_COUNT}`, count: `${RECORD_COUNT}` })}`,
  );

const moveRecords = ({ call }: System, name: string) => call('GET', `/log/move?name=${name}`);

/** Makes a case that exports the log of the company, half of which is in R2. */
function makeExportCase(format: string): MemoryCase {
  return {
    name: `export of ${2 * RECORD_COUNT} records of a log as ${format}, taken at 1 MB a second`,
    prepare: async (system) => {
      const { user } = await system.call('GET', '/v1/auth/me');
      await fillLog(system, user.company_id, OLD_RECORD_DAYS);
      await moveRecords(system, user.company_id);
      await fillLog(system, user.company_id, 1);
    },
    run: async ({ baseUrl, serviceAccountKey }) => {
      const url = `${baseUrl}/admin/audit-events/export?format=${format}`;
      const { lines } = await downloadAnswer(
        await fetch(await signedRequest(serviceAccountKey, 'GET', url)),
        1_000_000,
      );
      if (lines < 2 * RECORD_COUNT) throw new Error(`${lines} lines were exported`);
    },
  };
}

export const LOG_CASES: MemoryCase[] = [
  {
    name: `moving ${RECORD_COUNT} records of a log to R2`,
    prepare: async (system) => {
      for (const runNumber of [0, 1]) await fillLog(system, `moved-${runNumber}`, OLD_RECORD_DAYS);
    },
    run: (system, runNumber) => moveRecords(system, `moved-${runNumber}`),
  },
  makeExportCase('ndjson'),
  makeExportCase('csv'),
];
