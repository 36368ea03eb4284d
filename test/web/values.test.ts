import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ViewFilter } from '../../src/presentation/viewing.ts';
import { isEmpty, listMissing, readInitialValues, toParameters, toQuery } from '../../src/web/values.ts';

const filter = (
  slug: string,
  kind: ViewFilter['kind'],
  defaultValue: unknown = null,
  required = false,
): ViewFilter => ({
  slug,
  label: slug,
  kind,
  default: defaultValue,
  required,
});

const ALL_FILTERS = [
  filter('state', 'multi_select', ['TX']),
  filter('name', 'text'),
  filter('period', 'date_range', { from: '2024-01-01' }),
];
const date = fc
  .date({ min: new Date('1990-01-01'), max: new Date('2050-01-01'), noInvalidDate: true })
  .map((day) => day.toISOString().slice(0, 10));

describe('the values of filters', () => {
  it('are the same when read back from the address of the page', () => {
    const values = fc.record({
      state: fc.oneof(fc.constant([]), fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 5 })),
      name: fc.oneof(fc.constant(null), fc.string({ minLength: 1 })),
      period: fc.oneof(
        fc.constant(null),
        fc.record({ from: date, to: date }),
        fc.record({ from: date }),
        fc.record({ to: date }),
      ),
    });
    fc.assert(
      fc.property(values, (chosenValues) => {
        const address = new URLSearchParams(toQuery(ALL_FILTERS, chosenValues).toString());
        const readValues = readInitialValues(ALL_FILTERS, address);
        expect(toParameters(ALL_FILTERS, readValues)).toEqual(toParameters(ALL_FILTERS, chosenValues));
      }),
    );
  });

  it('are not in the address if they are the defaults', () => {
    expect(toQuery(ALL_FILTERS, readInitialValues(ALL_FILTERS, new URLSearchParams())).size).toBe(0);
  });

  it('are sent if they are set, and as null if a default is removed', () => {
    expect(toParameters(ALL_FILTERS, { state: [], name: '', period: {} })).toEqual({ state: null, period: null });
    expect(toParameters(ALL_FILTERS, { state: ['CA'], name: 'x' })).toEqual({ state: ['CA'], name: 'x', period: null });
  });

  it('are reported as missing if they are required and have no default', () => {
    const filters = [filter('a', 'text', null, true), filter('b', 'text', 'x', true), filter('c', 'text')];
    expect(listMissing(filters, {}).map(({ slug }) => slug)).toEqual(['a']);
    expect(listMissing(filters, { a: 'y' })).toEqual([]);
  });

  it('are empty when nothing is entered', () => {
    for (const emptyValue of [undefined, null, '', [], {}, { from: '', to: null }])
      expect(isEmpty(emptyValue)).toBe(true);
    for (const enteredValue of [0, false, ' ', [''], { from: '2024-01-01' }]) expect(isEmpty(enteredValue)).toBe(false);
  });
});
