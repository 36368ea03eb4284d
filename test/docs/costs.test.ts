import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { computePrice, PRICES } from '../../bench/cost/prices.ts';
import { formatMonthlyTable, MARKS, type Measured } from '../../bench/cost/table.ts';

const PROJECT = resolve(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(PROJECT, path), 'utf8');
const measured = JSON.parse(read('bench/cost/measured.json')) as Measured;

describe('the monthly costs in docs/operations.md', () => {
  it('are those of the prices and the last measurement', () => {
    const [, table] = new RegExp(`${MARKS[0]}\\n\\n(.*?)\\n\\n${MARKS[1]}`, 's').exec(read('docs/operations.md')) ?? [];
    expect(table?.split('\n')).toEqual(formatMonthlyTable(measured));
  });

  it('are at most 3.50 US dollars for a million API requests, or shared views', () => {
    for (const { used } of Object.values(measured)) expect(computePrice(used)).toBeLessThanOrEqual(3.5);
  });

  it('are of prices with the page and the day on which they were read', () => {
    for (const { page, read: day, dollars } of Object.values(PRICES)) {
      expect(page).toMatch(/^https:\/\/developers\.cloudflare\.com\/.*pric/);
      expect(day).toMatch(/^\d{4}-\d\d-\d\d$/);
      expect(dollars).toBeGreaterThan(0);
    }
  });
});
