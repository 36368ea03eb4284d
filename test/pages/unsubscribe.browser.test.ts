import { describe, expect, it } from 'vitest';
import { MAIL_TEXTS } from '../../src/texts/mails/languages.ts';
import { findAxeViolations, isBrowserInstalled, useBrowser } from './browser.ts';
import { demo, requestApi } from './demo-company.ts';
import { sendScheduledMail } from './mails.ts';

/** Creates a schedule of the demo's dashboard, waits for its mail to the owner, and returns the mail's unsubscribe link. */
async function createLink(): Promise<{ id: string; path: string }> {
  const { id, mail } = await sendScheduledMail(demo.dashboard_id);
  const [, link = ''] = /<(.+)>/.exec(mail.headers?.['List-Unsubscribe'] ?? '') ?? [];
  expect(mail.text).toContain(link);
  return { id, path: new URL(link).pathname };
}

const countUnsubscribed = async (id: string) =>
  (await requestApi<{ unsubscribed: unknown[] }>('GET', `/v1/schedules/${id}`)).unsubscribed.length;

/** Creates an outside address that was asked for consent to scheduled mails. @returns the path of its consent page */
async function createConsentLink(): Promise<{ path: string }> {
  const email = `asked-${Math.random().toString(36).slice(2)}@customer.test`;
  const { id } = await requestApi<{ id: string }>('POST', '/api/v1/share-contexts', {
    name: email,
    grants: [{ target_type: 'dashboard', target_id: demo.dashboard_id, filter_policies: [] }],
  });
  await requestApi('POST', `/api/v1/share-contexts/${id}/members`, { member_type: 'external_email', email });
  await requestApi('POST', '/v1/schedules', {
    name: 'Daily',
    target_type: 'dashboard',
    target_id: demo.dashboard_id,
    cron: '0 8 * * *',
    recipients: [{ email }],
  });
  const readMails = async () => (await (await fetch(`${demo.mailbox_url}?to=${email}`)).json()) as { text: string }[];
  await expect.poll(async () => (await readMails()).length, { timeout: 20_000 }).toBe(1);
  const [link = ''] = /http\S+\/mail-consent\/\S+/.exec((await readMails())[0]?.text ?? '') ?? [];
  return { path: new URL(link).pathname };
}

describe.skipIf(!isBrowserInstalled)('the page to unsubscribe', () => {
  const openPage = useBrowser();

  it('asks first, and unsubscribes with one click', async () => {
    const locale = 'pt-BR';
    const { unsubscribe: texts } = MAIL_TEXTS[locale].pages;
    const { id, path } = await createLink();
    const { page, problems } = await openPage(`${path}?locale=${locale}`, { viewport: { width: 360, height: 640 } });
    await page.getByText(texts.question).waitFor();
    expect([await page.title(), await findAxeViolations(page), await countUnsubscribed(id)]).toEqual([
      texts.title,
      [],
      0,
    ]);
    expect(await page.locator('html').getAttribute('lang')).toBe(locale);
    await page.getByRole('button', { name: texts.button }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('status').filter({ hasText: texts.done }).waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe(locale);
    expect([
      await page.getByRole('button').count(),
      await findAxeViolations(page),
      await countUnsubscribed(id),
    ]).toEqual([0, [], 1]);
    expect(problems).toEqual([]);
  });

  it('says that nothing can be unsubscribed from if the link is incomplete', async () => {
    const { page } = await openPage('/unsubscribe/nothing');
    await page.getByRole('button', { name: 'Unsubscribe' }).click();
    await page.getByRole('status').filter({ hasText: MAIL_TEXTS.en.pages.unsubscribe.unknown }).waitFor();
    expect(await page.getByRole('button').count()).toBe(0);
  });
});

describe.skipIf(!isBrowserInstalled)('the page that asks for consent to scheduled mails', () => {
  const openPage = useBrowser();

  it('accepts consent by keyboard, and an unsubscribe link can withdraw that consent', async () => {
    const locale = 'es';
    const { consent, unsubscribe } = MAIL_TEXTS[locale].pages;
    const { path } = await createConsentLink();
    const phoneOptions = { viewport: { width: 360, height: 640 } };
    const { page, problems } = await openPage(`${path}?locale=${locale}`, phoneOptions);
    await page.getByRole('button', { name: consent.yes }).waitFor();
    expect([await page.title(), await findAxeViolations(page)]).toEqual([consent.title, []]);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByRole('button').count()).toBe(0);
    expect([await page.getByRole('status').innerText(), await findAxeViolations(page)]).toEqual([
      expect.stringContaining(consent.done('').trim().slice(-20)),
      [],
    ]);
    expect(problems).toEqual([]);
    const unsubscribePage = await openPage(
      `${path.replace('mail-consent', 'unsubscribe')}?locale=${locale}`,
      phoneOptions,
    );
    await unsubscribePage.page.getByRole('button').click();
    await unsubscribePage.page
      .getByRole('status')
      .filter({ hasText: unsubscribe.doneAll('').slice(0, 12) })
      .waitFor();
    const consentPageAgain = await openPage(`${path}?locale=${locale}`, phoneOptions);
    await consentPageAgain.page.getByText(consent.unknown).waitFor();
  });
});
