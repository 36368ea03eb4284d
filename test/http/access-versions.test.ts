import { env, runInDurableObject } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { AccessVersions, CHANGE_MS } from '../../src/objects/access-versions.ts';

const on = (name: string, work: (versions: AccessVersions, again: () => AccessVersions) => void) =>
  runInDurableObject(env.ORGANIZATION_GATE.getByName(name), (_, { storage }) =>
    work(new AccessVersions(storage.sql), () => new AccessVersions(storage.sql)),
  );

describe('the version of a principal’s access', () => {
  it('does not change when the access of others changes, nor by a restart', () =>
    on('stays', (versions, again) => {
      const before = versions.getStamp('a', 0);
      versions.begin({ id: '1', affected: ['b'] }, 0);
      versions.end({ id: '1', affected: ['b'] });
      expect(versions.getStamp('a', 0)).toBe(before);
      expect(again().getStamp('a', 0)).toBe(before);
    }));

  it('is unknown while a change is under way, at most for a minute', () =>
    on('unknown', (versions) => {
      const before = versions.getStamp('a', 0);
      versions.begin({ id: '1', affected: 'everybody' }, 0);
      expect(versions.getStamp('a', CHANGE_MS - 1)).toBeNull();
      const after = versions.getStamp('a', CHANGE_MS);
      expect(after).not.toBeNull();
      expect(after).not.toBe(before);
    }));

  it('changes for everybody when one change affects too many principals to keep them apart', () =>
    on('many', (versions, again) => {
      const before = versions.getStamp('nobody has changed this one', 0);
      const affected = Array.from({ length: 5001 }, (_, index) => `principal ${index}`);
      versions.end({ id: '1', affected });
      expect(versions.getStamp('nobody has changed this one', 0)).not.toBe(before);
      expect(again().getStamp('principal 1', 0)).toBe(versions.getStamp('principal 2', 0));
    }));

  it('changes for everybody when several changes together affect too many principals to keep them apart', () =>
    on('more and more', (versions) => {
      const before = versions.getStamp('nobody has changed this one', 0);
      const several = (first: number) => Array.from({ length: 2501 }, (_, index) => `principal ${first + index}`);
      versions.end({ id: '1', affected: several(0) });
      expect(versions.getStamp('nobody has changed this one', 0)).toBe(before);
      versions.end({ id: '2', affected: several(2501) });
      expect(versions.getStamp('nobody has changed this one', 0)).not.toBe(before);
    }));

  it('stays unknown, also after a restart, until the last of several changes has ended', () =>
    on('several', (versions, again) => {
      const [one, other] = [
        { id: '1', affected: ['a'] },
        { id: '2', affected: ['a', 'b'] },
      ];
      versions.begin(one, 0);
      versions.begin(other, 0);
      versions.end(one);
      for (const gate of [versions, again()]) {
        expect(['a', 'b', 'c'].map((principal) => gate.getStamp(principal, 0) === null)).toEqual([true, true, false]);
      }
      versions.end(other);
      expect(again().getStamp('a', 0)).not.toBeNull();
    }));

  it('is different in another company’s Durable Object', async () => {
    const stamps: (string | null)[] = [];
    for (const name of ['one', 'another']) await on(name, (versions) => stamps.push(versions.getStamp('a', 0)));
    expect(stamps[0]).not.toBe(stamps[1]);
  });
});
