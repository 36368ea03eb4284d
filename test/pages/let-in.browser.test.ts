import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { LET_IN_TEXTS } from '../../src/texts/let-in/languages.ts';
import { LOCALES } from '../../src/texts/locales.ts';
import { PAGE_TEXTS } from '../../src/texts/pages/languages.ts';
import { send } from '../support/send.ts';
import { findAxeViolations, isBrowserInstalled, useBrowser, waitUntilSettled } from './browser.ts';
import {
  createUser,
  exchangeCode,
  makeAuthorizationUrl,
  postForm,
  registerProgram,
  signIn,
  waitForHeading,
} from './letting-in.ts';
import { demo, requestApi, url } from './world.ts';

const texts = LET_IN_TEXTS.en;
/** The code in the newest mail to an address. */
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
  const open = useBrowser();

  it.each(LOCALES)(
    'asks for the company, has the user sign in and consent, by keyboard, on a phone: %s',
    async (locale) => {
      const said = LET_IN_TEXTS[locale];
      const { page, problems } = await open(await makeAuthorizationUrl({ locale }), {
        viewport: { width: 360, height: 740 },
        colorScheme: 'dark',
      });
      await waitForHeading(page, said.wants('Sheets'));
      expect(await findAxeViolations(page)).toEqual([]);
      await page.keyboard.type('nobody-at-all');
      await page.keyboard.press('Enter');
      await page.getByText(said.noSuchCompany).waitFor();
      await page.getByLabel(said.company, { exact: true }).fill(demo.company.slug);
      await page.keyboard.press('Enter');
      await waitForHeading(page, said.signIn('Demo'));
      expect(await findAxeViolations(page)).toEqual([]);
      await signIn(page, demo.owner.email, 'not-the-password');
      await page.getByText(said.failures.INVALID_CREDENTIALS as string).waitFor();
      await signIn(page);
      await waitForHeading(page, said.consentTitle('Sheets'));
      await page.getByText(said.warning).waitFor();
      await page.getByText(said.fromHost(new URL(url).host)).waitFor();
      await page.getByText(said.onlyReads).waitFor();
      await page.getByText('*:data-read').waitFor();
      expect(await findAxeViolations(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      await page.getByRole('button', { name: said.allow, exact: true }).focus();
      await page.keyboard.press('Enter');
      const { searchParams, tokens } = await exchangeCode(page);
      expect([searchParams.get('state'), tokens.token_type]).toEqual(['of-the-program', 'Bearer']);
      expect(problems.filter((problem) => !problem.includes('400'))).toEqual([]);
    },
  );

  it('redirects without a code when the user denies, and leaves no session behind', async () => {
    // Others sign in as the owner meanwhile.
    const { email, password } = await createUser();
    const { page } = await open(await makeAuthorizationUrl({ company_slug: demo.company.slug }));
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
    const { page } = await open(await makeAuthorizationUrl({ company_slug: demo.company.slug }));
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

  it('says that a redirect URI is not allowed, and asks for nothing', async () => {
    const { page } = await open(await makeAuthorizationUrl({ redirect_uri: 'https://evil.example/' }));
    await waitForHeading(page, texts.badTitle);
    await page.getByText(texts.badRedirect).waitFor();
    expect(await page.locator('input').count()).toBe(0);
  });

  it('grants a device access by its user code', async () => {
    const begun = await postForm('/oauth/device_authorization', { client_id: await registerProgram() });
    const { page } = await open(`${begun.verification_uri_complete}&company_slug=${demo.company.slug}`);
    await signIn(page);
    await waitForHeading(page, texts.deviceTitle);
    expect(await page.getByLabel(texts.deviceCode, { exact: true }).inputValue()).toBe(begun.user_code);
    expect(await findAxeViolations(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: texts.allow, exact: true }).click();
    await waitForHeading(page, texts.doneTitle);
    await waitUntilSettled(page);
    const tokens = await postForm('/oauth/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: await registerProgram(),
      device_code: begun.device_code as string,
    });
    expect(tokens.token_type).toBe('Bearer');
  });
});

it('the example of a device gets tokens once a user enters the code that it shows', async () => {
  const example = spawn(process.execPath, ['examples/device/sign-in.ts', url]);
  let said = '';
  for (const stream of [example.stdout, example.stderr]) {
    stream.on('data', (data) => {
      said += data;
    });
  }
  const ended = once(example, 'exit');
  await expect.poll(() => said).toMatch(/type [A-Z]{4}-[A-Z]{4}/);
  const [, user_code] = /type ([A-Z]{4}-[A-Z]{4})/.exec(said) ?? [];
  const { request } = await requestApi<{ request: string }>('POST', '/v1/oauth-devices', { user_code });
  await requestApi('POST', '/v1/oauth-grants', { request, allow: true });
  expect([await ended, said]).toEqual([[0, null], expect.stringMatching(/Let in\. Tables: \w/)]);
});
