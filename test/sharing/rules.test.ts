import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/kernel/failure.ts';
import type { FilterPolicy, Input, ViewerTerms } from '../../src/sharing/filter-policy.ts';
import { listUsableFilters, makeOptionsRule } from '../../src/sharing/filters.ts';
import { makeViewerRules } from '../../src/sharing/rules.ts';
import { computeBoundValues } from '../../src/sharing/values.ts';
import { combineAttributes, type ViewerAttributes } from '../../src/sharing/viewer-attributes.ts';
import type { BoundValue } from '../../src/sql-templates/parameters.ts';
import { makeEmbedTerms, makeInput, makeList, makePolicy } from './support.ts';

const regionInput = makeInput('region');
const decideValues = (
  terms: ViewerTerms,
  sentValues: Record<string, unknown>,
  inputs = [regionInput],
): BoundValue | undefined | string => {
  try {
    return computeBoundValues(makeViewerRules(inputs, terms), sentValues).get(inputs[0]?.slug ?? '');
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return error.reason;
  }
};
const VIOLATION_CODE = 'sharing.policy_violation';
const INVALID_CODE = 'request.invalid';

const selectableTerms = { policies: [makePolicy('region', 'selectable', 'a', 'b')] };
const lockedTerms = { policies: [makePolicy('region', 'locked', 'a', 'b')] };
const hiddenTerms = { policies: [makePolicy('region', 'hidden')] };
const inputWithDefault = makeInput('region', { default: ['c'] });
const inputByArea = makeInput('region', { viewerAttributes: ['area'] });
const inputByBoth = makeInput('region', { viewerAttributes: ['area', 'zone'] });
const makeInputByArea = (kind: Input['kind']): Input => ({ ...inputByArea, kind, takesList: false });
const selectInput = makeInput('region', { kind: 'select' });
const requiredInput = makeInput('region', { required: true });
const parameterInput = makeInput('region', { origin: 'parameter' });
const makeAreaTerms = (value: string | number | string[]): ViewerTerms => ({ attributes: { area: value } });
const makeSelectablePolicy = (...values: string[]) => makePolicy('region', 'selectable', ...values);
const makeLockedPolicy = (...values: string[]) => makePolicy('region', 'locked', ...values);
const makeTerms = (...policies: FilterPolicy[]): ViewerTerms => ({ policies });
const makeFixedTerms = (value: unknown) => makeEmbedTerms({ fixedValues: { region: value } });
const allowedEmbedTerms = makeEmbedTerms({ allowedSlugs: ['region'] });
const requiredEmbedTerms = makeEmbedTerms({ allowedSlugs: ['region'], requiredSlugs: ['region'] });
const fixedCityTerms = makeEmbedTerms({ fixedValues: { region: ['a'] }, allowedSlugs: ['city'] });

describe('a filter value in the request of a viewer', () => {
  const cases: [title: string, terms: ViewerTerms, sent: Record<string, unknown>, bound: unknown, input?: Input][] = [
    ['without rules: what is sent', {}, { region: ['a'] }, makeList('a')],
    ['without rules: nothing', {}, {}, null],
    ['without rules: the default', {}, {}, makeList('c'), inputWithDefault],
    ['without rules: the default taken away', {}, { region: null }, null, inputWithDefault],
    [
      'without rules: a required default stays',
      {},
      { region: [] },
      makeList('c'),
      { ...inputWithDefault, required: true },
    ],
    ['without rules: a required value is missing', {}, {}, INVALID_CODE, requiredInput],
    ['without rules: an unknown parameter', {}, { other: 1 }, INVALID_CODE],
    [
      'an embed: an unknown parameter',
      { embed: { fixedValues: {}, allowedSlugs: [], requiredSlugs: [] } },
      { other: 1 },
      VIOLATION_CODE,
    ],
    ['without rules: a wrong kind', {}, { region: { a: 1 } }, INVALID_CODE],

    ['selectable: one of the allowed', selectableTerms, { region: ['b'] }, makeList('b')],
    ['selectable: left out means all allowed', selectableTerms, {}, makeList('a', 'b')],
    ['selectable: no value means all allowed', selectableTerms, { region: '' }, makeList('a', 'b')],
    ['selectable: an empty list means all allowed', selectableTerms, { region: [] }, makeList('a', 'b')],
    ['selectable: never the default', selectableTerms, {}, makeList('a', 'b'), inputWithDefault],
    ['selectable: another value', selectableTerms, { region: ['c'] }, VIOLATION_CODE],
    ['selectable: one allowed, one not', selectableTerms, { region: ['a', 'c'] }, VIOLATION_CODE],
    ['selectable: another case is another value', selectableTerms, { region: ['A'] }, VIOLATION_CODE],
    ['selectable: satisfies required', selectableTerms, {}, makeList('a', 'b'), requiredInput],
    ['selectable on a select: a list', selectableTerms, {}, makeList('a', 'b'), selectInput],
    ['selectable on a select: one', selectableTerms, { region: 'a' }, makeList('a'), selectInput],
    ['selectable on a select: a list is no choice', selectableTerms, { region: ['a', 'b'] }, INVALID_CODE, selectInput],

    ['an attribute: a list', makeAreaTerms(['a', 'b']), {}, makeList('a', 'b'), inputByArea],
    ['an attribute: one value', makeAreaTerms('a'), {}, makeList('a'), inputByArea],
    ['an attribute: a number is the text of it', makeAreaTerms(7), {}, makeList('7'), inputByArea],
    [
      'an attribute: sent, though it is the same value',
      makeAreaTerms(['a']),
      { region: ['a'] },
      VIOLATION_CODE,
      inputByArea,
    ],
    ['an attribute: null is sent', makeAreaTerms(['a']), { region: null }, VIOLATION_CODE, inputByArea],
    ['an attribute: never the default', makeAreaTerms(['a']), {}, makeList('a'), { ...inputByArea, default: ['c'] }],
    ['an attribute: satisfies required', makeAreaTerms(['a']), {}, makeList('a'), { ...inputByArea, required: true }],
    ['an attribute: a viewer without it', { attributes: { region: ['a'] } }, {}, VIOLATION_CODE, inputByArea],
    ['an attribute: a viewer of whom nothing is known', {}, {}, VIOLATION_CODE, inputByArea],
    ['an attribute: an empty list is none', makeAreaTerms([]), {}, VIOLATION_CODE, inputByArea],
    ['an attribute: an empty text is none', makeAreaTerms(''), {}, VIOLATION_CODE, inputByArea],
    [
      'an attribute: an inherited property',
      { attributes: {} },
      {},
      VIOLATION_CODE,
      { ...inputByArea, viewerAttributes: ['constructor'] },
    ],
    ['an attribute: its name is sent', makeAreaTerms(['a']), { area: ['b'] }, INVALID_CODE, inputByArea],
    ['an attribute on a select: one', makeAreaTerms('a'), {}, makeList('a'), makeInputByArea('select')],
    ['an attribute on a select: a list of one', makeAreaTerms(['a']), {}, makeList('a'), makeInputByArea('select')],
    [
      'an attribute on a select: more than its SQL takes',
      makeAreaTerms(['a', 'b']),
      {},
      VIOLATION_CODE,
      makeInputByArea('select'),
    ],
    [
      'an attribute on a select: a list for such SQL',
      makeAreaTerms(['a', 'b']),
      {},
      makeList('a', 'b'),
      { ...inputByArea, kind: 'select' },
    ],
    ['an attribute on a number', makeAreaTerms(7), {}, { type: 'number', value: '7' }, makeInputByArea('number')],
    ['an attribute on a number: no number', makeAreaTerms('x'), {}, VIOLATION_CODE, makeInputByArea('number')],
    ['an attribute on a text: a list', makeAreaTerms(['a', 'b']), {}, VIOLATION_CODE, makeInputByArea('text')],
    [
      'two attributes: what both allow',
      { attributes: { area: ['a', 'b'], zone: ['b', 'c'] } },
      {},
      makeList('b'),
      inputByBoth,
    ],
    ['two attributes: none in common', { attributes: { area: ['a'], zone: ['c'] } }, {}, makeList(), inputByBoth],
    ['two attributes: one of them', makeAreaTerms(['a']), {}, VIOLATION_CODE, inputByBoth],
    [
      'an attribute under a selectable policy',
      { ...selectableTerms, ...makeAreaTerms(['b', 'c']) },
      {},
      makeList('b'),
      inputByArea,
    ],
    ['an attribute under a locked policy', { ...lockedTerms, ...makeAreaTerms(['c']) }, {}, makeList(), inputByArea],
    ['an attribute under a hidden policy', { ...hiddenTerms, ...makeAreaTerms(['a']) }, {}, makeList('a'), inputByArea],
    ['no attribute under a hidden policy', { ...hiddenTerms, attributes: {} }, {}, VIOLATION_CODE, inputByArea],
    ['no attribute under a locked policy', { ...lockedTerms, attributes: {} }, {}, VIOLATION_CODE, inputByArea],
    [
      'an attribute and a fixed value',
      { ...makeFixedTerms(['a', 'c']), ...makeAreaTerms(['a', 'b']) },
      {},
      makeList('a'),
      inputByArea,
    ],
    [
      'an attribute and an allowed one',
      { ...allowedEmbedTerms, ...makeAreaTerms(['a']) },
      { region: ['a'] },
      VIOLATION_CODE,
      inputByArea,
    ],
    [
      'an attribute and a required one',
      { ...requiredEmbedTerms, ...makeAreaTerms(['a']) },
      {},
      makeList('a'),
      inputByArea,
    ],
    ['an insider chooses', { isInsider: true }, { region: ['b'] }, makeList('b'), inputByArea],
    ['an insider has the default', { isInsider: true }, {}, makeList('c'), { ...inputByArea, default: ['c'] }],
    ['locked: all allowed', lockedTerms, {}, makeList('a', 'b')],
    ['locked: an allowed value sent', lockedTerms, { region: ['a'] }, VIOLATION_CODE],
    ['locked: null sent', lockedTerms, { region: null }, VIOLATION_CODE],
    ['hidden: no value', hiddenTerms, {}, null],
    ['hidden: no default either', hiddenTerms, {}, null, inputWithDefault],
    ['hidden: a value sent', hiddenTerms, { region: ['c'] }, VIOLATION_CODE, inputWithDefault],

    [
      'two selectable: what both allow',
      makeTerms(makeSelectablePolicy('a', 'b'), makeSelectablePolicy('b', 'c')),
      {},
      makeList('b'),
    ],
    [
      'two selectable: what one allows',
      makeTerms(makeSelectablePolicy('a', 'b'), makeSelectablePolicy('b', 'c')),
      { region: ['a'] },
      VIOLATION_CODE,
    ],
    [
      'two policies without a common value: no rows',
      makeTerms(makeLockedPolicy('a'), makeSelectablePolicy('b')),
      {},
      makeList(),
    ],
    [
      'locked and selectable: closed',
      makeTerms(makeSelectablePolicy('a', 'b'), makeLockedPolicy('b', 'c')),
      { region: ['b'] },
      VIOLATION_CODE,
    ],
    [
      'hidden and selectable: bound, not chosen',
      makeTerms(makeSelectablePolicy('a'), makePolicy('region', 'hidden')),
      {},
      makeList('a'),
    ],
    [
      'selectable and hidden: bound, not chosen',
      makeTerms(makePolicy('region', 'hidden'), makeSelectablePolicy('a')),
      {},
      makeList('a'),
    ],
    ['a policy for a filter that is gone', { policies: [makePolicy('gone', 'locked', 'a')] }, {}, VIOLATION_CODE],
    ['hiding a filter that is gone', { policies: [makePolicy('gone', 'hidden')] }, { region: ['a'] }, makeList('a')],
    [
      'a policy for a filter that takes no list any more',
      lockedTerms,
      {},
      VIOLATION_CODE,
      makeInput('region', { kind: 'text' }),
    ],

    ['embed: fixed', makeFixedTerms('a'), {}, makeList('a')],
    ['embed: fixed and sent again', makeFixedTerms('a'), { region: 'a' }, VIOLATION_CODE],
    ['embed: not allowed', makeEmbedTerms({}), { region: 'a' }, VIOLATION_CODE],
    ['embed: not allowed, so the default', makeEmbedTerms({}), {}, makeList('c'), inputWithDefault],
    ['embed: allowed', allowedEmbedTerms, { region: 'a' }, makeList('a')],
    ['embed: allowed, left out', allowedEmbedTerms, {}, null],
    ['embed: required, left out', requiredEmbedTerms, {}, INVALID_CODE],
    ['embed: required, left to its default', requiredEmbedTerms, {}, INVALID_CODE, inputWithDefault],
    ['embed: required and sent', requiredEmbedTerms, { region: 'a' }, makeList('a')],
    [
      'embed: fixed to what its kind no longer takes',
      makeFixedTerms('a'),
      {},
      makeList(),
      makeInput('region', { kind: 'number' }),
    ],
    ['embed and policy: fixed within', { ...makeFixedTerms(['a', 'c']), ...selectableTerms }, {}, makeList('a')],
    ['embed and policy: fixed to no value', { ...makeFixedTerms(null), ...selectableTerms }, {}, makeList('a', 'b')],
    ['embed and policy: allowed within', { ...allowedEmbedTerms, ...selectableTerms }, { region: 'c' }, VIOLATION_CODE],

    ['a parameter: closed to outsiders', {}, { region: 'a' }, VIOLATION_CODE, parameterInput],
    ['a parameter: its own default', {}, {}, undefined, { ...parameterInput, default: 'a' }],
    ['a parameter: open to the company', { isInsider: true }, { region: 'a' }, makeList('a'), parameterInput],
    ['a parameter: opened by an embed', allowedEmbedTerms, { region: 'a' }, makeList('a'), parameterInput],
  ];
  it.each(cases)(
    'is bound or refused by the rules (%s)',
    (_what, terms, sentValues, boundValues, inputs = regionInput) => {
      expect(decideValues(terms, sentValues, [inputs])).toEqual(boundValues);
    },
  );

  it('is refused with all problems at once, also for names such as __proto__', () => {
    const sentValues = JSON.parse('{"__proto__": "a", "constructor": "b", "region": {"deep": [[[]]]}}');
    const bindValues = () => computeBoundValues(makeViewerRules([regionInput]), sentValues);
    expect(bindValues).toThrow(expect.objectContaining({ reason: INVALID_CODE }));
    try {
      bindValues();
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
  it('are the filters with a choice, with the default if that is allowed', () => {
    const inputs = [inputWithDefault, makeInput('city', { default: ['a'] }), makeInput('shop')];
    const terms = {
      policies: [
        makeSelectablePolicy('a'),
        makePolicy('city', 'selectable', 'a', 'b'),
        makePolicy('shop', 'locked', 'x'),
      ],
    };
    const filters = listUsableFilters(makeViewerRules(inputs, terms));
    expect(filters.map(({ slug, default: defaultValue }) => [slug, defaultValue])).toEqual([
      ['region', null],
      ['city', ['a']],
    ]);
  });

  it('have options only if the options may be chosen', () => {
    expect(makeOptionsRule(makeViewerRules([regionInput], selectableTerms), 'region', null).allowedValues).toEqual([
      'a',
      'b',
    ]);
    for (const terms of [lockedTerms, hiddenTerms, makeEmbedTerms({})]) {
      expect(() => makeOptionsRule(makeViewerRules([regionInput], terms), 'region', null)).toThrow(
        expect.objectContaining({ reason: 'sharing.filter_disabled' }),
      );
    }
    expect(() => makeOptionsRule(makeViewerRules([regionInput]), 'other', null)).toThrow(
      expect.objectContaining({ reason: 'sharing.filter_not_found' }),
    );
  });
});

describe('a visualization that the rules of its viewer do not filter', () => {
  const inputWithWidgets = makeInput('region', { appliesTo: ['v', 'w'] });
  const narrowedInput = makeInput('region', { appliesTo: ['v'], skippedIds: ['w'] });
  const removedInput = makeInput('region', { appliesTo: ['v', 'w'], origin: 'parameter' });
  const textInput = makeInput('region', { appliesTo: ['v'], skippedIds: ['w'], kind: 'text' });
  const fixedTerms = makeFixedTerms(['a']);
  const cases: [title: string, terms: ViewerTerms, of: Input[], refused: string[], unenforceable: string[]][] = [
    ['no rules', {}, [narrowedInput], [], []],
    ['a locked filter on all charts', lockedTerms, [inputWithWidgets], [], []],
    ['a locked filter not on all charts', lockedTerms, [narrowedInput], ['w'], []],
    ['a selectable filter not on all charts', selectableTerms, [narrowedInput], ['w'], []],
    ['a hidden filter', hiddenTerms, [narrowedInput], [], []],
    ['a locked filter that is removed', lockedTerms, [removedInput], ['v', 'w'], []],
    ['a selectable filter that is removed', selectableTerms, [removedInput], ['v', 'w'], []],
    ['a locked filter that is now a text', lockedTerms, [textInput], ['v', 'w'], []],
    ['a locked filter on no chart', lockedTerms, [makeInput('region')], [], []],
    ['a locked filter, without filter and parameter', lockedTerms, [], [], ['region']],
    ['a fixed filter on all charts', fixedTerms, [inputWithWidgets], [], []],
    ['a fixed filter not on all charts', fixedTerms, [narrowedInput], ['w'], []],
    ['a fixed parameter without a filter', fixedTerms, [removedInput], [], []],
    ['a fixed filter, without filter and parameter', fixedTerms, [], [], ['region']],
    ['a filter that is fixed to null', makeFixedTerms(null), [], [], []],
  ];
  it.each(cases)(
    'is refused where a policy or an embed fixes values for it (%s)',
    (_what, terms, of, refusedIds, unenforceableSlugs) => {
      const rules = makeViewerRules(of, terms);
      expect([[...rules.refusedIds], rules.unenforceableSlugs]).toEqual([refusedIds, unenforceableSlugs]);
      if (unenforceableSlugs.length > 0)
        expect(() => computeBoundValues(rules, {})).toThrow(expect.objectContaining({ reason: VIOLATION_CODE }));
      else expect(() => computeBoundValues(rules, {})).not.toThrow();
    },
  );

  it('is refused without naming a filter that the viewer did not send', () => {
    const decideSentValues = (inputs: Input[], terms: ViewerTerms, sentValues: Record<string, unknown>) => {
      try {
        computeBoundValues(makeViewerRules(inputs, terms), sentValues);
      } catch (error) {
        return JSON.stringify((error as Failure).detail);
      }
      throw new Error('Nothing was refused.');
    };
    expect(decideSentValues([], lockedTerms, {})).not.toContain('region');
    expect(decideSentValues([requiredInput], makeEmbedTerms({}), {})).not.toContain('region');
    expect(decideSentValues([regionInput], lockedTerms, { region: ['a'] })).toContain('region');
  });
});

describe('the SQL of filter options', () => {
  const cityInput = makeInput('city');
  const shopInput = makeInput('shop');
  const parameterOnlyInput = makeInput('region', { origin: 'parameter', appliesTo: ['v'] });
  const DISABLED_CODE = 'sharing.filter_disabled';
  const enforcedValues = [['region', makeList('a', 'b')]];
  const cases: [title: string, terms: ViewerTerms, uses: string[] | null, outcome: unknown, of?: Input[]][] = [
    ['without rules: nothing is bound', {}, ['region'], []],
    ['another filter locked, and used', lockedTerms, ['region'], enforcedValues],
    ['another selectable, and used', selectableTerms, ['region', 'shop'], enforcedValues],
    ['another hidden: nothing is bound', hiddenTerms, ['region'], []],
    ['another filter locked, and not used', lockedTerms, ['shop'], DISABLED_CODE],
    ['another selectable, and not used', selectableTerms, [], DISABLED_CODE],
    ['another locked, and options without SQL', lockedTerms, null, enforcedValues],
    [
      'two others restricted, and one is used',
      { policies: [...lockedTerms.policies, makePolicy('shop', 'selectable', 'x')] },
      ['region'],
      DISABLED_CODE,
    ],
    [
      'another locked to no common value',
      makeTerms(makeLockedPolicy('a'), makeLockedPolicy('b')),
      ['region'],
      [['region', makeList()]],
    ],
    ['another locked, and removed', lockedTerms, ['region'], DISABLED_CODE, [parameterOnlyInput, cityInput]],
    ['another fixed, and used', fixedCityTerms, ['region'], [['region', makeList('a')]]],
    ['another fixed, and not used', fixedCityTerms, [], DISABLED_CODE],
    ['a parameter without a filter fixed', fixedCityTerms, ['region'], DISABLED_CODE, [parameterOnlyInput, cityInput]],
    [
      'a policy of its own, whose values are shown without the SQL',
      { policies: [...lockedTerms.policies, makePolicy('city', 'selectable', 'x')] },
      [],
      null,
    ],
    ['a policy of its own, which need not be used', { policies: [makePolicy('city', 'selectable', 'x')] }, [], []],
  ];
  it.each(cases)(
    'is bound by the rules, or not run (%s)',
    (_what, terms, uses, outcome, inputs = [regionInput, cityInput, shopInput]) => {
      const bindOptions = () =>
        makeOptionsRule(makeViewerRules(inputs, terms), 'city', uses && (() => new Set(uses))).boundValues;
      if (outcome === DISABLED_CODE) expect(bindOptions).toThrow(expect.objectContaining({ reason: DISABLED_CODE }));
      else expect(outcome === null ? bindOptions() : [...(bindOptions() ?? ['none'])]).toEqual(outcome);
    },
  );
});

describe('a filter that a viewer attribute decides', () => {
  const attributes = { area: ['a'] };
  const attributeInput = makeInput('region', { viewerAttributes: ['area'], appliesTo: ['v'], skippedIds: ['w'] });

  it('is not shown, and is enforced on the options of other filters', () => {
    const rules = makeViewerRules([attributeInput, makeInput('city')], { attributes });
    expect(listUsableFilters(rules).map(({ slug }) => slug)).toEqual(['city']);
    expect(rules.enforcedValues).toEqual(new Map([['region', makeList('a')]]));
    expect(() => makeOptionsRule(rules, 'region', null)).toThrow(
      expect.objectContaining({ reason: 'sharing.filter_disabled' }),
    );
    expect(() => makeOptionsRule(rules, 'city', () => new Set())).toThrow(
      expect.objectContaining({ reason: 'sharing.filter_disabled' }),
    );
    expect(makeOptionsRule(rules, 'city', () => new Set(['region'])).boundValues).toEqual(
      new Map([['region', makeList('a')]]),
    );
    const rulesWithoutAttributes = makeViewerRules([attributeInput, makeInput('city')], {});
    expect(() => makeOptionsRule(rulesWithoutAttributes, 'city', () => new Set(['region']))).toThrow();
  });

  it('refuses the visualizations that it does not apply to', () => {
    expect([...makeViewerRules([attributeInput], { attributes }).refusedIds]).toEqual(['w']);
    expect([...makeViewerRules([attributeInput], {}).refusedIds].sort()).toEqual(['v', 'w']);
    const partlyBoundInput = makeInput('region', { appliesTo: ['v'], skippedIds: ['w', 'u'], unboundIds: ['w'] });
    expect([...makeViewerRules([partlyBoundInput], { attributes }).refusedIds]).toEqual(['w']);
    expect([...makeViewerRules([partlyBoundInput, attributeInput], { isInsider: true }).refusedIds]).toEqual([]);
  });
});

describe('the viewer attributes of several memberships', () => {
  const cases: [ViewerAttributes[], ViewerAttributes][] = [
    [[], {}],
    [[{ a: 'x' }, { b: ['y'] }], { a: 'x', b: ['y'] }],
    [[{ a: ['x', 'y'] }, { a: ['y', 'z'] }], { a: ['y'] }],
    [[{ a: 'x' }, { a: ['x', 'y'] }], { a: 'x' }],
    [[{ a: 7 }, { a: '7' }], { a: 7 }],
    [[{ a: 'x' }, { a: 'y' }, { a: 'x' }], { a: [] }],
  ];
  it.each(cases)('%j are combined to %j', (attributeSets, expectedAttributes) => {
    expect(combineAttributes(attributeSets)).toEqual(expectedAttributes);
    expect(Object.keys(combineAttributes(attributeSets.toReversed()))).toHaveLength(
      Object.keys(expectedAttributes).length,
    );
  });
});

it.each<[title: string, terms: ViewerTerms, allowed: boolean]>([
  ['nothing said', {}, false],
  ['nobody who shares', { downloads: [] }, false],
  ['one that allows', { downloads: [true] }, true],
  ['one that does not', { downloads: [false] }, false],
  ['all that allow', { downloads: [true, true] }, true],
  ['one of several that does not', { downloads: [true, false, true] }, false],
])('the permission to download depends on whether all shares and embeds allow it: %s', (_what, terms, allowed) => {
  expect(makeViewerRules([regionInput], terms).allowsDownloads).toBe(allowed);
  expect(makeViewerRules([regionInput], { ...terms, ...lockedTerms }).allowsDownloads).toBe(allowed);
  expect(decideValues({ ...terms, ...lockedTerms }, {})).toEqual(makeList('a', 'b'));
});
