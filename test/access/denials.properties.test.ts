import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UserActor } from '../../src/access/actors.ts';
import { isDeniedOn, listDeniedIds } from '../../src/access/denials.ts';
import { compileAccess } from '../../src/access/evaluation.ts';
import { resourceArn } from '../../src/permissions/arn.ts';
import { deniedBy } from '../../src/permissions/denials.ts';

const COMPANY = '0123456789abcdef01234567';
const PREFIX = resourceArn('dashboards:get', COMPANY, '');

const makeDeniedActor = (resources: string[]): UserActor => {
  const document = {
    version: '2024-01-01' as const,
    statements: [{ effect: 'Deny' as const, actions: ['dashboards:*'], resources }],
  };
  const groups = [{ id: 'g', policies: [{ id: 'p', document }], roles: [], permissions: [] }];
  const access = compileAccess({ companyId: COMPANY, isOwner: false, groups });
  return { kind: 'user', companyId: COMPANY, access } as unknown as UserActor;
};

const id = fc.string({ unit: fc.constantFrom(...'01ab'), minLength: 24, maxLength: 24 });
/** Parts of the ARN of an id, with some of what is between them replaced by `*`. */
const makePattern = (of: string) =>
  fc
    .array(fc.record({ from: fc.nat(of.length), length: fc.nat(40), by: fc.constantFrom('*', '**', '*a*', '') }), {
      maxLength: 4,
    })
    .map((cuts) =>
      cuts.reduce((text, { from, length, by }) => text.slice(0, from) + by + text.slice(from + length), of),
    );

describe('the ids that a Deny covers', () => {
  it('are those that the evaluator denies, for random patterns', () => {
    fc.assert(
      fc.property(
        id.chain((own) =>
          fc.tuple(
            fc.constant(own),
            fc.array(id, { maxLength: 5 }),
            fc.array(makePattern(PREFIX + own), { minLength: 1, maxLength: 5 }),
          ),
        ),
        ([own, others, resources]) => {
          const actor = makeDeniedActor(resources);
          const denied = listDeniedIds(actor, ['dashboards:get']);
          const isDenied = deniedBy(denied);
          for (const each of [own, ...others]) {
            expect(isDenied(each)).toBe(isDeniedOn(actor.access, 'dashboards:get', PREFIX + each));
          }
          // D1 takes patterns of 50 bytes.
          expect(denied.patterns.filter((pattern) => pattern.length > 50)).toEqual([]);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('are found within five seconds for a document full of hostile patterns', () => {
    const resources = Array.from({ length: 256 }, (_, n) => `arn:*${'a*'.repeat(240)}${n}`);
    const started = performance.now();
    listDeniedIds(makeDeniedActor(resources), ['dashboards:get']);
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});
