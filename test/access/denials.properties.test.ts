import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UserActor } from '../../src/access/actors.ts';
import { isDeniedOn, listDeniedIds } from '../../src/access/denials.ts';
import { compileAccess } from '../../src/access/evaluation.ts';
import { makeResourceArn } from '../../src/permissions/arn.ts';
import { makeDenialCheck } from '../../src/permissions/denials.ts';

const COMPANY = '0123456789abcdef01234567';
const DASHBOARD_ARN_PREFIX = makeResourceArn('dashboards:get', COMPANY, '');

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
/** Creates random patterns from an ARN: pieces of it are cut out and replaced by `*` or other text. */
const makePattern = (name: string) =>
  fc
    .array(fc.record({ from: fc.nat(name.length), length: fc.nat(40), by: fc.constantFrom('*', '**', '*a*', '') }), {
      maxLength: 4,
    })
    .map((cuts) =>
      cuts.reduce((text, { from, length, by }) => text.slice(0, from) + by + text.slice(from + length), name),
    );

describe('the ids that a Deny covers', () => {
  it('equal the ids that the evaluator denies, for random patterns', () => {
    fc.assert(
      fc.property(
        id.chain((ownId) =>
          fc.tuple(
            fc.constant(ownId),
            fc.array(id, { maxLength: 5 }),
            fc.array(makePattern(DASHBOARD_ARN_PREFIX + ownId), { minLength: 1, maxLength: 5 }),
          ),
        ),
        ([own, others, resources]) => {
          const actor = makeDeniedActor(resources);
          const deniedIds = listDeniedIds(actor, ['dashboards:get']);
          const isDeniedId = makeDenialCheck(deniedIds);
          for (const testedId of [own, ...others]) {
            expect(isDeniedId(testedId)).toBe(
              isDeniedOn(actor.access, 'dashboards:get', DASHBOARD_ARN_PREFIX + testedId),
            );
          }
          // D1 takes patterns of 50 bytes.
          expect(deniedIds.patterns.filter((pattern) => pattern.length > 50)).toEqual([]);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('are listed within five seconds for a document full of hostile patterns', () => {
    const resources = Array.from({ length: 256 }, (_, n) => `arn:*${'a*'.repeat(240)}${n}`);
    const startedAt = performance.now();
    listDeniedIds(makeDeniedActor(resources), ['dashboards:get']);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});
