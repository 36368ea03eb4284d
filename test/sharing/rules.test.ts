import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/kernel/failure.ts';
import { optionsRule, usableFilters } from '../../src/sharing/filters.ts';
import { viewerRules } from '../../src/sharing/rules.ts';
import type { FilterPolicy, Input, ViewerTerms } from '../../src/sharing/terms.ts';
import { boundValues } from '../../src/sharing/values.ts';
import { combinedAttributes, type ViewerAttributes } from '../../src/sharing/viewer-attributes.ts';
import type { BoundValue } from '../../src/sql-templates/parameters.ts';
import { embed, input, list, policy } from './support.ts';

const region = input('region');
const decide = (
  terms: ViewerTerms,
  sent: Record<string, unknown>,
  inputs = [region],
): BoundValue | undefined | string => {
  try {
    return boundValues(viewerRules(inputs, terms), sent).get(inputs[0]?.slug ?? '');
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return error.reason;
  }
};
const VIOLATION = 'sharing.policy_violation';
const INVALID = 'request.invalid';

const selectableAB = { policies: [policy('region', 'selectable', 'a', 'b')] };
const lockedAB = { policies: [policy('region', 'locked', 'a', 'b')] };
const hidden = { policies: [policy('region', 'hidden')] };
const withDefault = input('region', { default: ['c'] });
const byArea = input('region', { viewerAttributes: ['area'] });
const byBoth = input('region', { viewerAttributes: ['area', 'zone'] });
const byAreaOf = (kind: Input['kind']): Input => ({ ...byArea, kind, takesList: false });
const select = input('region', { kind: 'select' });
const required = input('region', { required: true });
const parameter = input('region', { origin: 'parameter' });
const area = (value: string | number | string[]): ViewerTerms => ({ attributes: { area: value } });
const selectable = (...values: string[]) => policy('region', 'selectable', ...values);
const locked = (...values: string[]) => policy('region', 'locked', ...values);
const both = (...policies: FilterPolicy[]): ViewerTerms => ({ policies });
const fixedTo = (value: unknown) => embed({ fixed: { region: value } });
const embedAllowed = embed({ allowed: ['region'] });
const embedRequired = embed({ allowed: ['region'], required: ['region'] });
const fixedOfCity = embed({ fixed: { region: ['a'] }, allowed: ['city'] });

describe('a filter value in the request of a viewer', () => {
  const cases: [what: string, terms: ViewerTerms, sent: Record<string, unknown>, bound: unknown, input?: Input][] = [
    ['without rules: what is sent', {}, { region: ['a'] }, list('a')],
    ['without rules: nothing', {}, {}, null],
    ['without rules: the default', {}, {}, list('c'), withDefault],
    ['without rules: the default taken away', {}, { region: null }, null, withDefault],
    ['without rules: a required default stays', {}, { region: [] }, list('c'), { ...withDefault, required: true }],
    ['without rules: a required value is missing', {}, {}, INVALID, required],
    ['without rules: an unknown parameter', {}, { other: 1 }, INVALID],
    ['an embed: an unknown parameter', { embed: { fixed: {}, allowed: [], required: [] } }, { other: 1 }, VIOLATION],
    ['without rules: a wrong kind', {}, { region: { a: 1 } }, INVALID],

    ['selectable: one of the allowed', selectableAB, { region: ['b'] }, list('b')],
    ['selectable: left out means all allowed', selectableAB, {}, list('a', 'b')],
    ['selectable: no value means all allowed', selectableAB, { region: '' }, list('a', 'b')],
    ['selectable: an empty list means all allowed', selectableAB, { region: [] }, list('a', 'b')],
    ['selectable: never the default', selectableAB, {}, list('a', 'b'), withDefault],
    ['selectable: another value', selectableAB, { region: ['c'] }, VIOLATION],
    ['selectable: one allowed, one not', selectableAB, { region: ['a', 'c'] }, VIOLATION],
    ['selectable: another case is another value', selectableAB, { region: ['A'] }, VIOLATION],
    ['selectable: satisfies required', selectableAB, {}, list('a', 'b'), required],
    ['selectable on a select: a list', selectableAB, {}, list('a', 'b'), select],
    ['selectable on a select: one', selectableAB, { region: 'a' }, list('a'), select],
    ['selectable on a select: a list is no choice', selectableAB, { region: ['a', 'b'] }, INVALID, select],

    ['an attribute: a list', area(['a', 'b']), {}, list('a', 'b'), byArea],
    ['an attribute: one value', area('a'), {}, list('a'), byArea],
    ['an attribute: a number is the text of it', area(7), {}, list('7'), byArea],
    ['an attribute: sent, though it is the same value', area(['a']), { region: ['a'] }, VIOLATION, byArea],
    ['an attribute: null is sent', area(['a']), { region: null }, VIOLATION, byArea],
    ['an attribute: never the default', area(['a']), {}, list('a'), { ...byArea, default: ['c'] }],
    ['an attribute: satisfies required', area(['a']), {}, list('a'), { ...byArea, required: true }],
    ['an attribute: a viewer without it', { attributes: { region: ['a'] } }, {}, VIOLATION, byArea],
    ['an attribute: a viewer of whom nothing is known', {}, {}, VIOLATION, byArea],
    ['an attribute: an empty list is none', area([]), {}, VIOLATION, byArea],
    ['an attribute: an empty text is none', area(''), {}, VIOLATION, byArea],
    [
      'an attribute: an inherited property',
      { attributes: {} },
      {},
      VIOLATION,
      { ...byArea, viewerAttributes: ['constructor'] },
    ],
    ['an attribute: its name is sent', area(['a']), { area: ['b'] }, INVALID, byArea],
    ['an attribute on a select: one', area('a'), {}, list('a'), byAreaOf('select')],
    ['an attribute on a select: a list of one', area(['a']), {}, list('a'), byAreaOf('select')],
    ['an attribute on a select: more than its SQL takes', area(['a', 'b']), {}, VIOLATION, byAreaOf('select')],
    [
      'an attribute on a select: a list for such SQL',
      area(['a', 'b']),
      {},
      list('a', 'b'),
      { ...byArea, kind: 'select' },
    ],
    ['an attribute on a number', area(7), {}, { type: 'number', value: '7' }, byAreaOf('number')],
    ['an attribute on a number: no number', area('x'), {}, VIOLATION, byAreaOf('number')],
    ['an attribute on a text: a list', area(['a', 'b']), {}, VIOLATION, byAreaOf('text')],
    ['two attributes: what both allow', { attributes: { area: ['a', 'b'], zone: ['b', 'c'] } }, {}, list('b'), byBoth],
    ['two attributes: none in common', { attributes: { area: ['a'], zone: ['c'] } }, {}, list(), byBoth],
    ['two attributes: one of them', area(['a']), {}, VIOLATION, byBoth],
    ['an attribute under a selectable policy', { ...selectableAB, ...area(['b', 'c']) }, {}, list('b'), byArea],
    ['an attribute under a locked policy', { ...lockedAB, ...area(['c']) }, {}, list(), byArea],
    ['an attribute under a hidden policy', { ...hidden, ...area(['a']) }, {}, list('a'), byArea],
    ['no attribute under a hidden policy', { ...hidden, attributes: {} }, {}, VIOLATION, byArea],
    ['no attribute under a locked policy', { ...lockedAB, attributes: {} }, {}, VIOLATION, byArea],
    ['an attribute and a fixed value', { ...fixedTo(['a', 'c']), ...area(['a', 'b']) }, {}, list('a'), byArea],
    ['an attribute and an allowed one', { ...embedAllowed, ...area(['a']) }, { region: ['a'] }, VIOLATION, byArea],
    ['an attribute and a required one', { ...embedRequired, ...area(['a']) }, {}, list('a'), byArea],
    ['an insider chooses', { isInsider: true }, { region: ['b'] }, list('b'), byArea],
    ['an insider has the default', { isInsider: true }, {}, list('c'), { ...byArea, default: ['c'] }],
    ['locked: all allowed', lockedAB, {}, list('a', 'b')],
    ['locked: an allowed value sent', lockedAB, { region: ['a'] }, VIOLATION],
    ['locked: null sent', lockedAB, { region: null }, VIOLATION],
    ['hidden: no value', hidden, {}, null],
    ['hidden: no default either', hidden, {}, null, withDefault],
    ['hidden: a value sent', hidden, { region: ['c'] }, VIOLATION, withDefault],

    ['two selectable: what both allow', both(selectable('a', 'b'), selectable('b', 'c')), {}, list('b')],
    ['two selectable: what one allows', both(selectable('a', 'b'), selectable('b', 'c')), { region: ['a'] }, VIOLATION],
    ['two policies without a common value: no rows', both(locked('a'), selectable('b')), {}, list()],
    ['locked and selectable: closed', both(selectable('a', 'b'), locked('b', 'c')), { region: ['b'] }, VIOLATION],
    ['hidden and selectable: bound, not chosen', both(selectable('a'), policy('region', 'hidden')), {}, list('a')],
    ['selectable and hidden: bound, not chosen', both(policy('region', 'hidden'), selectable('a')), {}, list('a')],
    ['a policy for a filter that is gone', { policies: [policy('gone', 'locked', 'a')] }, {}, VIOLATION],
    ['hiding a filter that is gone', { policies: [policy('gone', 'hidden')] }, { region: ['a'] }, list('a')],
    ['a policy for a filter that takes no list any more', lockedAB, {}, VIOLATION, input('region', { kind: 'text' })],

    ['embed: fixed', fixedTo('a'), {}, list('a')],
    ['embed: fixed and sent again', fixedTo('a'), { region: 'a' }, VIOLATION],
    ['embed: not allowed', embed({}), { region: 'a' }, VIOLATION],
    ['embed: not allowed, so the default', embed({}), {}, list('c'), withDefault],
    ['embed: allowed', embedAllowed, { region: 'a' }, list('a')],
    ['embed: allowed, left out', embedAllowed, {}, null],
    ['embed: required, left out', embedRequired, {}, INVALID],
    ['embed: required, left to its default', embedRequired, {}, INVALID, withDefault],
    ['embed: required and sent', embedRequired, { region: 'a' }, list('a')],
    ['embed: fixed to what its kind no longer takes', fixedTo('a'), {}, list(), input('region', { kind: 'number' })],
    ['embed and policy: fixed within', { ...fixedTo(['a', 'c']), ...selectableAB }, {}, list('a')],
    ['embed and policy: fixed to no value', { ...fixedTo(null), ...selectableAB }, {}, list('a', 'b')],
    ['embed and policy: allowed within', { ...embedAllowed, ...selectableAB }, { region: 'c' }, VIOLATION],

    ['a parameter: closed to outsiders', {}, { region: 'a' }, VIOLATION, parameter],
    ['a parameter: its own default', {}, {}, undefined, { ...parameter, default: 'a' }],
    ['a parameter: open to the company', { isInsider: true }, { region: 'a' }, list('a'), parameter],
    ['a parameter: opened by an embed', embedAllowed, { region: 'a' }, list('a'), parameter],
  ];
  it.each(cases)('is bound or refused by the rules (%s)', (_what, terms, sent, bound, of = region) => {
    expect(decide(terms, sent, [of])).toEqual(bound);
  });

  it('is refused with all problems at once, also for names such as __proto__', () => {
    const sent = JSON.parse('{"__proto__": "a", "constructor": "b", "region": {"deep": [[[]]]}}');
    const run = () => boundValues(viewerRules([region]), sent);
    expect(run).toThrow(expect.objectContaining({ reason: INVALID }));
    try {
      run();
    } catch (error) {
      expect((error as Failure).detail.problems?.map(({ field }) => field)).toEqual([
        'parameters.__proto__',
        'parameters.constructor',
        'parameters.region',
      ]);
    }
  });
});

describe('the filters that a viewer may use', () => {
  it('are those with a choice, with the default if that is allowed', () => {
    const inputs = [withDefault, input('city', { default: ['a'] }), input('shop')];
    const terms = {
      policies: [selectable('a'), policy('city', 'selectable', 'a', 'b'), policy('shop', 'locked', 'x')],
    };
    expect(
      usableFilters(viewerRules(inputs, terms)).map(({ input: { slug }, allowed, default: standing }) => [
        slug,
        allowed,
        standing,
      ]),
    ).toEqual([
      ['region', ['a'], null],
      ['city', ['a', 'b'], ['a']],
    ]);
  });

  it('have options only if they may be chosen', () => {
    expect(optionsRule(viewerRules([region], selectableAB), 'region', null).allowed).toEqual(['a', 'b']);
    for (const terms of [lockedAB, hidden, embed({})]) {
      expect(() => optionsRule(viewerRules([region], terms), 'region', null)).toThrow(
        expect.objectContaining({ reason: 'sharing.filter_disabled' }),
      );
    }
    expect(() => optionsRule(viewerRules([region]), 'other', null)).toThrow(
      expect.objectContaining({ reason: 'sharing.filter_not_found' }),
    );
  });
});

describe('a visualization that the rules of its viewer do not filter', () => {
  const reached = input('region', { appliesTo: ['v', 'w'] });
  const narrowedTo = input('region', { appliesTo: ['v'], skips: ['w'] });
  const gone = input('region', { appliesTo: ['v', 'w'], origin: 'parameter' });
  const noChoice = input('region', { appliesTo: ['v'], skips: ['w'], kind: 'text' });
  const fixed = fixedTo(['a']);
  const cases: [what: string, terms: ViewerTerms, of: Input[], refused: string[], unenforceable: string[]][] = [
    ['no rules', {}, [narrowedTo], [], []],
    ['a locked filter on all charts', lockedAB, [reached], [], []],
    ['a locked filter not on all charts', lockedAB, [narrowedTo], ['w'], []],
    ['a selectable filter not on all charts', selectableAB, [narrowedTo], ['w'], []],
    ['a hidden filter', hidden, [narrowedTo], [], []],
    ['a locked filter that is removed', lockedAB, [gone], ['v', 'w'], []],
    ['a selectable filter that is removed', selectableAB, [gone], ['v', 'w'], []],
    ['a locked filter that is now a text', lockedAB, [noChoice], ['v', 'w'], []],
    ['a locked filter on no chart', lockedAB, [input('region')], [], []],
    ['a locked filter, without filter and parameter', lockedAB, [], [], ['region']],
    ['a fixed filter on all charts', fixed, [reached], [], []],
    ['a fixed filter not on all charts', fixed, [narrowedTo], ['w'], []],
    ['a fixed parameter without a filter', fixed, [gone], [], []],
    ['a fixed filter, without filter and parameter', fixed, [], [], ['region']],
    ['a filter that is fixed to null', fixedTo(null), [], [], []],
  ];
  it.each(cases)(
    'is refused where a policy or an embed fixes values for it (%s)',
    (_what, terms, of, refused, unenforceable) => {
      const rules = viewerRules(of, terms);
      expect([[...rules.refused], rules.unenforceable]).toEqual([refused, unenforceable]);
      if (unenforceable.length > 0)
        expect(() => boundValues(rules, {})).toThrow(expect.objectContaining({ reason: VIOLATION }));
      else expect(() => boundValues(rules, {})).not.toThrow();
    },
  );

  it('is refused without naming a filter that the viewer did not send', () => {
    const told = (of: Input[], terms: ViewerTerms, sent: Record<string, unknown>) => {
      try {
        boundValues(viewerRules(of, terms), sent);
      } catch (error) {
        return JSON.stringify((error as Failure).detail);
      }
      throw new Error('Nothing was refused.');
    };
    expect(told([], lockedAB, {})).not.toContain('region');
    expect(told([required], embed({}), {})).not.toContain('region');
    expect(told([region], lockedAB, { region: ['a'] })).toContain('region');
  });
});

describe('the SQL of filter options', () => {
  const city = input('city');
  const shop = input('shop');
  const gone = input('region', { origin: 'parameter', appliesTo: ['v'] });
  const DISABLED = 'sharing.filter_disabled';
  const enforced = [['region', list('a', 'b')]];
  const cases: [what: string, terms: ViewerTerms, uses: string[] | null, outcome: unknown, of?: Input[]][] = [
    ['without rules: nothing is bound', {}, ['region'], []],
    ['another filter locked, and used', lockedAB, ['region'], enforced],
    ['another selectable, and used', selectableAB, ['region', 'shop'], enforced],
    ['another hidden: nothing is bound', hidden, ['region'], []],
    ['another filter locked, and not used', lockedAB, ['shop'], DISABLED],
    ['another selectable, and not used', selectableAB, [], DISABLED],
    ['another locked, and options without SQL', lockedAB, null, enforced],
    [
      'two others restricted, and one is used',
      { policies: [...lockedAB.policies, policy('shop', 'selectable', 'x')] },
      ['region'],
      DISABLED,
    ],
    ['another locked to no common value', both(locked('a'), locked('b')), ['region'], [['region', list()]]],
    ['another locked, and removed', lockedAB, ['region'], DISABLED, [gone, city]],
    ['another fixed, and used', fixedOfCity, ['region'], [['region', list('a')]]],
    ['another fixed, and not used', fixedOfCity, [], DISABLED],
    ['a parameter without a filter fixed', fixedOfCity, ['region'], DISABLED, [gone, city]],
    [
      'a policy of its own, whose values are shown without the SQL',
      { policies: [...lockedAB.policies, policy('city', 'selectable', 'x')] },
      [],
      null,
    ],
    ['a policy of its own, which need not be used', { policies: [policy('city', 'selectable', 'x')] }, [], []],
  ];
  it.each(cases)('is bound by the rules, or not run (%s)', (_what, terms, uses, outcome, of = [region, city, shop]) => {
    const ask = () => optionsRule(viewerRules(of, terms), 'city', uses && (() => new Set(uses))).bound;
    if (outcome === DISABLED) expect(ask).toThrow(expect.objectContaining({ reason: DISABLED }));
    else expect(outcome === null ? ask() : [...(ask() ?? ['none'])]).toEqual(outcome);
  });
});

describe('a filter that a viewer attribute decides', () => {
  const attributes = { area: ['a'] };
  const shown = input('region', { viewerAttributes: ['area'], appliesTo: ['v'], skips: ['w'] });

  it('is not shown, and is enforced on the options of other filters', () => {
    const rules = viewerRules([shown, input('city')], { attributes });
    expect(usableFilters(rules).map(({ input: { slug } }) => slug)).toEqual(['city']);
    expect(rules.enforced).toEqual(new Map([['region', list('a')]]));
    expect(() => optionsRule(rules, 'region', null)).toThrow(
      expect.objectContaining({ reason: 'sharing.filter_disabled' }),
    );
    expect(() => optionsRule(rules, 'city', () => new Set())).toThrow(
      expect.objectContaining({ reason: 'sharing.filter_disabled' }),
    );
    expect(optionsRule(rules, 'city', () => new Set(['region'])).bound).toEqual(new Map([['region', list('a')]]));
    const without = viewerRules([shown, input('city')], {});
    expect(() => optionsRule(without, 'city', () => new Set(['region']))).toThrow();
  });

  it('refuses the visualizations that it does not apply to', () => {
    expect([...viewerRules([shown], { attributes }).refused]).toEqual(['w']);
    expect([...viewerRules([shown], {}).refused].sort()).toEqual(['v', 'w']);
    const besides = input('region', { appliesTo: ['v'], skips: ['w', 'u'], unbound: ['w'] });
    expect([...viewerRules([besides], { attributes }).refused]).toEqual(['w']);
    expect([...viewerRules([besides, shown], { isInsider: true }).refused]).toEqual([]);
  });
});

describe('the viewer attributes of several memberships', () => {
  const cases: [ViewerAttributes[], ViewerAttributes][] = [
    [[], {}],
    [[{ a: 'x' }, { b: ['y'] }], { a: 'x', b: ['y'] }],
    [[{ a: ['x', 'y'] }, { a: ['y', 'z'] }], { a: ['y'] }],
    [[{ a: 'x' }, { a: ['x', 'y'] }], { a: ['x'] }],
    [[{ a: 7 }, { a: '7' }], { a: [7] }],
    [[{ a: 'x' }, { a: 'y' }, { a: 'x' }], { a: [] }],
  ];
  it.each(cases)('%j combined are %j', (all, together) => {
    expect(combinedAttributes(all)).toEqual(together);
    expect(Object.keys(combinedAttributes(all.toReversed()))).toHaveLength(Object.keys(together).length);
  });
});

describe('the permission to download', () => {
  it.each<[what: string, terms: ViewerTerms, allowed: boolean]>([
    ['nothing said', {}, false],
    ['nobody who shares', { downloads: [] }, false],
    ['one that allows', { downloads: [true] }, true],
    ['one that does not', { downloads: [false] }, false],
    ['all that allow', { downloads: [true, true] }, true],
    ['one of several that does not', { downloads: [true, false, true] }, false],
  ])('is given by those who share: %s', (_what, terms, allowed) => {
    expect(viewerRules([region], terms).downloads).toBe(allowed);
    expect(viewerRules([region], { ...terms, ...lockedAB }).downloads).toBe(allowed);
    expect(decide({ ...terms, ...lockedAB }, {})).toEqual(list('a', 'b'));
  });
});
