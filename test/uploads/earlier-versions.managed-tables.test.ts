import { describe, expect, it } from 'vitest';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import {
  createTestQueue,
  deliverAllMessages,
  deliverMessage,
  makeCsvTable,
  makeFile,
  queryDatabase,
  readJob,
  uploadFiles,
} from './support.ts';
import { makeSheetWorkbook } from './workbooks.ts';

/** Variables that limit a message to so few bytes that the first message stops in the middle of a file. */
const SMALL_MESSAGES = { UPLOAD_MESSAGE_BYTES: '32768' };
const ROW_COUNT = 20_000;

const makeRange = <Row>(makeRow: (index: number) => Row): Row[] =>
  Array.from({ length: ROW_COUNT }, (_, index) => makeRow(index));

// biome-ignore lint/suspicious/noExplicitAny: whatever an earlier version left
type AnalysisState = any;

/** Converts the state of an analysis to the form that the Worker's first version stored: fewer members, some renamed. */
function toFirstVersion({ items, finished, reading }: AnalysisState): AnalysisState {
  const firstReading = reading && { ...reading, dialect: { ...reading.dialect, newline: 'lf' } };
  for (const member of ['quoting', 'skipped', 'lineEnds']) delete firstReading?.[member];
  return { items: items.map(toFirstVersionItem), finished, reading: firstReading };
}

function toFirstVersionItem(item: AnalysisState): AnalysisState {
  if (item.kind !== 'workbook') return item;
  const { unpacked: _, written: __, rows, ...conversion } = item.conversion;
  const { names, ...others } = rows;
  return { ...item, conversion: { ...conversion, rows: { ...others, inRows: names !== null } } };
}

const company = await createProvisionedCompany();

describe('an upload job that an earlier version of the Worker began', () => {
  const readState = async (jobId: string): Promise<AnalysisState> =>
    queryDatabase(company, async (database) => {
      const [row] = await database.query<AnalysisState>('SELECT state FROM console.upload_jobs WHERE id = $1', [jobId]);
      return row?.state;
    });

  const isUnfinished = (state: AnalysisState): boolean =>
    (state?.reading?.offset ?? 0) > 0 || (state?.items[0]?.conversion?.rows.offset ?? 0) > 0;

  it.each([
    ['a text file', () => makeFile('dados.csv', makeCsvTable(ROW_COUNT))],
    [
      'a workbook',
      () => makeFile('dados.xlsx', makeSheetWorkbook([['codigo', 'nome'], ...makeRange((row) => [row, 'a'])])),
    ],
  ])('has its analysis finished by the current version: %s', async (_, createFile) => {
    const queue = createTestQueue();
    const jobId = await uploadFiles(company, [createFile()], queue);
    while (!isUnfinished(await readState(jobId))) {
      await deliverMessage(queue.messages.shift() as JobMessage, { ...queue.env, ...SMALL_MESSAGES });
    }
    const stateBefore = JSON.stringify(toFirstVersion(await readState(jobId)));
    await queryDatabase(company, (database) =>
      database.execute('UPDATE console.upload_jobs SET state = $2::json WHERE id = $1', [jobId, stateBefore]),
    );

    await deliverAllMessages(queue, SMALL_MESSAGES);

    expect(await readJob(company, jobId)).toMatchObject({
      status: 'waiting_confirm',
      error: null,
      inferred_schema: { total_row_count_estimate: ROW_COUNT, dialect: { skipped: [] } },
    });
  });
});
