import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/kernel/failure.ts';
import { planColumns, type RequestedColumn } from '../../src/modules/managed-tables/column-plan.ts';
import { chooseNearerWindow } from '../../src/modules/managed-tables/row-pages.ts';
import { parseSort } from '../../src/modules/managed-tables/sort.ts';

const makeColumn = (name: string, extra: Partial<RequestedColumn> = {}): RequestedColumn => ({
  name,
  display_name: name,
  type: 'text',
  nullable: true,
  ...extra,
});

describe('the parameter sort_by', () => {
  const columns = [makeColumn('price'), makeColumn('_x1'), makeColumn('asc')];

  it.each([
    [undefined, null],
    ['price', { column: 'price', type: 'text', descending: false }],
    ['price ASC', { column: 'price', type: 'text', descending: false }],
    ['price desc', { column: 'price', type: 'text', descending: true }],
    ['-price', { column: 'price', type: 'text', descending: true }],
    ['-price DeSc', { column: 'price', type: 'text', descending: true }],
    ['id DESC', { column: 'id', type: 'uuid', descending: true }],
    ['_x1', { column: '_x1', type: 'text', descending: false }],
    ['asc asc', { column: 'asc', type: 'text', descending: false }],
  ])('accepts %s', (text, order) => {
    expect(parseSort(text, columns)).toStrictEqual(order);
  });

  it.each([
    '',
    ' price',
    'price ',
    'price  ASC',
    '-price ASC',
    '--price',
    'nothing',
    'Price',
    'price, id',
    'price; DROP TABLE x',
    'price ASC NULLS FIRST',
    '"price"',
    '1',
    'ctid',
    'price\n',
  ])('refuses %j', (text) => {
    expect(() => parseSort(text, columns)).toThrow(Failure);
  });
});

describe('the offset and limit of a page of rows', () => {
  it('select exactly the rows of the page, whether counted from the start or the end', () => {
    for (let total = 0; total <= 25; total++) {
      const rows = Array.from({ length: total }, (_, index) => index);
      for (const limit of [1, 2, 3, 7, 10, 30]) {
        for (let offset = 0; offset <= 30; offset += limit) {
          const window = chooseNearerWindow(total, offset, limit);
          const orderedRows = window.isFromEnd ? rows.toReversed() : rows;
          const page = orderedRows.slice(window.offset, window.offset + window.limit);
          expect(window.isFromEnd ? page.reverse() : page).toStrictEqual(rows.slice(offset, offset + limit));
          expect(window.offset <= Math.max(offset, 0)).toBe(true);
        }
      }
    }
  });

  it('are counted from the end for the last page', () => {
    expect(chooseNearerWindow(1_000_003, 1_000_000, 50)).toStrictEqual({ limit: 3, offset: 0, isFromEnd: true });
  });
});

describe('the plan of a column change', () => {
  const presentColumns = [makeColumn('a'), makeColumn('b'), makeColumn('c')];
  const listNames = (columns: { name: string }[]) => columns.map(({ name }) => name);

  it('reports whether the columns change at all', () => {
    expect(planColumns(presentColumns, presentColumns).hasChanges).toBe(false);
    expect(planColumns(presentColumns, presentColumns.toReversed()).hasChanges).toBe(true);
    expect(
      planColumns(presentColumns, [makeColumn('a'), makeColumn('b'), makeColumn('c', { display_name: 'C' })])
        .hasChanges,
    ).toBe(true);
  });

  it('adds, drops and keeps columns by name', () => {
    const plan = planColumns(presentColumns, [makeColumn('c'), makeColumn('d'), makeColumn('a')]);
    expect(listNames(plan.droppedColumns)).toStrictEqual(['b']);
    expect(plan.keptColumns.map(({ from, to }) => [from.name, to.name])).toStrictEqual([
      ['c', 'c'],
      ['a', 'a'],
    ]);
    expect(plan.addedColumns.map(({ column: addedColumn }) => addedColumn.name)).toStrictEqual(['d']);
    expect(listNames(plan.columns)).toStrictEqual(['c', 'd', 'a']);
  });

  it('renames by previous_name, also when two columns exchange names', () => {
    const plan = planColumns(presentColumns, [
      makeColumn('b', { previous_name: 'a' }),
      makeColumn('a', { previous_name: 'b' }),
    ]);
    expect(plan.keptColumns.map(({ from, to }) => [from.name, to.name])).toStrictEqual([
      ['a', 'b'],
      ['b', 'a'],
    ]);
    expect(listNames(plan.droppedColumns)).toStrictEqual(['c']);
  });

  it('can give a new column the name that a rename has freed', () => {
    const plan = planColumns(presentColumns, [makeColumn('a', {}), makeColumn('a2', { previous_name: 'a' })]);
    expect(plan.keptColumns.map(({ from, to }) => [from.name, to.name])).toStrictEqual([['a', 'a2']]);
    expect(plan.addedColumns.map(({ column: addedColumn }) => addedColumn.name)).toStrictEqual(['a']);
  });

  it('is refused with a previous_name that no column has, or that two columns claim', () => {
    expect(() => planColumns(presentColumns, [makeColumn('x', { previous_name: 'nothing' })])).toThrow(Failure);
    expect(() =>
      planColumns(presentColumns, [makeColumn('x', { previous_name: 'a' }), makeColumn('y', { previous_name: 'a' })]),
    ).toThrow(Failure);
  });
});
