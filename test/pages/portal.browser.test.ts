import { describe, expect, it } from 'vitest';
import { type Answers, axeFindings, installed, useBrowser } from './browser.ts';
import { RESULTS, SUBJECT } from './sample.ts';

const CODE = '1234-5678';

/** The API of a portal where `ana@example.com` signs in with CODE. Access tokens work for `lifetime` calls. */
function portalApi({ lifetime = 1_000, refreshable = true } = {}) {
  const calls: string[] = [];
  let made = 0;
  let left = 0;
  const tokens = () => {
    left = lifetime;
    made++;
    return {
      body: {
        access_token: `access-${made}`,
        refresh_token: `refresh-${made}`,
        access_token_expires_in: 900,
        refresh_token_expires_in: 604_800,
        user: {},
      },
    };
  };
  const refused = { status: 401, body: { error_code: 'TOKEN_INVALID', message: 'no' } };
  const answers: Answers = ({ path, body, query, headers }) => {
    calls.push(path);
    const sent = body as { code?: string; refresh_token?: string; context_id?: string };
    if (path === '/api/v1/share-auth/request') return { body: { success: true } };
    if (path === '/api/v1/share-auth/verify')
      return sent.code === CODE ? tokens() : { status: 400, body: { error_code: 'INVALID_CODE', message: 'no' } };
    if (path === '/api/v1/share-auth/refresh')
      return refreshable && sent.refresh_token === `refresh-${made}` ? tokens() : refused;
    if (path === '/api/v1/share-auth/logout') return { body: { success: true } };
    if (headers.authorization !== `Bearer access-${made}` || left-- <= 0) return refused;
    const { name, description, slug, id } = SUBJECT;
    if (path === '/api/v1/share-portal/acme/dashboards')
      return {
        body: { total: 1, page: 1, per_page: 100, records: [{ id, name, slug, description, context_id: 'c1' }] },
      };
    if (path === `/api/v1/share-portal/dashboards/${id}` && query.get('context_id') === 'c1')
      return { body: { ...SUBJECT, context_id: 'c1' } };
    if (path === `/api/v1/share-portal/dashboards/${id}/execute` && sent.context_id === 'c1')
      return { body: { results: RESULTS } };
    return undefined;
  };
  return { calls, answers };
}

describe.skipIf(!installed)('the portal', () => {
  const open = useBrowser();

  async function signedIn(api: { answers: Answers }) {
    const opened = await open('/portal/acme', api.answers);
    await opened.page.getByLabel('E-mail').fill('ana@example.com');
    await opened.page.keyboard.press('Enter');
    await opened.page.getByLabel('Code').fill('12345678');
    expect(await opened.page.getByLabel('Code').inputValue()).toBe(CODE);
    await opened.page.keyboard.press('Enter');
    return opened;
  }

  it('leads from an e-mail address through a code to a dashboard and back, without a cookie', async () => {
    const api = portalApi();
    const { page, problems } = await open('/portal/acme', api.answers);
    expect(await axeFindings(page)).toEqual([]);
    await page.getByLabel('E-mail').fill('ana@example.com');
    await page.getByRole('button', { name: 'Send me a code' }).click();
    await page.getByLabel('Code').fill('0000-0000');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').filter({ hasText: 'This code is wrong, or no longer good.' }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.getByLabel('Code').fill(CODE);
    await page.getByRole('button', { name: 'Sign in' }).click();

    await page.getByRole('link', { name: /Bird strikes/ }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole('link', { name: /Bird strikes/ }).click();
    await page.getByRole('img', { name: 'Strikes by month: line chart.' }).waitFor();
    await page.getByLabel('Aircraft').fill('B-737');
    await expect.poll(() => new URL(page.url()).hash).toMatch(/\?aircraft=B-737$/);
    expect(await axeFindings(page)).toEqual([]);
    // The tab remembers who signed in, and what was chosen.
    await page.reload();
    await page.getByRole('img', { name: 'Strikes by month: line chart.' }).waitFor();
    expect(await page.getByLabel('Aircraft').inputValue()).toBe('B-737');
    await page.getByRole('link', { name: 'All dashboards' }).click();
    await page.getByRole('link', { name: /Bird strikes/ }).waitFor();
    expect(await page.context().cookies()).toEqual([]);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('E-mail').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    expect(api.calls.at(-1)).toBe('/api/v1/share-auth/logout');
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it('gets a new token when one has expired, and asks to sign in when there is none to get', async () => {
    const renewed = portalApi({ lifetime: 1 });
    const first = await signedIn(renewed);
    await first.page.getByRole('link', { name: /Bird strikes/ }).click();
    await first.page.getByRole('img', { name: 'Strikes by month: line chart.' }).waitFor();
    expect(renewed.calls.filter((path) => path.endsWith('/refresh'))).toHaveLength(2);
    await first.page.context().close();

    const ended = portalApi({ lifetime: 1, refreshable: false });
    const second = await signedIn(ended);
    await second.page.getByRole('link', { name: /Bird strikes/ }).click();
    await second.page.getByText('Your session has ended: sign in again.').waitFor();
    await second.page.reload();
    await second.page.getByLabel('E-mail').waitFor();
    await second.page.context().close();
  });
});
