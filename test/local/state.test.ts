import { appendFile, chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openMailbox, type SentMail } from '../../local/mailbox.ts';
import { openState } from '../../local/state.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-console-test-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('the state folder of npm start', () => {
  it('generates its secrets once, in a file that only its owner can read', async () => {
    const first = await openState(folder);
    await first.release();
    const secondState = await openState(folder);
    await secondState.release();
    expect(secondState.secrets).toEqual(first.secrets);
    expect((await stat(join(folder, 'secrets.json'))).mode & 0o777).toBe(0o600);
    expect(JSON.parse(first.secrets.JWT_PRIVATE_KEYS ?? '')[0]).toMatchObject({ kty: 'OKP', crv: 'Ed25519', kid: '1' });
  });

  it('removes the permission of other users to read its secrets', async () => {
    await (await openState(folder)).release();
    await chmod(join(folder, 'secrets.json'), 0o644);
    await (await openState(folder)).release();
    expect((await stat(join(folder, 'secrets.json'))).mode & 0o777).toBe(0o600);
  });

  it('takes over the lock of a process that has ended', async () => {
    await writeFile(join(folder, 'lock'), '999999999\n');
    const openedState = await openState(folder);
    expect(await readFile(join(folder, 'lock'), 'utf8')).toBe(`${process.pid}\n`);
    await openedState.release();
    await expect(stat(join(folder, 'lock'))).rejects.toThrow('ENOENT');
  });

  it('explains what to do about secrets that it cannot read, and releases its lock', async () => {
    await writeFile(join(folder, 'secrets.json'), '{');
    await expect(openState(folder)).rejects.toThrow(/delete .* to begin anew/);
    await expect(stat(join(folder, 'lock'))).rejects.toThrow('ENOENT');
  });
});

describe('the local mailbox of npm start', () => {
  const makeMail = (to: string, subject: string) => ({ to, subject, text: 'text', html: '<p>text</p>' });
  const readMails = async (url: string) => (await (await fetch(url)).json()) as SentMail[];

  it('lists mails newest first, finds them by address case-insensitively, and keeps them over a restart', async () => {
    const file = join(folder, 'mails.ndjson');
    const first = await openMailbox(file);
    await first.deliverMail(makeMail('ann@example.test', 'one'));
    await first.deliverMail(makeMail('Bob+x@example.test', 'two'));
    await first.deliverMail(makeMail('ann@example.test', 'three'));
    expect((await readMails(`${first.url}?to=ANN@example.test`)).map(({ subject }) => subject)).toEqual([
      'three',
      'one',
    ]);
    await first.close();
    await appendFile(file, '{"to":"cut o');

    const secondMailbox = await openMailbox(file);
    try {
      const allMails = await readMails(secondMailbox.url);
      expect(allMails.map(({ subject }) => subject)).toEqual(['three', 'two', 'one']);
      expect(allMails[0]).toEqual({
        ...makeMail('ann@example.test', 'three'),
        headers: {},
        attachments: [],
        sent_at: expect.stringMatching(/Z$/),
      });
      expect(await readMails(`${secondMailbox.url}?to=${encodeURIComponent('bob+x@example.test')}`)).toHaveLength(1);
      expect(await readMails(`${secondMailbox.url}?to=nobody@example.test`)).toEqual([]);
      expect((await fetch(secondMailbox.url, { method: 'POST', body: '{}' })).status).toBe(404);
      expect((await fetch(`${secondMailbox.url}/`)).status).toBe(404);
      await secondMailbox.deliverMail(makeMail('ann@example.test', 'four'));
    } finally {
      await secondMailbox.close();
    }
    const thirdMailbox = await openMailbox(file);
    try {
      expect((await readMails(thirdMailbox.url))[0]?.subject).toBe('four');
    } finally {
      await thirdMailbox.close();
    }
  });
});
