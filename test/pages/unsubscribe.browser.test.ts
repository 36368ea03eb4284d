import { describe, expect, it } from 'vitest';
import { LOCALES } from '../../src/kernel/locales.ts';
import { PAGE_TEXTS } from '../../src/texts/pages/languages.ts';
import { axeFindings, installed, useBrowser } from './browser.ts';
import { api, demo } from './world.ts';

interface SentMail {
  text: string;
  headers?: Record<string, string>;
}

/** A schedule of the demo's dashboard that has sent its owner a mail, and the mail's link. */
async function aLink(): Promise<{ id: string; path: string }> {
  const { user } = await api<{ user: { _id: string } }>('GET', '/v1/auth/me');
  const { _id: id } = await api<{ _id: string }>('POST', '/v1/schedules', {
    name: 'Daily',
    target_type: 'dashboard',
    target_id: demo.dashboard_id,
    cron: '0 8 * * *',
    recipients: [{ user_id: user._id }],
  });
  await api('POST', `/v1/schedules/${id}/run`);
  await expect
    .poll(async () => (await api<{ last_run: { sent: number } | null }>('GET', `/v1/schedules/${id}`)).last_run?.sent, {
      timeout: 20_000,
    })
    .toBe(1);
  const mails = (await (await fetch(`${demo.mailbox_url}?to=${demo.owner.email}`)).json()) as SentMail[];
  const own = mails.find(({ text }) => text.includes(id)) as SentMail;
  const [, link = ''] = /<(.+)>/.exec(own.headers?.['List-Unsubscribe'] ?? '') ?? [];
  expect(own.text).toContain(link);
  return { id, path: new URL(link).pathname };
}

const unsubscribed = async (id: string) =>
  (await api<{ unsubscribed: unknown[] }>('GET', `/v1/schedules/${id}`)).unsubscribed.length;

describe.skipIf(!installed)('the page to unsubscribe', () => {
  const open = useBrowser();

  it.each(LOCALES)('asks first, and ends the mail with one press: %s', async (locale) => {
    const { unsubscribe: texts } = PAGE_TEXTS[locale];
    const { id, path } = await aLink();
    const { page, problems } = await open(`${path}?locale=${locale}`, { viewport: { width: 360, height: 640 } });
    await page.getByText(texts.question).waitFor();
    expect([await page.title(), await axeFindings(page), await unsubscribed(id)]).toEqual([texts.title, [], 0]);
    expect(await page.locator('html').getAttribute('lang')).toBe(locale);
    await page.getByRole('button', { name: texts.button }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('status').filter({ hasText: texts.done }).waitFor();
    expect([await page.getByRole('button').count(), await axeFindings(page), await unsubscribed(id)]).toEqual([
      0,
      [],
      1,
    ]);
    expect(problems).toEqual([]);
  });

  it('says that there is nothing to end where the link is incomplete', async () => {
    const { page } = await open('/unsubscribe/nothing');
    await page.getByRole('button', { name: 'Unsubscribe' }).click();
    await page.getByRole('status').filter({ hasText: PAGE_TEXTS.en.unsubscribe.unknown }).waitFor();
    expect(await page.getByRole('button').count()).toBe(0);
  });

  it('says that it did not work where nobody answers, and can be asked again', async () => {
    const { page } = await open('/unsubscribe/nothing');
    await page.getByText(PAGE_TEXTS.en.unsubscribe.question).waitFor();
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Unsubscribe' }).click();
    await page.getByRole('status').filter({ hasText: PAGE_TEXTS.en.broken }).waitFor();
    expect(await page.getByRole('button', { name: 'Unsubscribe' }).isEnabled()).toBe(true);
  });
});
