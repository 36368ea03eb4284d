import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { AUTHORIZATION_TEXTS } from '../../src/texts/authorization/languages.ts';
import { PAGE_TEXTS } from '../../src/texts/pages/languages.ts';
import { send } from '../support/send.ts';
import {
  createUser,
  exchangeCode,
  makeAuthorizationUrl,
  postForm,
  registerClientOnce,
  signIn,
  waitForHeading,
} from './authorization.ts';
import { blockStorage, findAxeViolations, isBrowserInstalled, useBrowser, waitUntilSettled } from './browser.ts';
import { demo, requestApi, url } from './demo-company.ts';

const texts = AUTHORIZATION_TEXTS.en;
/** Reads the code in the newest mail to an address. */
async function readMailedCode(email: string): Promise<string> {
  const query = new URLSearchParams({ to: email });
  let code: string | undefined;
  await expect
    .poll(async () => {
      const [newest] = (await (await fetch(`${demo.mailbox_url}?${query}`)).json()) as { text: string }[];
      [code] = /^\d{3}[ -]?\d{3}$/m.exec(newest?.text ?? '') ?? [];
      return code;
    })
    .toBeDefined();
  return code as string;
}

describe.skipIf(!isBrowserInstalled)('the OAuth consent page', () => {
  const openPage = useBrowser();

  it('lets a user sign in whose browser blocks the storage of sites', async () => {
    const { page, problems } = await openPage(await makeAuthorizationUrl({ company_slug: demo.company.slug }));
    await blockStorage(page);
    await waitForHeading(page, texts.signIn('Demo'));
    await signIn(page);
    await waitForHeading(page, texts.consentTitle('Sheets'));
    expect(problems).toEqual([]);
  });

  it('asks for the company, has the user sign in and consent, in the language of its address, by keyboard, on a phone', async () => {
    const localeTexts = AUTHORIZATION_TEXTS['pt-BR'];
    const { page, problems } = await openPage(await makeAuthorizationUrl({ locale: 'pt-BR' }), {
      viewport: { width: 360, height: 740 },
      colorScheme: 'dark',
    });
    await waitForHeading(page, localeTexts.wants('Sheets'));
    expect(await findAxeViolations(page)).toEqual([]);
    await page.keyboard.type('nobody-at-all');
    await page.keyboard.press('Enter');
    await page.getByText(localeTexts.noSuchCompany).waitFor();
    await page.getByLabel(localeTexts.company, { exact: true }).fill(demo.company.slug);
    await page.keyboard.press('Enter');
    await waitForHeading(page, localeTexts.signIn('Demo'));
    expect(await findAxeViolations(page)).toEqual([]);
    await signIn(page, demo.owner.email, 'not-the-password');
    await page.getByText(localeTexts.failures.INVALID_CREDENTIALS as string).waitFor();
    await signIn(page);
    await waitForHeading(page, localeTexts.consentTitle('Sheets'));
    await page.getByText(localeTexts.warning).waitFor();
    await page.getByText(localeTexts.fromHost(new URL(url).host)).waitFor();
    await page.getByText(localeTexts.onlyReads).waitFor();
    await page.getByText('*:data-read').waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await page.getByRole('button', { name: localeTexts.allow, exact: true }).focus();
    await page.keyboard.press('Enter');
    const { searchParams, tokens } = await exchangeCode(page);
    expect([searchParams.get('state'), tokens.token_type]).toEqual(['of-the-program', 'Bearer']);
    expect(problems.filter((problem) => !problem.includes('400'))).toEqual([]);
  });

  it('is in Spanish if its address says so', async () => {
    const { page } = await openPage(await makeAuthorizationUrl({ locale: 'es' }));
    await waitForHeading(page, AUTHORIZATION_TEXTS.es.wants('Sheets'));
  });

  it('redirects without a code when the user denies, and leaves no session behind', async () => {
    // Others sign in as the owner meanwhile.
    const { email, password } = await createUser();
    const { page } = await openPage(await makeAuthorizationUrl({ company_slug: demo.company.slug }));
    await signIn(page, email, password);
    await page.getByRole('button', { name: texts.deny, exact: true }).click();
    await page.waitForURL((address) => address.pathname === '/health');
    expect(new URL(page.url()).searchParams.get('error')).toBe('access_denied');
    const json = { company_slug: demo.company.slug, email, password };
    const { token } = await send<{ token: string }>(url, 'POST', '/v1/auth/login', { json });
    const { records } = await send<{ records: { current: boolean }[] }>(url, 'GET', '/v1/auth/sessions', { token });
    expect(records.filter(({ current }) => !current)).toEqual([]);
  });

  it('signs in by a mailed code', async () => {
    const { email } = await createUser();
    const { page } = await openPage(await makeAuthorizationUrl({ company_slug: demo.company.slug }));
    await waitForHeading(page, texts.signIn('Demo'));
    await page.getByRole('button', { name: texts.mailCode }).click();
    await page.getByText(PAGE_TEXTS.en.failures.VALIDATION_ERROR).waitFor();
    await page.locator('input[type="email"]').fill(email);
    await page.getByRole('button', { name: texts.mailCode }).click();
    await waitForHeading(page, texts.codeTitle);
    await page.getByLabel(texts.code, { exact: true }).fill(await readMailedCode(email));
    await page.keyboard.press('Enter');
    await waitForHeading(page, texts.consentTitle('Sheets'));
  });

  it('says that a redirect URI is not allowed, and shows no sign-in form', async () => {
    const { page } = await openPage(await makeAuthorizationUrl({ redirect_uri: 'https://evil.example/' }));
    await waitForHeading(page, texts.badTitle);
    await page.getByText(texts.badRedirect).waitFor();
    expect(await page.locator('input').count()).toBe(0);
  });

  it('grants a device access by its user code', async () => {
    const deviceAuthorization = await postForm('/oauth/device_authorization', {
      client_id: await registerClientOnce(),
    });
    const { page } = await openPage(
      `${deviceAuthorization.verification_uri_complete}&company_slug=${demo.company.slug}`,
    );
    await signIn(page);
    await waitForHeading(page, texts.deviceTitle);
    expect(await page.getByLabel(texts.deviceCode, { exact: true }).inputValue()).toBe(deviceAuthorization.user_code);
    expect(await findAxeViolations(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: texts.allow, exact: true }).click();
    await waitForHeading(page, texts.doneTitle);
    await waitUntilSettled(page);
    const tokens = await postForm('/oauth/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: await registerClientOnce(),
      device_code: deviceAuthorization.device_code as string,
    });
    expect(tokens.token_type).toBe('Bearer');
  });
});

it('the example of a device gets tokens once a user enters the code that it shows', async () => {
  const example = spawn(process.execPath, ['examples/device/sign-in.ts', url]);
  let output = '';
  for (const stream of [example.stdout, example.stderr]) {
    stream.on('data', (data) => {
      output += data;
    });
  }
  const exitEvent = once(example, 'exit');
  await expect.poll(() => output).toMatch(/type [A-Z]{4}-[A-Z]{4}/);
  const [, user_code] = /type ([A-Z]{4}-[A-Z]{4})/.exec(output) ?? [];
  const { request } = await requestApi<{ request: string }>('POST', '/v1/oauth-devices', { user_code });
  await requestApi('POST', '/v1/oauth-grants', { request, allow: true });
  expect([await exitEvent, output]).toEqual([[0, null], expect.stringMatching(/Let in\. Tables: \w/)]);
});
