import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/kernel/failure.ts';
import type { BoundValue, BoundValues } from '../../src/kernel/parameters.ts';
import {
  boundValues,
  canonicalValues,
  type Dimension,
  type FilterPolicy,
  isNothing,
  optionsRule,
  POLICY_MODES,
  type PolicyMode,
  type Terms,
  usableFilters,
  viewerRules,
} from '../../src/kernel/sharing-rules.ts';
import { embedProblems, policyProblems } from '../../src/kernel/sharing-terms.ts';

const dimension = (slug: string, overrides: Partial<Dimension> = {}): Dimension => ({
  slug,
  label: slug,
  kind: 'multi_select',
  default: null,
  required: false,
  origin: 'filter',
  takesList: true,
  ...overrides,
});

const policy = (slug: string, mode: PolicyMode, ...allowed_values: string[]): FilterPolicy => ({
  filter_slug: slug,
  filter_kind: 'multi_select',
  mode,
  allowed_values,
});

const region = dimension('region');
const decide = (
  terms: Terms,
  sent: Record<string, unknown>,
  dimensions = [region],
): BoundValue | undefined | string => {
  try {
    return boundValues(viewerRules(dimensions, terms), sent).get(dimensions[0]?.slug ?? '');
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return error.reason;
  }
};
const list = (...values: string[]) => ({ type: 'list', values });
const VIOLATION = 'sharing.policy_violation';
const INVALID = 'request.invalid';

const selectableAB = { policies: [policy('region', 'selectable', 'a', 'b')] };
const lockedAB = { policies: [policy('region', 'locked', 'a', 'b')] };
const hidden = { policies: [policy('region', 'hidden')] };
const withDefault = dimension('region', { default: ['c'] });
const embed = (terms: Partial<NonNullable<Terms['embed']>>) => ({
  embed: { fixed: {}, allowed: [], required: [], ...terms },
});

describe('what a request is bound to', () => {
  const cases: [what: string, terms: Terms, sent: Record<string, unknown>, bound: unknown, dimension?: Dimension][] = [
    ['without terms: what is sent', {}, { region: ['a'] }, list('a')],
    ['without terms: nothing', {}, {}, null],
    ['without terms: the default', {}, {}, list('c'), withDefault],
    ['without terms: the default taken away', {}, { region: null }, null, withDefault],
    ['without terms: a required default stays', {}, { region: [] }, list('c'), { ...withDefault, required: true }],
    ['without terms: a required value is missing', {}, {}, INVALID, dimension('region', { required: true })],
    ['without terms: an unknown parameter', {}, { other: 1 }, INVALID],
    ['without terms: a wrong kind', {}, { region: { a: 1 } }, INVALID],

    ['selectable: one of the allowed', selectableAB, { region: ['b'] }, list('b')],
    ['selectable: left out means all allowed', selectableAB, {}, list('a', 'b')],
    ['selectable: no value means all allowed', selectableAB, { region: '' }, list('a', 'b')],
    ['selectable: an empty list means all allowed', selectableAB, { region: [] }, list('a', 'b')],
    ['selectable: never the default', selectableAB, {}, list('a', 'b'), withDefault],
    ['selectable: another value', selectableAB, { region: ['c'] }, VIOLATION],
    ['selectable: one allowed, one not', selectableAB, { region: ['a', 'c'] }, VIOLATION],
    ['selectable: another case is another value', selectableAB, { region: ['A'] }, VIOLATION],
    ['selectable: satisfies required', selectableAB, {}, list('a', 'b'), dimension('region', { required: true })],
    ['selectable on a select: a list', selectableAB, {}, list('a', 'b'), dimension('region', { kind: 'select' })],
    ['selectable on a select: one', selectableAB, { region: 'a' }, list('a'), dimension('region', { kind: 'select' })],
    [
      'selectable on a select: a list is no choice',
      selectableAB,
      { region: ['a', 'b'] },
      INVALID,
      dimension('region', { kind: 'select' }),
    ],

    ['locked: all allowed', lockedAB, {}, list('a', 'b')],
    ['locked: an allowed value sent', lockedAB, { region: ['a'] }, VIOLATION],
    ['locked: null sent', lockedAB, { region: null }, VIOLATION],
    ['hidden: no value', hidden, {}, null],
    ['hidden: no default either', hidden, {}, null, withDefault],
    ['hidden: a value sent', hidden, { region: ['c'] }, VIOLATION, withDefault],

    [
      'two selectable: what both allow',
      { policies: [policy('region', 'selectable', 'a', 'b'), policy('region', 'selectable', 'b', 'c')] },
      {},
      list('b'),
    ],
    [
      'two selectable: what one allows',
      { policies: [policy('region', 'selectable', 'a', 'b'), policy('region', 'selectable', 'b', 'c')] },
      { region: ['a'] },
      VIOLATION,
    ],
    [
      'nothing in common: no rows',
      { policies: [policy('region', 'locked', 'a'), policy('region', 'selectable', 'b')] },
      {},
      list(),
    ],
    [
      'locked and selectable: closed',
      { policies: [policy('region', 'selectable', 'a', 'b'), policy('region', 'locked', 'b', 'c')] },
      { region: ['b'] },
      VIOLATION,
    ],
    [
      'hidden and selectable: bound, not chosen',
      { policies: [policy('region', 'selectable', 'a'), policy('region', 'hidden')] },
      {},
      list('a'),
    ],
    [
      'hidden and selectable, the other way round',
      { policies: [policy('region', 'hidden'), policy('region', 'selectable', 'a')] },
      {},
      list('a'),
    ],
    ['a policy for a filter that is gone', { policies: [policy('gone', 'locked', 'a')] }, {}, VIOLATION],
    ['hiding a filter that is gone', { policies: [policy('gone', 'hidden')] }, { region: ['a'] }, list('a')],
    [
      'a policy for a filter that takes no list any more',
      lockedAB,
      {},
      VIOLATION,
      dimension('region', { kind: 'text' }),
    ],

    ['embed: fixed', embed({ fixed: { region: 'a' } }), {}, list('a')],
    ['embed: fixed and sent again', embed({ fixed: { region: 'a' } }), { region: 'a' }, VIOLATION],
    ['embed: not allowed', embed({}), { region: 'a' }, VIOLATION],
    ['embed: not allowed, so the default', embed({}), {}, list('c'), withDefault],
    ['embed: allowed', embed({ allowed: ['region'] }), { region: 'a' }, list('a')],
    ['embed: allowed, left out', embed({ allowed: ['region'] }), {}, null],
    ['embed: required, left out', embed({ allowed: ['region'], required: ['region'] }), {}, INVALID],
    [
      'embed: required, left to its default',
      embed({ allowed: ['region'], required: ['region'] }),
      {},
      INVALID,
      withDefault,
    ],
    ['embed: required and sent', embed({ allowed: ['region'], required: ['region'] }), { region: 'a' }, list('a')],
    [
      'embed: fixed to what its kind no longer takes',
      embed({ fixed: { region: 'a' } }),
      {},
      list(),
      dimension('region', { kind: 'number' }),
    ],
    ['embed and policy: fixed within', { ...embed({ fixed: { region: ['a', 'c'] } }), ...selectableAB }, {}, list('a')],
    [
      'embed and policy: fixed to no value',
      { ...embed({ fixed: { region: null } }), ...selectableAB },
      {},
      list('a', 'b'),
    ],
    [
      'embed and policy: allowed within',
      { ...embed({ allowed: ['region'] }), ...selectableAB },
      { region: 'c' },
      VIOLATION,
    ],

    [
      'a parameter of a visualization: closed to outsiders',
      {},
      { region: 'a' },
      VIOLATION,
      dimension('region', { origin: 'parameter' }),
    ],
    [
      'a parameter of a visualization: its own default',
      {},
      {},
      undefined,
      dimension('region', { origin: 'parameter', default: 'a' }),
    ],
    [
      'a parameter of a visualization: open to the company',
      { parametersOpen: true },
      { region: 'a' },
      list('a'),
      dimension('region', { origin: 'parameter' }),
    ],
    [
      'a parameter of a visualization: opened by an embed',
      embed({ allowed: ['region'] }),
      { region: 'a' },
      list('a'),
      dimension('region', { origin: 'parameter' }),
    ],
  ];
  it.each(cases)('%s', (_what, terms, sent, bound, of = region) => {
    expect(decide(terms, sent, [of])).toEqual(bound);
  });

  it('names everything that is wrong at once, and takes names of JavaScript for names', () => {
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

describe('what a viewer sees', () => {
  it('shows what is open, with the default where it may be chosen', () => {
    const dimensions = [withDefault, dimension('city', { default: ['a'] }), dimension('shop')];
    const terms = {
      policies: [
        policy('region', 'selectable', 'a'),
        policy('city', 'selectable', 'a', 'b'),
        policy('shop', 'locked', 'x'),
      ],
    };
    expect(
      usableFilters(viewerRules(dimensions, terms)).map(({ dimension: { slug }, allowed, default: standing }) => [
        slug,
        allowed,
        standing,
      ]),
    ).toEqual([
      ['region', ['a'], null],
      ['city', ['a', 'b'], ['a']],
    ]);
  });

  it('gives options of open filters alone', () => {
    expect(optionsRule(viewerRules([region], selectableAB), 'region').allowed).toEqual(['a', 'b']);
    for (const terms of [lockedAB, hidden, embed({})]) {
      expect(() => optionsRule(viewerRules([region], terms), 'region')).toThrow(
        expect.objectContaining({ reason: 'sharing.filter_disabled' }),
      );
    }
    expect(() => optionsRule(viewerRules([region]), 'other')).toThrow(
      expect.objectContaining({ reason: 'sharing.filter_not_found' }),
    );
  });
});

describe('terms that cannot be kept are refused when they are made', () => {
  const scalar = dimension('one', { kind: 'select', takesList: false });
  const dimensions = [region, scalar, dimension('name', { kind: 'text' }), dimension('must', { required: true })];
  it.each<[FilterPolicy[], string[]]>([
    [[policy('region', 'selectable', 'a')], []],
    [[policy('other', 'hidden')], ['p.0.filter_slug']],
    [[policy('name', 'locked', 'a')], ['p.0.filter_slug']],
    [[policy('region', 'locked')], ['p.0.allowed_values']],
    [[policy('region', 'hidden'), policy('region', 'hidden')], ['p.1.filter_slug']],
    [[policy('one', 'selectable', 'a')], ['p.0.filter_kind']],
    [[{ ...policy('one', 'selectable', 'a', 'b'), filter_kind: 'select' }], ['p.0.filter_slug']],
    [[{ ...policy('one', 'locked', 'a'), filter_kind: 'select' }], []],
    [[policy('must', 'hidden')], ['p.0.mode']],
  ])('%j', (policies, fields) => {
    expect(policyProblems(dimensions, policies, 'p').map(({ field }) => field)).toEqual(fields);
  });

  it.each([
    [{ fixed: { region: 'a', must: 'b' } }, []],
    [{ fixed: { region: { a: 1 }, must: 'b' } }, ['fixed_params.region']],
    [{ fixed: { other: 'a', must: 'b' } }, ['fixed_params.other']],
    [{ fixed: { must: 'b' }, allowed: ['must'] }, ['allowed_params.0']],
    [{ allowed: ['must', 'other'] }, ['allowed_params.1']],
    [{ allowed: ['must'], required: ['region'] }, ['required_params.0']],
    [{ allowed: ['region'] }, ['allowed_params']],
  ])('%j', (terms, fields) => {
    expect(embedProblems(dimensions, embed(terms).embed).map(({ field }) => field)).toEqual(fields);
  });
});

const VALUES = ['a', 'b', 'c', 'd'];
const SLUGS = ['x', 'y'];
const someValues = fc.subarray(VALUES);
const anyPolicy = fc.record<FilterPolicy>({
  filter_slug: fc.constantFrom(...SLUGS),
  filter_kind: fc.constant('multi_select' as const),
  mode: fc.constantFrom(...POLICY_MODES),
  allowed_values: someValues,
});
const anyInput = fc.oneof(
  someValues,
  fc.constantFrom(...VALUES),
  fc.constantFrom(null, '', [], 'e', ['a', 'e'], 7, {}),
  fc.jsonValue(),
);
const anySent = fc.oneof(
  fc.dictionary(fc.constantFrom(...SLUGS), anyInput, { maxKeys: 2 }),
  fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }),
);
const anyEmbed = fc.option(
  fc.record({
    fixed: fc.dictionary(fc.constantFrom(...SLUGS), someValues, { maxKeys: 1 }),
    allowed: fc.subarray(SLUGS),
    required: fc.constant([] as string[]),
  }),
  { nil: undefined },
);
const anyDimensions = fc.tuple(
  ...SLUGS.map((slug) =>
    fc
      .record({
        kind: fc.constantFrom('select' as const, 'multi_select' as const),
        default: fc.option(fc.constantFrom(...VALUES)),
      })
      .map((more) => dimension(slug, more)),
  ),
);

/** Rows over the two dimensions, and those that bound values let through where SQL says `[[ x = ANY({{x}}) ]]`. */
const ROWS = VALUES.flatMap((x) => VALUES.map((y) => ({ x, y })));
const through = (values: BoundValues, row: Record<string, string>): boolean =>
  SLUGS.every((slug) => {
    const value = values.get(slug) ?? null;
    return value === null || (value.type === 'list' && value.values.includes(row[slug] as string));
  });

describe('properties', () => {
  it('no parameters that a viewer can send return a row outside the intersection', () => {
    let rows = 0;
    fc.assert(
      fc.property(
        anyDimensions,
        fc.array(anyPolicy, { maxLength: 6 }),
        anyEmbed,
        anySent,
        (dimensions, policies, embedTerms, sent) => {
          let values: BoundValues;
          try {
            values = boundValues(viewerRules(dimensions, { policies, embed: embedTerms }), sent);
          } catch (error) {
            if (error instanceof Failure) return;
            throw error;
          }
          const narrowing = policies.filter(({ mode }) => mode !== 'hidden');
          for (const row of ROWS.filter((each) => through(values, each))) {
            rows++;
            for (const { filter_slug, allowed_values } of narrowing)
              expect(allowed_values).toContain(row[filter_slug as 'x']);
            const fixed = Object.entries(embedTerms?.fixed ?? {}).filter(([, given]) => given.length > 0);
            for (const [slug, given] of fixed) {
              const kind = dimensions.find((each) => each.slug === slug)?.kind;
              if (kind === 'multi_select') expect(given).toContain(row[slug as 'x']);
            }
          }
        },
      ),
      { numRuns: 20_000 },
    );
    expect(rows).toBeGreaterThan(10_000);
  });

  it('more terms never show more, where no default stands in for what is left out', () => {
    const plain = SLUGS.map((slug) => dimension(slug));
    const rowsUnder = (policies: FilterPolicy[], sent: Record<string, unknown>) => {
      try {
        const values = boundValues(viewerRules(plain, { policies }), sent);
        return ROWS.filter((row) => through(values, row));
      } catch {
        return [];
      }
    };
    const aSending = fc.dictionary(fc.constantFrom(...SLUGS), someValues, { maxKeys: 2 });
    fc.assert(
      fc.property(fc.array(anyPolicy, { maxLength: 3 }), anyPolicy, aSending, (policies, one, sent) => {
        const before = rowsUnder(policies, sent);
        const hidesWhatIsSent = one.mode === 'hidden' && Object.hasOwn(sent, one.filter_slug);
        const after = rowsUnder([...policies, one], sent);
        if (hidesWhatIsSent) expect(after).toEqual([]);
        if (before.length > 0) for (const row of after) expect(before).toContainEqual(row);
      }),
      { numRuns: 3_000 },
    );
  });

  it('the order of policies does not matter, and equal keys mean equal values', () => {
    const outcome = (dimensions: Dimension[], policies: FilterPolicy[], sent: Record<string, unknown>) => {
      try {
        return canonicalValues(boundValues(viewerRules(dimensions, { policies }), sent));
      } catch (error) {
        return (error as Failure).reason;
      }
    };
    fc.assert(
      fc.property(anyDimensions, fc.array(anyPolicy, { maxLength: 5 }), anySent, (dimensions, policies, sent) => {
        expect(outcome(dimensions, policies.toReversed(), sent)).toBe(outcome(dimensions, policies, sent));
      }),
    );
    fc.assert(
      fc.property(anyDimensions, anySent, anySent, (dimensions, one, other) => {
        const [a, b] = [one, other].map((sent) => {
          try {
            return boundValues(viewerRules(dimensions), sent);
          } catch {
            return undefined;
          }
        });
        fc.pre(a !== undefined && b !== undefined);
        const same = ROWS.every((row) => through(a as BoundValues, row) === through(b as BoundValues, row));
        if (canonicalValues(a as BoundValues) === canonicalValues(b as BoundValues)) expect(same).toBe(true);
      }),
    );
  });

  it('an empty list is nothing, and only that', () => {
    expect([list(), list('a'), null, undefined].map((value) => isNothing(value as BoundValue))).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});
