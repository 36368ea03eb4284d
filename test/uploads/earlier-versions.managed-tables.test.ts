import { beforeAll, describe, expect, it } from 'vitest';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import {
  createHeldQueue,
  deliverAllMessages,
  deliverMessage,
  makeCsvTable,
  makeFile,
  queryDatabase,
  readJob,
  uploadFiles,
} from './support.ts';
import { makeSheetWorkbook } from './workbooks.ts';

/** Small enough for the first message to stop in the middle of a file. */
const SMALL_MESSAGES = { UPLOAD_MESSAGE_BYTES: '32768' };
const ROWS = 20_000;

const makeRange = <Row>(row: (index: number) => Row): Row[] => Array.from({ length: ROWS }, (_, index) => row(index));

// biome-ignore lint/suspicious/noExplicitAny: whatever an earlier version left
type State = any;

/** What the first version of the program left of an analysis: fewer members, some of other names. */
function toFirstVersion({ items, finished, reading }: State): State {
  const older = reading && { ...reading, dialect: { ...reading.dialect, newline: 'lf' } };
  for (const member of ['quoting', 'skipped', 'lineEnds']) delete older?.[member];
  return { items: items.map(toFirstVersionItem), finished, reading: older };
}

function toFirstVersionItem(item: State): State {
  if (item.kind !== 'workbook') return item;
  const { unpacked: _, written: __, rows, ...conversion } = item.conversion;
  const { names, ...others } = rows;
  return { ...item, conversion: { ...conversion, rows: { ...others, inRows: names !== null } } };
}

describe('an upload job that an earlier version of the Worker began', () => {
  let company: Company;
  beforeAll(async () => {
    company = await aProvisionedCompany();
  });

  const stateOf = async (jobId: string): Promise<State> =>
    queryDatabase(company, async (database) => {
      const [row] = await database.query<State>('SELECT state FROM console.upload_jobs WHERE id = $1', [jobId]);
      return row?.state;
    });

  const isInTheMiddle = (state: State): boolean =>
    (state?.reading?.offset ?? 0) > 0 || (state?.items[0]?.conversion?.rows.offset ?? 0) > 0;

  it.each([
    ['a text file', () => makeFile('dados.csv', makeCsvTable(ROWS))],
    [
      'a workbook',
      () => makeFile('dados.xlsx', makeSheetWorkbook([['codigo', 'nome'], ...makeRange((row) => [row, 'a'])])),
    ],
  ])('has its analysis finished by the present version: %s', async (_, file) => {
    const queue = createHeldQueue();
    const jobId = await uploadFiles(company, [file()], queue);
    while (!isInTheMiddle(await stateOf(jobId))) {
      await deliverMessage(queue.messages.shift() as JobMessage, { ...queue.env, ...SMALL_MESSAGES });
    }
    const before = JSON.stringify(toFirstVersion(await stateOf(jobId)));
    await queryDatabase(company, (database) =>
      database.execute('UPDATE console.upload_jobs SET state = $2::json WHERE id = $1', [jobId, before]),
    );

    await deliverAllMessages(queue, SMALL_MESSAGES);

    expect(await readJob(company, jobId)).toMatchObject({
      status: 'waiting_confirm',
      error: null,
      inferred_schema: { total_row_count_estimate: ROWS, dialect: { skipped: [] } },
    });
  });
});
