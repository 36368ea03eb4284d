import fc from 'fast-check';
import { afterEach, expect, it } from 'vitest';
import { DAY_MS } from '../../src/kernel/clock.ts';
import { compareKeys, type LogFilter, type LogRecord, toLogKey } from '../../src/logs/log.ts';
import { advanceClock } from '../support/clock.ts';
import { readRecords } from '../support/log.ts';
import { appendRecords, makeRecord, readPage, resetSizes, setSizes, settleLog } from './support.ts';

afterEach(resetSizes);

const member = fc.constantFrom('a', 'b', 'c');
const time = fc.tuple(fc.constantFrom(0, 1, 60, 89, 90, 91, 92, 93, 120), fc.integer({ min: 0, max: DAY_MS - 1 }));
const record = fc.record({ time, principalId: member, action: member, correlationId: member });
const stepArbitrary = fc.oneof(
  { weight: 4, arbitrary: fc.record({ append: fc.array(record, { minLength: 1, maxLength: 30 }) }) },
  { weight: 2, arbitrary: fc.record({ again: fc.integer({ min: 1, max: 20 }) }) },
  { weight: 2, arbitrary: fc.constant('move' as const) },
  { weight: 1, arbitrary: fc.constant('move early' as const) },
  { weight: 1, arbitrary: fc.constant('a day passes' as const) },
);
const filter = fc.record(
  { principalId: member, action: member, correlationId: member, from: time, to: time },
  { requiredKeys: [] },
);

let createdCount = 0;

it('the log of a company lists each record once, in a single order, with exact totals, however delivered and wherever stored', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(stepArbitrary, { minLength: 2, maxLength: 10 }),
      fc.array(filter, { minLength: 3, maxLength: 6 }),
      async (steps, filters) => {
        const company = `model-${++createdCount}`;
        const midnight = Math.floor(Date.now() / DAY_MS) * DAY_MS;
        const computeTime = ([days, ms]: [number, number]) => midnight - days * DAY_MS + ms;
        const deliveredRecords: LogRecord<'audit'>[] = [];
        let elapsedDays = 0;
        for (const step of steps) {
          if (typeof step === 'object' && 'append' in step) {
            const records = step.append.map(({ time: of, ...values }) => makeRecord(computeTime(of), values));
            deliveredRecords.push(...records);
            await appendRecords(company, records);
          } else if (typeof step === 'object') {
            await appendRecords(company, deliveredRecords.filter((_, n) => n % step.again === 0).reverse());
          } else {
            setSizes({ slice: 7, partRows: 11, fullBytes: step === 'move early' ? 0 : 9e9 });
            if (step === 'a day passes') advanceClock(++elapsedDays * DAY_MS);
            await settleLog(company);
            setSizes({ fullBytes: 9e9 });
          }
        }
        await settleLog(company);
        setSizes({ slice: 7, partRows: 11 });
        const storedRecords = deliveredRecords.toSorted((a, b) => compareKeys(toLogKey(b), toLogKey(a)));
        expect((await readRecords('audit', company)).map(({ id }) => id)).toEqual(storedRecords.map(({ id }) => id));
        for (const { from, to, ...values } of filters) {
          const logFilter: LogFilter = { from: from && computeTime(from), to: to && computeTime(to), values };
          const expectedRecords = storedRecords.filter(
            (eachRecord) =>
              eachRecord.occurredAt >= (logFilter.from ?? -Infinity) &&
              eachRecord.occurredAt <= (logFilter.to ?? Infinity) &&
              Object.entries(values).every(([name, value]) => eachRecord[name as 'action'] === value),
          );
          for (const [number, size] of [
            [1, 5],
            [2, 5],
            [3, 11],
            [1, 100],
          ] as const) {
            const { total, records } = await readPage(company, logFilter, number, size);
            expect([total, records.map(({ id }) => id)]).toEqual([
              expectedRecords.length,
              expectedRecords.slice((number - 1) * size, number * size).map(({ id }) => id),
            ]);
          }
          expect((await readRecords('audit', company, logFilter)).map(({ id }) => id)).toEqual(
            expectedRecords.map(({ id }) => id),
          );
        }
      },
    ),
    { numRuns: Number(process.env.RUNS ?? 25), seed: 7 },
  );
}, 300_000);
