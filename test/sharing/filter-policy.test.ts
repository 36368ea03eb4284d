import { describe, expect, it } from 'vitest';
import type { FilterPolicy } from '../../src/sharing/filter-policy.ts';
import { findEmbedProblems, findPolicyProblems } from '../../src/sharing/filter-policy.ts';
import { makeEmbedTerms, makeInput, makePolicy } from './support.ts';

const regionInput = makeInput('region');

describe('the validation of filter policies and embeds', () => {
  const scalarInput = makeInput('one', { kind: 'select', takesList: false });
  const inputs = [regionInput, scalarInput, makeInput('name', { kind: 'text' }), makeInput('must', { required: true })];
  it.each<[FilterPolicy[], string[]]>([
    [[makePolicy('region', 'selectable', 'a')], []],
    [[makePolicy('other', 'hidden')], ['p.0.filter_slug']],
    [[makePolicy('name', 'locked', 'a')], ['p.0.filter_slug']],
    [[makePolicy('region', 'locked')], ['p.0.allowed_values']],
    [[makePolicy('region', 'hidden'), makePolicy('region', 'hidden')], ['p.1.filter_slug']],
    [[makePolicy('one', 'selectable', 'a')], ['p.0.filter_kind']],
    [[{ ...makePolicy('one', 'selectable', 'a', 'b'), filter_kind: 'select' }], ['p.0.filter_slug']],
    [[{ ...makePolicy('one', 'locked', 'a'), filter_kind: 'select' }], []],
    [[makePolicy('must', 'hidden')], ['p.0.mode']],
  ])('names the invalid fields of the policies %j', (policies, fields) => {
    expect(findPolicyProblems(inputs, policies, 'p').map(({ field }) => field)).toEqual(fields);
  });

  it.each([
    [{ fixedValues: { region: 'a', must: 'b' } }, []],
    [{ fixedValues: { region: { a: 1 }, must: 'b' } }, ['fixed_params.region']],
    [{ fixedValues: { other: 'a', must: 'b' } }, ['fixed_params.other']],
    [{ fixedValues: { must: 'b' }, allowedSlugs: ['must'] }, ['allowed_params.0']],
    [{ allowedSlugs: ['must', 'other'] }, ['allowed_params.1']],
    [{ allowedSlugs: ['must'], requiredSlugs: ['region'] }, ['required_params.0']],
    [{ allowedSlugs: ['region'] }, ['allowed_params']],
  ])('names the invalid fields of the embed %j', (terms, fields) => {
    expect(findEmbedProblems(inputs, makeEmbedTerms(terms).embed).map(({ field }) => field)).toEqual(fields);
  });
});
