import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ApiResponse } from '../support/api.ts';
import { type Company, createProvisionedCompany } from '../support/companies.ts';
import { sendDuringRace } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import type { VersionedKind } from './kinds.ts';

/** Returns whether an answer refuses a write because the record has another version, in the form of the path's API. */
const isPreconditionFailed = (path: string, { status, body }: ApiResponse) =>
  status === 412 &&
  (path.startsWith('/scim/') ||
    (body.error_code ?? body.error) === (/^\/(v1|api)\//.test(path) ? 'PRECONDITION_FAILED' : 'PreconditionFailed'));

/** Defines the tests that hold for every record that has versions. */
export function describeVersions(kinds: readonly VersionedKind[]): void {
  describe.each(kinds)('the version of $name', (kind) => {
    const { makeRecord, changeMethod, makeChange, readText = ({ name }) => name, table, proofBody } = kind;
    const proofOptions = proofBody ? { json: proofBody } : {};
    let company: Company;
    beforeAll(async () => {
      company = await createProvisionedCompany();
    });
    const writeStatement = new RegExp(`^(update|delete from) "${table}"`);
    const createRecord = async () => {
      const { caller: by, path } = await makeRecord(company);
      const { headers } = await by.get(path);
      const writeText = (text: string, tag?: string, env?: Record<string, string>) =>
        by[changeMethod](path, {
          json: makeChange(text, company),
          ...(tag && { headers: { 'If-Match': tag } }),
          env,
        });
      return { by, path, tag: headers.get('etag') as string, write: writeText };
    };
    const readTag = async ({ by, path }: Pick<Awaited<ReturnType<typeof createRecord>>, 'by' | 'path'>) =>
      (await by.get(path)).headers.get('etag');

    it('is a strong ETag that is the same until the record changes, and gives 304 to a caller who sends it', async () => {
      const { by, path, tag, write } = await createRecord();
      expect(tag).toMatch(/^"[0-9a-f]{32}"$/);
      expect(await readTag({ by, path })).toBe(tag);
      for (const knownTag of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
        const { status, body, headers } = await by.get(path, { headers: { 'If-None-Match': knownTag } });
        expect([knownTag, status, body, headers.get('etag')]).toEqual([knownTag, 304, '', tag]);
      }
      await expectSuccess(write('Changed once'));
      const changedAnswer = await by.get(path, { headers: { 'If-None-Match': tag } });
      expect([changedAnswer.status, readText(changedAnswer.body)]).toEqual([200, 'Changed once']);
      expect(changedAnswer.headers.get('etag')).not.toBe(tag);
    });

    it('makes a write with another If-Match fail', async () => {
      const { by, path, tag, write } = await createRecord();
      expect(isPreconditionFailed(path, await write('Of nobody', '"00000000000000000000000000000000"'))).toBe(true);
      expect(
        isPreconditionFailed(path, await by.delete(path, { headers: { 'If-Match': '"other"' }, ...proofOptions })),
      ).toBe(true);
      expect(await readTag({ by, path })).toBe(tag);
      await expectSuccess(write('First', `"other", W/${tag}`));
      expect(isPreconditionFailed(path, await write('Second', tag))).toBe(true);
      expect(readText((await by.get(path)).body)).toBe('First');
      await expectSuccess(write('Whichever', '*'));
      expect(readText((await by.get(path)).body)).toBe('Whichever');
      await expectSuccess(
        by.delete(path, { headers: { 'If-Match': (await readTag({ by, path })) as string }, ...proofOptions }),
      );
    });

    it('is compared also in the first write after a release, which migrates the company’s Postgres', async () => {
      const { by, path, tag, write } = await createRecord();
      const resetMigrations = () => env.CONTROL_DB.prepare('update managed_databases set migrations_version = 0').run();
      await resetMigrations();
      await expectSuccess(write('Changed', tag));
      const nextTag = (await readTag({ by, path })) as string;
      await resetMigrations();
      await expectSuccess(by.delete(path, { headers: { 'If-Match': nextTag }, ...proofOptions }));
    });

    it('lets only one of two writers with the same If-Match succeed', async () => {
      const { by, path, tag, write } = await createRecord();
      const secondWrite = await sendDuringRace(
        writeStatement,
        () => expectSuccess(write('The rival', tag)),
        (env) => write('The slower', tag, env),
      );
      expect(isPreconditionFailed(path, secondWrite)).toBe(true);
      expect(readText((await by.get(path)).body)).toBe('The rival');
      const nextTag = (await readTag({ by, path })) as string;
      const deletion = await sendDuringRace(
        writeStatement,
        () => expectSuccess(write('The rival again')),
        (env) => by.delete(path, { headers: { 'If-Match': nextTag }, env, ...proofOptions }),
      );
      expect(isPreconditionFailed(path, deletion)).toBe(true);
      expect(readText((await by.get(path)).body)).toBe('The rival again');
    });
  });
}
