import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/kernel/failure.ts';
import { type FilterPolicy, type Input, POLICY_MODES } from '../../src/sharing/filter-policy.ts';
import { makeViewerRules } from '../../src/sharing/rules.ts';
import { allowsNothing, computeBoundValues, formatCanonicalValues } from '../../src/sharing/values.ts';
import type { ViewerAttributes } from '../../src/sharing/viewer-attributes.ts';
import type { BoundValue, BoundValues } from '../../src/sql-templates/parameters.ts';
import { makeInput, makeList } from './support.ts';

const FILTER_VALUES = ['a', 'b', 'c', 'd'];
const FILTER_SLUGS = ['x', 'y'];
const arbitraryValues = fc.subarray(FILTER_VALUES);
const arbitraryPolicy = fc.record<FilterPolicy>({
  filter_slug: fc.constantFrom(...FILTER_SLUGS),
  filter_kind: fc.constant('multi_select' as const),
  mode: fc.constantFrom(...POLICY_MODES),
  allowed_values: arbitraryValues,
});
const arbitraryInput = fc.oneof(
  arbitraryValues,
  fc.constantFrom(...FILTER_VALUES),
  fc.constantFrom(null, '', [], 'e', ['a', 'e'], 7, {}),
  fc.jsonValue(),
);
const arbitrarySentValues = fc.oneof(
  fc.dictionary(fc.constantFrom(...FILTER_SLUGS), arbitraryInput, { maxKeys: 2 }),
  fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }),
);
const arbitraryEmbed = fc.option(
  fc.record({
    fixedValues: fc.dictionary(fc.constantFrom(...FILTER_SLUGS), arbitraryValues, { maxKeys: 1 }),
    allowedSlugs: fc.subarray(FILTER_SLUGS),
    requiredSlugs: fc.constant([] as string[]),
  }),
  { nil: undefined },
);
/** Names of the viewer attributes that decide inputs: any attribute may be missing, of another kind, or belong to no input. */
const ATTRIBUTE_NAMES = ['p', 'q'];
const arbitraryAttributes = fc.dictionary(
  fc.constantFrom(...ATTRIBUTE_NAMES, ...FILTER_SLUGS),
  fc.oneof(arbitraryValues, fc.constantFrom<ViewerAttributes[string]>(...FILTER_VALUES, 7, true, '')),
  { maxKeys: 3 },
);
const arbitraryDeciders = fc.array(
  fc.oneof({ weight: 5, arbitrary: fc.constant<string[]>([]) }, fc.subarray(ATTRIBUTE_NAMES)),
  {
    minLength: FILTER_SLUGS.length,
    maxLength: FILTER_SLUGS.length,
  },
);
const addDecidingAttributes = (inputs: Input[], decidingAttributes: string[][]): Input[] =>
  inputs.map((input) => ({ ...input, viewerAttributes: decidingAttributes[FILTER_SLUGS.indexOf(input.slug)] ?? [] }));
/** Returns whether a viewer's attributes allow a row: all attributes that decide one of these inputs must allow it. */
const doAttributesAllow = (attributes: ViewerAttributes, inputs: Input[], row: Record<string, string>): boolean =>
  inputs.every(({ slug, viewerAttributes }) =>
    viewerAttributes.every((name) =>
      [attributes[name]]
        .flat()
        .map(String)
        .includes(row[slug] as string),
    ),
  );
const arbitraryDimensions = fc.tuple(
  ...FILTER_SLUGS.map((slug) =>
    fc
      .record({
        kind: fc.constantFrom('select' as const, 'multi_select' as const),
        default: fc.option(fc.constantFrom(...FILTER_VALUES)),
      })
      .map((overrides) => makeInput(slug, overrides)),
  ),
);

/** All rows over the two inputs, and whether SQL with `[[ x = ANY({{x}}) ]]` returns a row for bound values. */
const ROWS = FILTER_VALUES.flatMap((x) => FILTER_VALUES.map((y) => ({ x, y })));
const isRowSelected = (values: BoundValues, row: Record<string, string>): boolean =>
  FILTER_SLUGS.every((slug) => {
    const value = values.get(slug) ?? null;
    return value === null || (value.type === 'list' && value.values.includes(row[slug] as string));
  });

const WIDGET_IDS = ['v', 'w', 'u'];
/**
 * Generates widgets that each have some of the parameters, filters that each apply to some of the widgets, and removed
 * filters.
 */
const arbitraryDashboard = fc
  .record({
    has: fc.array(fc.subarray(FILTER_SLUGS), { minLength: WIDGET_IDS.length, maxLength: WIDGET_IDS.length }),
    filters: fc.array(fc.option(fc.subarray(WIDGET_IDS)), {
      minLength: FILTER_SLUGS.length,
      maxLength: FILTER_SLUGS.length,
    }),
    kinds: fc.array(fc.constantFrom('multi_select' as const, 'text' as const), { minLength: 2, maxLength: 2 }),
  })
  .map(({ has, filters, kinds }) => {
    const parametersByWidget = new Map(WIDGET_IDS.map((id, at) => [id, has[at] as string[]]));
    const inputs = FILTER_SLUGS.flatMap((slug, at) => {
      const widgetsWithSlug = WIDGET_IDS.filter((id) => parametersByWidget.get(id)?.includes(slug));
      const filteredWidgets = filters[at];
      if (filteredWidgets === null || filteredWidgets === undefined) {
        return widgetsWithSlug.length === 0
          ? []
          : [makeInput(slug, { origin: 'parameter', appliesTo: widgetsWithSlug })];
      }
      const appliesTo = widgetsWithSlug.filter((id) => filteredWidgets.includes(id));
      return [
        makeInput(slug, {
          kind: kinds[at],
          appliesTo,
          skippedIds: widgetsWithSlug.filter((id) => !appliesTo.includes(id)),
        }),
      ];
    });
    return { parametersOf: parametersByWidget, inputs };
  });

describe('the filter rules of a viewer', () => {
  it('show no row that they do not allow, however the dashboard is changed', () => {
    let shownCount = 0;
    let refusedCount = 0;
    fc.assert(
      fc.property(
        arbitraryDashboard,
        fc.array(arbitraryPolicy, { maxLength: 3 }),
        arbitraryEmbed,
        arbitrarySentValues,
        arbitraryDeciders,
        arbitraryAttributes,
        (
          { parametersOf: parametersByWidget, inputs: plainInputs },
          policies,
          embedTerms,
          sentValues,
          decidingAttributes,
          attributes,
        ) => {
          const inputs = addDecidingAttributes(plainInputs, decidingAttributes);
          const rules = makeViewerRules(inputs, { policies, embed: embedTerms, attributes });
          let values: BoundValues;
          try {
            values = computeBoundValues(rules, sentValues);
          } catch (error) {
            if (error instanceof Failure) return;
            throw error;
          }
          refusedCount += rules.refusedIds.size;
          const fixedValues = Object.entries(embedTerms?.fixedValues ?? {})
            .filter(([, given]) => given.length > 0)
            .map(([filter_slug, allowed_values]) => ({ filter_slug, allowed_values }));
          for (const [id, parameters] of parametersByWidget) {
            if (rules.refusedIds.has(id)) continue;
            const reachingSlugs = inputs.filter(({ appliesTo }) => appliesTo.includes(id)).map(({ slug }) => slug);
            const ownValues = new Map([...values].filter(([slug]) => reachingSlugs.includes(slug)));
            const decidingInputs = inputs.filter(({ slug, kind }) => parameters.includes(slug) && kind !== 'text');
            const visibleRows = ROWS.filter((listedRow) => isRowSelected(ownValues, listedRow));
            expect(visibleRows.filter((row) => !doAttributesAllow(attributes, decidingInputs, row))).toEqual([]);
            for (const { filter_slug, allowed_values } of [
              ...policies.filter(({ mode }) => mode !== 'hidden'),
              ...fixedValues,
            ]) {
              if (!parameters.includes(filter_slug)) continue;
              // A text holds one value, and a fixed list is none: nothing is let through.
              if (ownValues.get(filter_slug)?.type === 'text') throw new Error('a policy on a text was let through');
              shownCount += visibleRows.length;
              expect(visibleRows.filter((row) => !allowed_values.includes(row[filter_slug as 'x']))).toEqual([]);
            }
          }
        },
      ),
      { numRuns: 25_000 },
    );
    expect(shownCount).toBeGreaterThan(10_000);
    expect(refusedCount).toBeGreaterThan(1_000);
  });

  it('show only rows that every rule allows, whatever parameters a viewer sends', () => {
    let rowCount = 0;
    let decidedCount = 0;
    fc.assert(
      fc.property(
        arbitraryDimensions,
        fc.array(arbitraryPolicy, { maxLength: 6 }),
        arbitraryEmbed,
        arbitrarySentValues,
        arbitraryDeciders,
        arbitraryAttributes,
        (plainInputs, policies, embedTerms, sentValues, decidingAttributes, attributes) => {
          const inputs = addDecidingAttributes(plainInputs, decidingAttributes);
          let values: BoundValues;
          try {
            values = computeBoundValues(
              makeViewerRules(inputs, { policies, embed: embedTerms, attributes }),
              sentValues,
            );
          } catch (error) {
            if (error instanceof Failure) return;
            throw error;
          }
          const narrowingPolicies = policies.filter(({ mode }) => mode !== 'hidden');
          const visibleRows = ROWS.filter((listedRow) => isRowSelected(values, listedRow));
          rowCount += visibleRows.length;
          decidedCount += visibleRows.length * decidingAttributes.flat().length;
          const fixedValues = Object.entries(embedTerms?.fixedValues ?? {}).filter(
            ([slug, given]) =>
              given.length > 0 && inputs.find((listedInput) => listedInput.slug === slug)?.kind === 'multi_select',
          );
          const isRowAllowed = (row: (typeof ROWS)[number]) =>
            doAttributesAllow(attributes, inputs, row) &&
            narrowingPolicies.every(({ filter_slug, allowed_values }) =>
              allowed_values.includes(row[filter_slug as 'x']),
            ) &&
            fixedValues.every(([slug, given]) => given.includes(row[slug as 'x']));
          expect(visibleRows.filter((row) => !isRowAllowed(row))).toEqual([]);
        },
      ),
      { numRuns: 25_000 },
    );
    expect(rowCount).toBeGreaterThan(10_000);
    expect(decidedCount).toBeGreaterThan(250);
  });

  it('show no more rows when a policy is added, if no filter has a default', () => {
    const plainInputs = FILTER_SLUGS.map((slug) => makeInput(slug));
    const selectRows = (policies: FilterPolicy[], sentValues: Record<string, unknown>) => {
      try {
        const values = computeBoundValues(makeViewerRules(plainInputs, { policies }), sentValues);
        return ROWS.filter((row) => isRowSelected(values, row));
      } catch {
        return [];
      }
    };
    const arbitraryChoices = fc.dictionary(fc.constantFrom(...FILTER_SLUGS), arbitraryValues, { maxKeys: 2 });
    fc.assert(
      fc.property(
        fc.array(arbitraryPolicy, { maxLength: 3 }),
        arbitraryPolicy,
        arbitraryChoices,
        (policies, addedPolicy, sentValues) => {
          const rowsBefore = selectRows(policies, sentValues);
          const hidesSentFilter = addedPolicy.mode === 'hidden' && Object.hasOwn(sentValues, addedPolicy.filter_slug);
          const rowsAfter = selectRows([...policies, addedPolicy], sentValues);
          if (hidesSentFilter) expect(rowsAfter).toEqual([]);
          if (rowsBefore.length > 0) for (const row of rowsAfter) expect(rowsBefore).toContainEqual(row);
        },
      ),
      { numRuns: 3_000 },
    );
  });

  it('do not depend on the order of policies, and have equal values under equal cache keys', () => {
    const decideOutcome = (inputs: Input[], policies: FilterPolicy[], sentValues: Record<string, unknown>) => {
      try {
        return formatCanonicalValues(computeBoundValues(makeViewerRules(inputs, { policies }), sentValues));
      } catch (error) {
        return (error as Failure).reason;
      }
    };
    fc.assert(
      fc.property(
        arbitraryDimensions,
        fc.array(arbitraryPolicy, { maxLength: 5 }),
        arbitrarySentValues,
        (inputs, policies, sentValues) => {
          expect(decideOutcome(inputs, policies.toReversed(), sentValues)).toBe(
            decideOutcome(inputs, policies, sentValues),
          );
        },
      ),
    );
    fc.assert(
      fc.property(arbitraryDimensions, arbitrarySentValues, arbitrarySentValues, (inputs, firstSentValues, other) => {
        const [a, b] = [firstSentValues, other].map((sentValues) => {
          try {
            return computeBoundValues(makeViewerRules(inputs), sentValues);
          } catch {
            return undefined;
          }
        });
        fc.pre(a !== undefined && b !== undefined);
        const hasSameRows = ROWS.every(
          (row) => isRowSelected(a as BoundValues, row) === isRowSelected(b as BoundValues, row),
        );
        if (formatCanonicalValues(a as BoundValues) === formatCanonicalValues(b as BoundValues))
          expect(hasSameRows).toBe(true);
      }),
    );
  });

  it('show no rows for an empty list of values, and for no other value', () => {
    expect([makeList(), makeList('a'), null, undefined].map((value) => allowsNothing(value as BoundValue))).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});
