import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { MAIL_LINK_TEXTS } from '../../src/texts/mail-links/languages.ts';
import { PAGE_TEXTS } from '../../src/texts/pages/languages.ts';
import { send } from '../support/send.ts';
import { findAxeViolations, isBrowserInstalled, type OpenOptions, useBrowser, waitUntilSettled } from './browser.ts';
import { demo, inviteUser, readMailedLink, requestApi, url, useOwnCompany } from './demo-company.ts';

const PASSWORD = 'quiet-harbour-lantern';
const { invitation, reset } = MAIL_LINK_TEXTS.en;
const MAX_SCRIPT_BYTES = 10_000;

const makeEmail = () => `linked-${Math.random().toString(36).slice(2)}@example.com`;

async function createInvitation() {
  const email = makeEmail();
  return { email, link: await inviteUser(email) };
}

/** Creates a user who has requested a link to set a new password. */
async function requestReset() {
  const { email, link } = await createInvitation();
  const token = new URL(link).searchParams.get('token');
  await send(url, 'POST', '/v1/users/accept-invitation', { json: { token, password: PASSWORD } });
  await send(url, 'POST', '/v1/users/reset-password/request', { json: { email } });
  return { email, link: await readMailedLink(email, 2) };
}

const logIn = (email: string, password: string) =>
  fetch(`${url}/v1/auth/login`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ company_slug: demo.company.slug, email, password }),
  }).then(({ status }) => status);

const findPasswordInputs = (page: Page) => page.locator('input[autocomplete="new-password"]');
const waitForHeading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor();
const addLocale = (link: string, locale: string) => `${link}&locale=${locale}`;

/** Types a text by keyboard, submits the form, and waits for the answer. */
async function typeAndSend(page: Page, typedText: string): Promise<void> {
  await findPasswordInputs(page).fill(typedText);
  await page.keyboard.press('Enter');
  await waitUntilSettled(page);
}

const PHONE_OPTIONS: OpenOptions = { viewport: { width: 360, height: 740 }, colorScheme: 'dark' };

describe.skipIf(!isBrowserInstalled)('the page of an invitation', () => {
  const openPage = useBrowser();

  it('lets the recipient of the mail choose a password by keyboard, on a phone, in dark mode', async () => {
    const locale = 'pt-BR';
    const { invitation: texts, ...all } = MAIL_LINK_TEXTS[locale];
    const { email, link } = await createInvitation();
    const { page, problems } = await openPage(addLocale(link, locale), PHONE_OPTIONS);
    await waitForHeading(page, texts.join('Demo'));
    await page.getByText(email).waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe(locale);
    expect(await page.title()).toBe(texts.join('Demo'));
    expect(await findAxeViolations(page)).toEqual([]);
    // The rules are said before a password is refused, and the field has the focus.
    const field = page.getByLabel(all.password, { exact: true });
    expect(await field.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    await page.getByText(all.passwordRules).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await page.getByRole('button', { name: all.hidePassword }).waitFor();
    expect(await field.getAttribute('type')).toBe('text');
    await page.getByLabel(all.name).fill('Ana Sousa');
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await typeAndSend(page, PASSWORD);

    await waitForHeading(page, texts.done('Demo'));
    await page.getByText(texts.doneText).waitFor();
    expect(await page.getByRole('definition').allInnerTexts()).toEqual([url, demo.company.slug, email]);
    // The heading is read out.
    expect(await page.locator(':focus').innerText()).toBe(texts.done('Demo'));
    expect(await findAxeViolations(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(await logIn(email, PASSWORD)).toBe(200);
    const users = await requestApi<{ records: { name: string }[] }>(
      'GET',
      `/v1/users?search=${encodeURIComponent(email)}`,
    );
    expect(users.records.map(({ name }) => name)).toEqual(['Ana Sousa']);
    expect(problems).toEqual([]);
  });

  it('shows validation errors next to the fields, and moves the focus to the first invalid field', async () => {
    const locale = 'es';
    const { invitation: texts, name } = MAIL_LINK_TEXTS[locale];
    const expectedErrors = ['No puede estar vacío.', 'Debe tener al menos 12 caracteres.'];
    const { email, link } = await createInvitation();
    const { page, problems } = await openPage(addLocale(link, locale));
    await waitForHeading(page, texts.join('Demo'));
    await page.getByLabel(name).fill('');
    await typeAndSend(page, 'short');
    const invalidFields = page.locator('[aria-invalid=true]');
    await expect.poll(() => invalidFields.count()).toBe(2);
    for (const [at, words] of expectedErrors.entries()) {
      const descriptionId = (await invalidFields.nth(at).getAttribute('aria-describedby')) ?? '';
      expect(await page.locator(`#${descriptionId.split(' ')[0]}`).innerText()).toBe(words);
    }
    expect(await page.locator(':focus').getAttribute('autocomplete')).toBe('name');
    expect(await page.getByRole('alert').innerText()).toBe(MAIL_LINK_TEXTS[locale].checkFields);
    expect(await findAxeViolations(page)).toEqual([]);
    // A mistake is forgotten once it is mended.
    await page.keyboard.type('Ana');
    await expect.poll(() => invalidFields.count()).toBe(1);
    await typeAndSend(page, `${email.split('@')[0]}1`);
    await page.locator('.field .error').filter({ hasText: /\w/ }).waitFor();
    expect(await page.locator(':focus').getAttribute('autocomplete')).toBe('new-password');
    await typeAndSend(page, PASSWORD);
    await waitForHeading(page, texts.done('Demo'));
    expect(problems).toEqual([]);
  });

  it('says what to do when the link was used, is unknown, incomplete or expired', async () => {
    const { link } = await createInvitation();
    const usedLinkPage = await openPage(link);
    const other = await openPage(link);
    await waitForHeading(other.page, invitation.join('Demo'));
    await typeAndSend(usedLinkPage.page, PASSWORD);
    await waitForHeading(usedLinkPage.page, invitation.done('Demo'));
    // It was open in another window meanwhile.
    await typeAndSend(other.page, PASSWORD);
    await waitForHeading(other.page, invitation.dead);
    expect(await findAxeViolations(other.page)).toEqual([]);
    const expiredInvitation = await createInvitation();
    const { records } = await requestApi<{ records: { _id: string }[] }>(
      'GET',
      `/v1/users?search=${expiredInvitation.email}`,
    );
    await requestApi('DELETE', `/v1/users/${records[0]?._id}`);
    for (const path of [link, expiredInvitation.link, '/accept-invitation?token=unknown']) {
      const { page, problems } = await openPage(path);
      await waitForHeading(page, invitation.dead);
      await page.getByText(invitation.deadWhatNow).waitFor();
      expect(await page.locator('input').count()).toBe(0);
      expect(problems).toEqual([]);
      await page.getByRole('link', { name: reset.title }).click();
      await waitForHeading(page, reset.title);
      await page.context().close();
    }
    const { page } = await openPage('/accept-invitation');
    await page.getByText(invitation.incomplete).waitFor();
  });

  it('keeps the token out of the address, also on a reload, and deletes the token once it is used', async () => {
    const { link } = await createInvitation();
    const { page, problems } = await openPage(`${link}&theme=light`);
    await waitForHeading(page, invitation.join('Demo'));
    const requestedUrls: string[] = [];
    page.on('request', (request) =>
      requestedUrls.push(`${request.url()} ${request.postData()} ${request.headers().referer ?? ''}`),
    );
    expect(page.url()).toBe(`${url}/accept-invitation?theme=light`);
    await page.reload();
    await waitForHeading(page, invitation.join('Demo'));
    await expect.poll(() => page.url()).toBe(`${url}/accept-invitation?theme=light`);
    const token = new URL(link).searchParams.get('token') as string;
    // Only the page itself is asked for by it.
    expect(requestedUrls.filter((requestedUrl) => requestedUrl.includes(token))).toEqual([
      expect.stringMatching(/^\S+\/accept-invitation\?/),
    ]);
    await typeAndSend(page, PASSWORD);
    await waitForHeading(page, invitation.done('Demo'));
    await page.reload();
    await page.getByText(invitation.incomplete).waitFor();
    expect(await page.evaluate('[sessionStorage.length, localStorage.length, document.cookie]')).toEqual([0, 0, '']);
    expect(problems).toEqual([]);
  });

  it('says that it is loading before its script arrives, and that it needs JavaScript', async () => {
    const { link } = await createInvitation();
    const { page } = await openPage('/accept-invitation');
    const { promise: script, resolve: releaseScript } = Promise.withResolvers<void>();
    await page.route(/\/assets\/accept-invitation-\w+\.js$/, (route) => script.then(() => route.continue()));
    await page.goto(link, { waitUntil: 'commit' });
    await page.getByRole('status').filter({ hasText: PAGE_TEXTS.en.loading }).waitFor();
    releaseScript();
    await waitForHeading(page, invitation.join('Demo'));
    const pageWithoutScript = await openPage(link, { javaScriptEnabled: false });
    expect(await pageWithoutScript.page.locator('noscript').innerText()).toBe(PAGE_TEXTS.en.noScript);
    expect(await pageWithoutScript.page.locator('noscript').isVisible()).toBe(true);
    expect(await pageWithoutScript.page.locator('.waiting').isVisible()).toBe(false);
  });

  it('lets the user submit again when the server is unreachable or busy, and sends one request at a time', async () => {
    const { link } = await createInvitation();
    const { page } = await openPage(link);
    await waitForHeading(page, invitation.join('Demo'));
    await page.context().setOffline(true);
    await typeAndSend(page, PASSWORD);
    await page.getByRole('alert').filter({ hasText: PAGE_TEXTS.en.offline }).waitFor();
    await page.context().setOffline(false);
    await page.route('**/v1/users/accept-invitation', (route) => route.fulfill({ status: 429, json: {} }), {
      times: 1,
    });
    await typeAndSend(page, PASSWORD);
    await page.getByRole('alert').filter({ hasText: PAGE_TEXTS.en.busy }).waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    let requestCount = 0;
    const { promise: answer, resolve: go } = Promise.withResolvers<void>();
    await page.route('**/v1/users/accept-invitation', async (route) => {
      requestCount += 1;
      await answer;
      await route.continue();
    });
    await findPasswordInputs(page).fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: MAIL_LINK_TEXTS.en.sending }).waitFor();
    await page.keyboard.press('Enter');
    go();
    await waitForHeading(page, invitation.done('Demo'));
    expect(requestCount).toBe(1);
  });
});

describe.skipIf(!isBrowserInstalled)('the page to set a new password', () => {
  const openPage = useBrowser();

  it('requests a mailed link, and sets the password by it', async () => {
    const locale = 'es';
    const { reset: texts, newPassword } = MAIL_LINK_TEXTS[locale];
    const { email } = await requestReset();
    const resetRequestPage = await openPage(`/reset-password?locale=${locale}`, PHONE_OPTIONS);
    await waitForHeading(resetRequestPage.page, texts.title);
    expect(await resetRequestPage.page.title()).toBe(texts.title);
    expect(await findAxeViolations(resetRequestPage.page)).toEqual([]);
    await resetRequestPage.page.getByLabel(PAGE_TEXTS[locale].email).fill(email);
    await resetRequestPage.page.keyboard.press('Enter');
    await waitForHeading(resetRequestPage.page, texts.requested);
    await resetRequestPage.page.getByText(email).waitFor();
    expect(await findAxeViolations(resetRequestPage.page)).toEqual([]);

    const { page, problems } = await openPage(addLocale(await readMailedLink(email, 3), locale), PHONE_OPTIONS);
    await waitForHeading(page, texts.title);
    await page.getByText(email).waitFor();
    expect(page.url()).toBe(`${url}/reset-password?locale=${locale}`);
    await page.getByLabel(newPassword, { exact: true }).waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    await typeAndSend(page, 'short');
    await page.locator('[aria-invalid=true]:focus').waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    await typeAndSend(page, `${PASSWORD}-new`);
    await waitForHeading(page, texts.done);
    expect(await findAxeViolations(page)).toEqual([]);
    expect([await logIn(email, PASSWORD), await logIn(email, `${PASSWORD}-new`)]).toEqual([400, 200]);
    expect([...resetRequestPage.problems, ...problems]).toEqual([]);
  });

  it("offers a new link when the old one was used or is unknown, and reveals nobody's account", async () => {
    const { link } = await requestReset();
    const usedLinkPage = await openPage(link);
    const other = await openPage(link);
    await waitForHeading(other.page, reset.title);
    await typeAndSend(usedLinkPage.page, `${PASSWORD}-new`);
    await waitForHeading(usedLinkPage.page, reset.done);
    await typeAndSend(other.page, `${PASSWORD}-newer`);
    await waitForHeading(other.page, reset.dead);
    expect(await findAxeViolations(other.page)).toEqual([]);
    for (const path of [link, '/reset-password?token=unknown']) {
      const { page, problems } = await openPage(path);
      await waitForHeading(page, reset.dead);
      await page.getByLabel('E-mail').fill('not an address');
      await page.keyboard.press('Enter');
      await page.locator('[aria-invalid=true]:focus').waitFor();
      await page.getByLabel('E-mail').fill('nobody@example.com');
      await page.keyboard.press('Enter');
      await waitForHeading(page, reset.requested);
      expect(problems).toEqual([]);
      await page.context().close();
    }
  });
});

describe.skipIf(!isBrowserInstalled)('the pages of mailed links', () => {
  const openPage = useBrowser();
  useOwnCompany();
  const BRAND = { name: 'Aves & </script>', primary_color: '#7a1f3d', background: '#fff8f0', text_color: '#2b1a12' };

  beforeAll(async () => {
    await requestApi('PUT', '/v1/company/branding', BRAND);
  });

  it('show the brand of their company, and say how people sign in there', async () => {
    const { email, link } = await requestReset();
    const otherInvitation = await createInvitation();
    await requestApi('PUT', '/v1/company/settings', { require_2fa: true });
    const { page, problems } = await openPage(otherInvitation.link, { viewport: { width: 1920, height: 1080 } });
    await waitForHeading(page, invitation.join(BRAND.name));
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 248, 240)');
    expect(await findAxeViolations(page)).toEqual([]);
    await typeAndSend(page, PASSWORD);
    await page.getByText(MAIL_LINK_TEXTS.en.secondFactor).waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    const earlyPage = await openPage(link);
    await waitForHeading(earlyPage.page, reset.title);
    expect(await earlyPage.page.title()).toBe(`${reset.title} – ${BRAND.name}`);

    const lateInvitation = await createInvitation();
    await requestApi('PUT', '/v1/company/settings', { sso_only: true });
    const ssoPage = await openPage(lateInvitation.link);
    await ssoPage.page.getByText('identity provider').waitFor();
    await typeAndSend(ssoPage.page, PASSWORD);
    await ssoPage.page.getByText(MAIL_LINK_TEXTS.en.bySso(BRAND.name)).waitFor();
    expect(await ssoPage.page.getByText(invitation.doneText).count()).toBe(0);
    // Whoever had the page open is told so as well, and whoever opens it now.
    await typeAndSend(earlyPage.page, `${PASSWORD}-new`);
    await waitForHeading(earlyPage.page, reset.ssoOnly);
    const refusedPage = await openPage(link);
    await waitForHeading(refusedPage.page, reset.ssoOnly);
    expect(await refusedPage.page.locator('input').count()).toBe(0);
    expect(await logIn(email, `${PASSWORD}-new`)).toBe(403);
    expect([...problems, ...earlyPage.problems, ...ssoPage.problems, ...refusedPage.problems]).toEqual([]);
  });

  it.each(['accept-invitation', 'reset-password'])(
    'load their own language only, in a few kilobytes of script: %s',
    async (name) => {
      let namedScripts: string[] = [];
      for (const [accepted, locale] of [
        ['de, pt;q=0.8', 'pt-BR'],
        ['es-MX', 'es'],
        ['de', 'en'],
      ] as const) {
        const response = await fetch(`${url}/${name}?token=unknown`, { headers: { 'Accept-Language': accepted } });
        expect(Object.fromEntries(response.headers)).toMatchObject({
          'content-language': locale,
          'cache-control': 'no-store',
          'referrer-policy': 'no-referrer',
        });
        const html = await response.text();
        expect(html).toContain(`<html lang="${locale}">`);
        expect(html).toContain(`<noscript>${PAGE_TEXTS[locale].noScript}</noscript>`);
        expect(html.match(/assets\/(en|es|pt-BR)-/g)).toEqual([`assets/${locale}-`, `assets/${locale}-`]);
        const scripts = Array.from(html.matchAll(/(?:href|src)="(\S+\.js)"/g), ([, path]) => path as string);
        const sizes = await Promise.all(
          scripts.map(async (path) => gzipSync(await (await fetch(url + path)).bytes()).length),
        );
        expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MAX_SCRIPT_BYTES);
        if (locale === 'pt-BR') namedScripts = scripts;
      }
      const { page } = await openPage(`/${name}?token=unknown&locale=pt-BR`);
      // The page has loaded before its language has.
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.waitForLoadState('networkidle');
      const loadedScripts = await page.evaluate<string[]>(
        `performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname).filter((path) => path.endsWith('.js'))`,
      );
      // Each is asked for at once, and nothing that is not needed.
      expect(loadedScripts.toSorted()).toEqual(namedScripts.toSorted());
    },
  );
});
