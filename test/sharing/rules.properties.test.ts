import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/kernel/failure.ts';
import { viewerRules } from '../../src/sharing/rules.ts';
import { type FilterPolicy, type Input, POLICY_MODES } from '../../src/sharing/terms.ts';
import { allowsNothing, boundValues, canonicalValues } from '../../src/sharing/values.ts';
import type { ViewerAttributes } from '../../src/sharing/viewer-attributes.ts';
import type { BoundValue, BoundValues } from '../../src/sql-templates/parameters.ts';
import { input, list } from './support.ts';

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
/** What is known of a viewer, and what decides which input: any attribute may be missing, of another kind, or nobody's. */
const ATTRIBUTES = ['p', 'q'];
const anyAttributes = fc.dictionary(
  fc.constantFrom(...ATTRIBUTES, ...SLUGS),
  fc.oneof(someValues, fc.constantFrom<ViewerAttributes[string]>(...VALUES, 7, true, '')),
  { maxKeys: 3 },
);
const anyDeciding = fc.array(fc.oneof({ weight: 5, arbitrary: fc.constant<string[]>([]) }, fc.subarray(ATTRIBUTES)), {
  minLength: SLUGS.length,
  maxLength: SLUGS.length,
});
const decidedBy = (inputs: Input[], deciding: string[][]): Input[] =>
  inputs.map((each) => ({ ...each, viewerAttributes: deciding[SLUGS.indexOf(each.slug)] ?? [] }));
/** Holds where a viewer's attributes allow a row: all that decide one of these inputs do. */
const allows = (attributes: ViewerAttributes, inputs: Input[], row: Record<string, string>): boolean =>
  inputs.every(({ slug, viewerAttributes }) =>
    viewerAttributes.every((name) =>
      [attributes[name]]
        .flat()
        .map(String)
        .includes(row[slug] as string),
    ),
  );
const anyDimensions = fc.tuple(
  ...SLUGS.map((slug) =>
    fc
      .record({
        kind: fc.constantFrom('select' as const, 'multi_select' as const),
        default: fc.option(fc.constantFrom(...VALUES)),
      })
      .map((more) => input(slug, more)),
  ),
);

/** Rows over the two inputs, and those that bound values let through where SQL says `[[ x = ANY({{x}}) ]]`. */
const ROWS = VALUES.flatMap((x) => VALUES.map((y) => ({ x, y })));
const through = (values: BoundValues, row: Record<string, string>): boolean =>
  SLUGS.every((slug) => {
    const value = values.get(slug) ?? null;
    return value === null || (value.type === 'list' && value.values.includes(row[slug] as string));
  });

/** Widgets that each have some of the parameters, filters of which each is for some of the widgets, and some that are gone. */
const WIDGETS = ['v', 'w', 'u'];
const anyDashboard = fc
  .record({
    has: fc.array(fc.subarray(SLUGS), { minLength: WIDGETS.length, maxLength: WIDGETS.length }),
    filters: fc.array(fc.option(fc.subarray(WIDGETS)), { minLength: SLUGS.length, maxLength: SLUGS.length }),
    kinds: fc.array(fc.constantFrom('multi_select' as const, 'text' as const), { minLength: 2, maxLength: 2 }),
  })
  .map(({ has, filters, kinds }) => {
    const parametersOf = new Map(WIDGETS.map((id, at) => [id, has[at] as string[]]));
    const inputs = SLUGS.flatMap((slug, at) => {
      const users = WIDGETS.filter((id) => parametersOf.get(id)?.includes(slug));
      const filtered = filters[at];
      if (filtered === null || filtered === undefined) {
        return users.length === 0 ? [] : [input(slug, { origin: 'parameter', appliesTo: users })];
      }
      const appliesTo = users.filter((id) => filtered.includes(id));
      return [input(slug, { kind: kinds[at], appliesTo, skips: users.filter((id) => !appliesTo.includes(id)) })];
    });
    return { parametersOf, inputs };
  });

describe('the filter rules of a viewer', () => {
  it('show no row that they do not allow, however the dashboard is changed', () => {
    let shown = 0;
    let refused = 0;
    fc.assert(
      fc.property(
        anyDashboard,
        fc.array(anyPolicy, { maxLength: 3 }),
        anyEmbed,
        anySent,
        anyDeciding,
        anyAttributes,
        ({ parametersOf, inputs: plain }, policies, embedTerms, sent, deciding, attributes) => {
          const inputs = decidedBy(plain, deciding);
          const rules = viewerRules(inputs, { policies, embed: embedTerms, attributes });
          let values: BoundValues;
          try {
            values = boundValues(rules, sent);
          } catch (error) {
            if (error instanceof Failure) return;
            throw error;
          }
          refused += rules.refused.size;
          const fixed = Object.entries(embedTerms?.fixed ?? {})
            .filter(([, given]) => given.length > 0)
            .map(([filter_slug, allowed_values]) => ({ filter_slug, allowed_values }));
          for (const [id, parameters] of parametersOf) {
            if (rules.refused.has(id)) continue;
            const reaching = inputs.filter(({ appliesTo }) => appliesTo.includes(id)).map(({ slug }) => slug);
            const own = new Map([...values].filter(([slug]) => reaching.includes(slug)));
            const deciders = inputs.filter(({ slug, kind }) => parameters.includes(slug) && kind !== 'text');
            const seen = ROWS.filter((each) => through(own, each));
            expect(seen.filter((row) => !allows(attributes, deciders, row))).toEqual([]);
            for (const { filter_slug, allowed_values } of [
              ...policies.filter(({ mode }) => mode !== 'hidden'),
              ...fixed,
            ]) {
              if (!parameters.includes(filter_slug)) continue;
              // A text holds one value, and a fixed list is none: nothing is let through.
              if (own.get(filter_slug)?.type === 'text') throw new Error('a policy on a text was let through');
              shown += seen.length;
              expect(seen.filter((row) => !allowed_values.includes(row[filter_slug as 'x']))).toEqual([]);
            }
          }
        },
      ),
      { numRuns: 25_000 },
    );
    expect(shown).toBeGreaterThan(10_000);
    expect(refused).toBeGreaterThan(1_000);
  });

  it('show only rows that every rule allows, whatever parameters a viewer sends', () => {
    let rows = 0;
    let decided = 0;
    fc.assert(
      fc.property(
        anyDimensions,
        fc.array(anyPolicy, { maxLength: 6 }),
        anyEmbed,
        anySent,
        anyDeciding,
        anyAttributes,
        (plain, policies, embedTerms, sent, deciding, attributes) => {
          const inputs = decidedBy(plain, deciding);
          let values: BoundValues;
          try {
            values = boundValues(viewerRules(inputs, { policies, embed: embedTerms, attributes }), sent);
          } catch (error) {
            if (error instanceof Failure) return;
            throw error;
          }
          const narrowing = policies.filter(({ mode }) => mode !== 'hidden');
          const seen = ROWS.filter((each) => through(values, each));
          rows += seen.length;
          decided += seen.length * deciding.flat().length;
          const fixed = Object.entries(embedTerms?.fixed ?? {}).filter(
            ([slug, given]) => given.length > 0 && inputs.find((each) => each.slug === slug)?.kind === 'multi_select',
          );
          const isLetThrough = (row: (typeof ROWS)[number]) =>
            allows(attributes, inputs, row) &&
            narrowing.every(({ filter_slug, allowed_values }) => allowed_values.includes(row[filter_slug as 'x'])) &&
            fixed.every(([slug, given]) => given.includes(row[slug as 'x']));
          expect(seen.filter((row) => !isLetThrough(row))).toEqual([]);
        },
      ),
      { numRuns: 25_000 },
    );
    expect(rows).toBeGreaterThan(10_000);
    expect(decided).toBeGreaterThan(250);
  });

  it('show no more rows when a policy is added, if no filter has a default', () => {
    const plain = SLUGS.map((slug) => input(slug));
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

  it('do not depend on the order of policies, and have equal values under equal cache keys', () => {
    const outcome = (inputs: Input[], policies: FilterPolicy[], sent: Record<string, unknown>) => {
      try {
        return canonicalValues(boundValues(viewerRules(inputs, { policies }), sent));
      } catch (error) {
        return (error as Failure).reason;
      }
    };
    fc.assert(
      fc.property(anyDimensions, fc.array(anyPolicy, { maxLength: 5 }), anySent, (inputs, policies, sent) => {
        expect(outcome(inputs, policies.toReversed(), sent)).toBe(outcome(inputs, policies, sent));
      }),
    );
    fc.assert(
      fc.property(anyDimensions, anySent, anySent, (inputs, one, other) => {
        const [a, b] = [one, other].map((sent) => {
          try {
            return boundValues(viewerRules(inputs), sent);
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

  it('show no rows for an empty list of values, and only for that', () => {
    expect([list(), list('a'), null, undefined].map((value) => allowsNothing(value as BoundValue))).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});
