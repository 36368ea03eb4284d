import { describe, expect, it } from 'vitest';
import { coerceParameter, PARAMETER_KINDS, type ParameterKind } from '../../src/sql-templates/parameters.ts';
import { explainField } from '../../src/texts/errors/translate.ts';

describe('a parameter of an SQL template', () => {
  it.each<[ParameterKind, unknown, unknown]>([
    ['text', 'a', { type: 'text', value: 'a' }],
    ['text', 7, { type: 'text', value: '7' }],
    ['text', ['a'], 'refused'],
    ['text', { a: 1 }, 'refused'],
    ['text', 'x'.repeat(1001), 'refused'],
    ['text', 'a\0b', 'refused'],
    ['text', '\ud800', 'refused'],
    ['select', 'a', { type: 'list', values: ['a'] }],
    ['select', true, { type: 'list', values: ['true'] }],
    ['select', ['a'], 'refused'],
    ['multi_select', 'a', { type: 'list', values: ['a'] }],
    ['multi_select', ['a', 'b', 'a', 1], { type: 'list', values: ['a', 'b', '1'] }],
    ['multi_select', [['a']], 'refused'],
    ['multi_select', ['a', null], 'refused'],
    ['multi_select', Array.from({ length: 1001 }, (_, index) => index), 'refused'],
    ['number', 1.5, { type: 'number', value: '1.5' }],
    ['number', '-1e10', { type: 'number', value: '-1e10' }],
    ['number', 'NaN', 'refused'],
    ['number', '1e9999', 'refused'],
    ['number', '0x10', 'refused'],
    ['number', true, 'refused'],
    ['number', '9'.repeat(101), 'refused'],
    ['date', '2024-02-29', { type: 'date', value: '2024-02-29' }],
    ['date', '2023-02-29', 'refused'],
    ['date', '2024-1-1', 'refused'],
    ['date', '0000-01-01', 'refused'],
    ['date', '2024-01-01T00:00:00Z', 'refused'],
    ['date', 20240101, 'refused'],
    ['date_range', { from: '2024-01-01', to: '2024-01-31' }, { type: 'range', from: '2024-01-01', to: '2024-01-31' }],
    ['date_range', { from: '2024-01-01' }, { type: 'range', from: '2024-01-01', to: null }],
    ['date_range', { from: null, to: '' }, null],
    ['date_range', { from: '2024-02-01', to: '2024-01-01' }, 'refused'],
    ['date_range', { from: '2024-01-01', until: 'x' }, 'refused'],
    ['date_range', ['2024-01-01', '2024-01-31'], 'refused'],
    ['date_range', '2024-01-01', 'refused'],
  ])('of the kind %s has for the input %j the value %j', (kind, input, expected) => {
    const coercedValue = coerceParameter(kind, input);
    expect('problem' in coercedValue ? 'refused' : coercedValue.value).toEqual(expected);
  });

  it.each<[ParameterKind, unknown, object]>(
    (['text', 'select', 'multi_select'] as const).flatMap((kind) => [
      [kind, 'x'.repeat(1001), { reason: 'too_long', limits: { max: 1000 } }],
      [kind, 'a\0b', { reason: 'format' }],
      [kind, { a: 1 }, { reason: 'type' }],
      [kind, [['a']], { reason: kind === 'multi_select' ? 'type' : 'too_many' }],
    ]),
  )('of the kind %s names the rule that a value breaks: %j', (kind, input, reason) => {
    const coercionResult = coerceParameter(kind, input);
    expect(explainField('problem' in coercionResult ? coercionResult.problem : '', 'en')).toMatchObject(reason);
  });

  it.each(PARAMETER_KINDS)('of the kind %s is null without a value', (kind) => {
    for (const input of [undefined, null, '', []]) expect(coerceParameter(kind, input)).toEqual({ value: null });
  });
});
