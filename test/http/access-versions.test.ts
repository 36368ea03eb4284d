import { env, runInDurableObject } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { AccessVersions, MAX_CHANGE_MS } from '../../src/objects/access-versions.ts';

const runWithVersions = (
  name: string,
  testVersions: (versions: AccessVersions, reopen: () => AccessVersions) => void,
) =>
  runInDurableObject(env.ORGANIZATION_GATE.getByName(name), (_, { storage }) =>
    testVersions(new AccessVersions(storage.sql), () => new AccessVersions(storage.sql)),
  );

describe('the version of a principal’s access', () => {
  it('does not change when the access of other principals changes, nor by a restart', () =>
    runWithVersions('stays', (versions, reopen) => {
      const versionBefore = versions.getVersion('a', 0);
      versions.beginChange({ id: '1', affected: ['b'] }, 0);
      versions.endChange({ id: '1', affected: ['b'] });
      expect(versions.getVersion('a', 0)).toBe(versionBefore);
      expect(reopen().getVersion('a', 0)).toBe(versionBefore);
    }));

  it('is unknown while a change is under way, at most for a minute', () =>
    runWithVersions('unknown', (versions) => {
      const versionBefore = versions.getVersion('a', 0);
      versions.beginChange({ id: '1', affected: 'everybody' }, 0);
      expect(versions.getVersion('a', MAX_CHANGE_MS - 1)).toBeNull();
      const versionAfter = versions.getVersion('a', MAX_CHANGE_MS);
      expect(versionAfter).not.toBeNull();
      expect(versionAfter).not.toBe(versionBefore);
    }));

  it('changes for everybody when one change affects too many principals to track them individually', () =>
    runWithVersions('many', (versions, reopen) => {
      const versionBefore = versions.getVersion('nobody has changed this one', 0);
      const manyPrincipals = Array.from({ length: 5001 }, (_, index) => `principal ${index}`);
      versions.endChange({ id: '1', affected: manyPrincipals });
      expect(versions.getVersion('nobody has changed this one', 0)).not.toBe(versionBefore);
      expect(reopen().getVersion('principal 1', 0)).toBe(versions.getVersion('principal 2', 0));
    }));

  it('changes for everybody when several changes together affect too many principals to track them individually', () =>
    runWithVersions('more and more', (versions) => {
      const versionBefore = versions.getVersion('nobody has changed this one', 0);
      const makePrincipals = (first: number) =>
        Array.from({ length: 2501 }, (_, index) => `principal ${first + index}`);
      versions.endChange({ id: '1', affected: makePrincipals(0) });
      expect(versions.getVersion('nobody has changed this one', 0)).toBe(versionBefore);
      versions.endChange({ id: '2', affected: makePrincipals(2501) });
      expect(versions.getVersion('nobody has changed this one', 0)).not.toBe(versionBefore);
    }));

  it('stays unknown, also after a restart, until the last of several changes has ended', () =>
    runWithVersions('several', (versions, reopen) => {
      const [one, other] = [
        { id: '1', affected: ['a'] },
        { id: '2', affected: ['a', 'b'] },
      ];
      versions.beginChange(one, 0);
      versions.beginChange(other, 0);
      versions.endChange(one);
      for (const gate of [versions, reopen()]) {
        expect(['a', 'b', 'c'].map((principal) => gate.getVersion(principal, 0) === null)).toEqual([true, true, false]);
      }
      versions.endChange(other);
      expect(reopen().getVersion('a', 0)).not.toBeNull();
    }));

  it('is different in another company’s Durable Object', async () => {
    const versionsOfCompanies: (string | null)[] = [];
    for (const name of ['one', 'another'])
      await runWithVersions(name, (versions) => versionsOfCompanies.push(versions.getVersion('a', 0)));
    expect(versionsOfCompanies[0]).not.toBe(versionsOfCompanies[1]);
  });
});
