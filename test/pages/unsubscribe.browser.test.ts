import { describe, expect, it } from 'vitest';
import { LOCALES } from '../../src/kernel/locales.ts';
import { PAGE_TEXTS } from '../../src/texts/pages/languages.ts';
import { axeFindings, installed, useBrowser } from './browser.ts';
import { aScheduledMail } from './mails.ts';
import { api, demo } from './world.ts';

/** A schedule of the demo's dashboard that has sent its owner a mail, and the mail's link. */
async function aLink(): Promise<{ id: string; path: string }> {
  const { id, mail } = await aScheduledMail(demo.dashboard_id);
  const [, link = ''] = /<(.+)>/.exec(mail.headers?.['List-Unsubscribe'] ?? '') ?? [];
  expect(mail.text).toContain(link);
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
