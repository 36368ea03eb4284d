import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { computeTotalCost, PRICES } from '../../bench/cost/prices.ts';
import { formatMonthlyTable, type MeasuredUse, TABLE_MARKERS } from '../../bench/cost/table.ts';

const PROJECT = resolve(import.meta.dirname, '../..');
const readDocument = (path: string): string => readFileSync(join(PROJECT, path), 'utf8');
const measuredCosts = JSON.parse(readDocument('bench/cost/measured.json')) as MeasuredUse;

describe('the monthly costs in docs/operations.md', () => {
  it('are computed from the prices and the last measurement', () => {
    const [, table] =
      new RegExp(`${TABLE_MARKERS[0]}\\n\\n(.*?)\\n\\n${TABLE_MARKERS[1]}`, 's').exec(
        readDocument('docs/operations.md'),
      ) ?? [];
    expect(table?.split('\n')).toEqual(formatMonthlyTable(measuredCosts));
  });

  it('are at most 3.50 US dollars for a million API requests, or shared views', () => {
    for (const { requestUsage: used } of Object.values(measuredCosts))
      expect(computeTotalCost(used)).toBeLessThanOrEqual(3.5);
  });

  it('are based on prices, each with its web page and the day on which it was read', () => {
    for (const { pageUrl: page, readDay: readOn, dollars } of Object.values(PRICES)) {
      expect(page).toMatch(/^https:\/\/developers\.cloudflare\.com\/.*pric/);
      expect(readOn).toMatch(/^\d{4}-\d\d-\d\d$/);
      expect(dollars).toBeGreaterThan(0);
    }
  });
});
