import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ApiResponse } from '../support/api.ts';
import { sendOvertaken } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import type { Kind } from './kinds.ts';

/** Whether an answer says, in the words of its surface, that it is another version. */
const isPrecondition = (path: string, { status, body }: ApiResponse) =>
  status === 412 &&
  (path.startsWith('/scim/') ||
    (body.error_code ?? body.error) === (/^\/(v1|api)\//.test(path) ? 'PRECONDITION_FAILED' : 'PreconditionFailed'));

/** What holds for every record that has versions. */
export function describeVersions(kinds: readonly Kind[]): void {
  describe.each(kinds)('the version of $name', (kind) => {
    const { make, change, changes, shows = ({ name }) => name, table, proof } = kind;
    const proven = proof ? { json: proof } : {};
    let company: Company;
    beforeAll(async () => {
      company = await aProvisionedCompany();
    });
    const writing = new RegExp(`^(update|delete from) "${table}"`);
    const aRecord = async () => {
      const { by, path } = await make(company);
      const { headers } = await by.get(path);
      const write = (text: string, tag?: string, env?: Record<string, string>) =>
        by[change](path, {
          json: changes(text, company),
          ...(tag && { headers: { 'If-Match': tag } }),
          ...(env && { env }),
        });
      return { by, path, tag: headers.get('etag') as string, write };
    };
    const tagOf = async ({ by, path }: Pick<Awaited<ReturnType<typeof aRecord>>, 'by' | 'path'>) =>
      (await by.get(path)).headers.get('etag');

    it('is a strong ETag that is the same until the record changes, and gives 304 to a caller who sends it', async () => {
      const { by, path, tag, write } = await aRecord();
      expect(tag).toMatch(/^"[0-9a-f]{32}"$/);
      expect(await tagOf({ by, path })).toBe(tag);
      for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
        const { status, body, headers } = await by.get(path, { headers: { 'If-None-Match': known } });
        expect([known, status, body, headers.get('etag')]).toEqual([known, 304, '', tag]);
      }
      await must(write('Changed once'));
      const changed = await by.get(path, { headers: { 'If-None-Match': tag } });
      expect([changed.status, shows(changed.body)]).toEqual([200, 'Changed once']);
      expect(changed.headers.get('etag')).not.toBe(tag);
    });

    it('makes a write with another If-Match fail', async () => {
      const { by, path, tag, write } = await aRecord();
      expect(isPrecondition(path, await write('Of nobody', '"00000000000000000000000000000000"'))).toBe(true);
      expect(isPrecondition(path, await by.delete(path, { headers: { 'If-Match': '"other"' }, ...proven }))).toBe(true);
      expect(await tagOf({ by, path })).toBe(tag);
      await must(write('First', `"other", W/${tag}`));
      expect(isPrecondition(path, await write('Second', tag))).toBe(true);
      expect(shows((await by.get(path)).body)).toBe('First');
      await must(write('Whichever', '*'));
      expect(shows((await by.get(path)).body)).toBe('Whichever');
      await must(by.delete(path, { headers: { 'If-Match': (await tagOf({ by, path })) as string }, ...proven }));
    });

    it('is compared also in the first write since a release, which migrates the company’s Postgres', async () => {
      const { by, path, tag, write } = await aRecord();
      const release = () => env.CONTROL_DB.prepare('update managed_databases set migrations_version = 0').run();
      await release();
      await must(write('Changed', tag));
      const next = (await tagOf({ by, path })) as string;
      await release();
      await must(by.delete(path, { headers: { 'If-Match': next }, ...proven }));
    });

    it('lets only one of two writers with the same If-Match succeed', async () => {
      const { by, path, tag, write } = await aRecord();
      const second = await sendOvertaken(
        writing,
        () => must(write('The rival', tag)),
        (env) => write('The slower', tag, env),
      );
      expect(isPrecondition(path, second)).toBe(true);
      expect(shows((await by.get(path)).body)).toBe('The rival');
      const next = (await tagOf({ by, path })) as string;
      const deletion = await sendOvertaken(
        writing,
        () => must(write('The rival again')),
        (env) => by.delete(path, { headers: { 'If-Match': next }, env, ...proven }),
      );
      expect(isPrecondition(path, deletion)).toBe(true);
      expect(shows((await by.get(path)).body)).toBe('The rival again');
    });
  });
}
