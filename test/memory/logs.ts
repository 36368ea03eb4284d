import type { System } from '../../bench/system.ts';
import { signedRequest } from '../../examples/signing/sign.ts';
import { type Case, downloadAnswer } from './case.ts';

/** As many as one file of R2 holds. */
const RECORDS = 20_000;
const OLD = 100;

const fillLog = ({ call }: System, name: string, daysAgo: number) =>
  call(
    'GET',
    `/log/fill?${new URLSearchParams({ name, days_ago: `${daysAgo}`, from: `${daysAgo * RECORDS}`, count: `${RECORDS}` })}`,
  );

const moveRecords = ({ call }: System, name: string) => call('GET', `/log/move?name=${name}`);

/** Exports of the log of the company, half of which is in R2. */
function makeExportCase(format: string): Case {
  return {
    name: `export of ${2 * RECORDS} records of a log as ${format}, taken at 1 MB a second`,
    prepare: async (system) => {
      const { user } = await system.call('GET', '/v1/auth/me');
      await fillLog(system, user.company_id, OLD);
      await moveRecords(system, user.company_id);
      await fillLog(system, user.company_id, 1);
    },
    run: async ({ baseUrl, serviceAccount }) => {
      const url = `${baseUrl}/admin/audit-events/export?format=${format}`;
      const { lines } = await downloadAnswer(await fetch(await signedRequest(serviceAccount, 'GET', url)), 1_000_000);
      if (lines < 2 * RECORDS) throw new Error(`${lines} lines were exported`);
    },
  };
}

export const LOGS: Case[] = [
  {
    name: `moving ${RECORDS} records of a log to R2`,
    prepare: async (system) => {
      for (const which of [0, 1]) await fillLog(system, `moved-${which}`, OLD);
    },
    run: (system, which) => moveRecords(system, `moved-${which}`),
  },
  makeExportCase('ndjson'),
  makeExportCase('csv'),
];
