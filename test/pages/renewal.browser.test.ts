import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findAxeViolations, isBrowserInstalled, useBrowser } from './browser.ts';
import { type Chart, createDashboard, createEmbed, requestApi, url } from './demo-company.ts';
import { FILTERS, makeFilteredSql, STRIKES } from './example-charts.ts';
import {
  EMBED_ELEMENT,
  findFrame,
  type HostSite,
  readStrikeCount,
  signHostToken,
  startHostSite,
  type TokenAnswer,
  waitForEvents,
} from './host.ts';

const CHARTS: Chart[] = [STRIKES, { name: 'Reports', sql: makeFilteredSql('*', 'LIMIT 40'), place: [0, 4, 12, 14] }];
const NOT_VALID_TEXT = 'This link is not valid or has expired. Ask the person who sent it for a new one.';
const LATE_RENEWAL_TEXT = 'Your access could not be renewed. Trying again …';
const RETRYING_TEXT = 'This cannot be shown at the moment. Trying again …';
const LONG_LIFETIME_S = 3600;
/** The lifetime in seconds of a token that is renewed two seconds before its end. */
const SHORT_LIFETIME_S = 4;

/** Script that makes timeouts of the host's page fifty times as fast, except those in which our page must respond. */
const FAST_TIMERS_SCRIPT = `if (self === top) {
  const wait = setTimeout;
  globalThis.setTimeout = (work, ms) => wait(work, ms === 3000 || ms === 20000 ? ms : ms / 50);
}`;

describe.skipIf(!isBrowserInstalled)('the token of an embed', () => {
  const openPage = useBrowser();
  let host: HostSite;
  let claims: Record<string, unknown>;
  let ownClaims: Record<string, unknown>;
  beforeAll(async () => {
    host = await startHostSite();
    const dashboard_id = await createDashboard(CHARTS, { filters: FILTERS });
    ownClaims = { dashboard_id, allowed_params: ['state', 'aircraft'] };
    claims = { ...ownClaims, allowed_origins: [host.origin] };
  });
  afterAll(() => host?.close());
  beforeEach(() => {
    host.tokenRequestCount = 0;
  });

  /** Lets the host answer token requests with these in turn; the last one is repeated. */
  const answerInTurn = (...tokenAnswers: (() => Promise<TokenAnswer> | TokenAnswer)[]) => {
    host.answerTokenRequest = () =>
      (tokenAnswers.length > 1 ? tokenAnswers.shift() : tokenAnswers[0])?.() ?? { status: 500, body: '' };
  };
  const makeTokenAnswer =
    (seconds: number, otherClaims = {}, clockOffset = 0) =>
    async () => ({
      body: { token: await signHostToken(seconds, { ...claims, ...otherClaims }, clockOffset) },
    });
  const makeFailingAnswer =
    (status: number, body: unknown = '') =>
    () => ({ status, body, type: 'text/html' });

  const openHostedPage = (body = EMBED_ELEMENT, origins: string[] = []) =>
    openPage(host.addPage(body), { origins: [host.origin, ...origins] });
  const findInnerFrame = (page: Page) => {
    const innerFrame = page.frames().find((frame) => frame.url().startsWith(url));
    if (!innerFrame) throw new Error('There is no frame of ours.');
    return innerFrame;
  };
  /** Records the tokens that a page sends. @returns the list, which grows */
  function recordTokens(page: Page): string[] {
    const tokens: string[] = [];
    page.on('request', (request) => {
      const [, token] = /\/api\/embed\/d\/([^/]+)\/execute$/.exec(request.url()) ?? [];
      if (token) tokens.push(token);
    });
    return tokens;
  }

  it('is renewed while the page is in use: filters, scroll position, focus and open menus stay', async () => {
    const { promise: mayRenew, resolve: renew } = Promise.withResolvers<void>();
    answerInTurn(makeTokenAnswer(SHORT_LIFETIME_S + 6), () => mayRenew.then(makeTokenAnswer(LONG_LIFETIME_S)));
    const { page, problems } = await openHostedPage();
    await expect.poll(() => readStrikeCount(page)).toBe('10,000');
    const tokens = recordTokens(page);
    await findInnerFrame(page).evaluate('globalThis.mark = 1');
    await findFrame(page).getByLabel('Aircraft').fill('B-737-300');
    await expect.poll(() => readStrikeCount(page)).toBe('954');
    await findFrame(page)
      .getByRole('button', { name: /^State/ })
      .click();
    await findFrame(page).getByRole('option', { name: 'Texas' }).waitFor();
    await findFrame(page).getByRole('combobox').fill('Te');
    await page.evaluate('scrollTo(0, 100)');
    const readState = () =>
      findInnerFrame(page).evaluate(
        `[mark, history.length, location.href, document.activeElement.role, document.activeElement.value]`,
      );
    const stateBefore = await readState();
    const countInfoRequests = () =>
      findInnerFrame(page).evaluate(
        "performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/info')).length",
      );
    expect(await countInfoRequests()).toBe(1);
    renew();
    await expect.poll(countInfoRequests).toBe(2);
    expect(await readState()).toEqual(stateBefore);
    expect(await page.evaluate('scrollY')).toBe(100);
    await findFrame(page).getByRole('option', { name: 'Texas' }).click();
    await expect.poll(() => new Set(tokens).size).toBe(2);
    expect(await findFrame(page).getByLabel('Aircraft').inputValue()).toBe('B-737-300');
    expect([host.tokenRequestCount, problems]).toEqual([2, []]);
  });

  it('is renewed before its expiry even if the clocks of viewer and host are wrong', async () => {
    for (const viewerOffset of [-3600, 3600]) {
      answerInTurn(makeTokenAnswer(SHORT_LIFETIME_S), makeTokenAnswer(LONG_LIFETIME_S, {}, 50));
      const { page } = await openHostedPage('');
      await page.addInitScript(`const now = Date.now; Date.now = () => now() + ${viewerOffset * 1000}`);
      await page.goto(host.addPage(EMBED_ELEMENT));
      await expect.poll(() => readStrikeCount(page)).toBe('10,000');
      await expect.poll(() => host.tokenRequestCount).toBe(2);
      await findFrame(page).getByLabel('Aircraft').fill('B-737-300');
      await expect.poll(() => readStrikeCount(page)).toBe('954');
      expect([host.tokenRequestCount, await waitForEvents(page, 'error')]).toEqual([2, []]);
      host.tokenRequestCount = 0;
      await page.context().close();
    }
  });

  it("is refused if the host's clock is far off: the viewer is informed, and no further token is requested", async () => {
    answerInTurn(makeTokenAnswer(LONG_LIFETIME_S, {}, -2 * LONG_LIFETIME_S));
    const latePage = await openHostedPage();
    await findFrame(latePage.page).getByText(NOT_VALID_TEXT).waitFor();
    await expect.poll(() => waitForEvents(latePage.page, 'error')).toMatchObject([{ code: 'TOKEN_INVALID' }]);
    expect([host.tokenRequestCount, await findFrame(latePage.page).getByRole('button').count()]).toEqual([2, 0]);
    await latePage.page.context().close();

    // Nobody may show the page of a token that is not good yet.
    answerInTurn(makeTokenAnswer(LONG_LIFETIME_S, {}, 300));
    const { page } = await openHostedPage();
    await page.getByRole('status').filter({ hasText: 'This cannot be shown here.' }).waitFor();
    expect(await waitForEvents(page, 'error')).toMatchObject([{ code: 'NOT_LOADED' }]);
    expect([host.tokenRequestCount, await page.locator('iframe').isVisible()]).toEqual([3, false]);
  });

  it('is requested again at growing intervals while the host fails or answers nonsense', async () => {
    const brokenAnswers = [
      makeFailingAnswer(500),
      makeFailingAnswer(200, '<html>'),
      makeFailingAnswer(200, { token: 7 }),
      makeFailingAnswer(429),
      makeFailingAnswer(200, 'null'),
    ];
    const answerSlowly = async () => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      return makeTokenAnswer(LONG_LIFETIME_S)();
    };
    const { page } = await openHostedPage('');
    await page.addInitScript(FAST_TIMERS_SCRIPT);
    answerInTurn(...brokenAnswers, answerSlowly);
    await page.goto(host.addPage(EMBED_ELEMENT));
    await page.getByRole('status').filter({ hasText: RETRYING_TEXT }).waitFor();
    await expect.poll(() => readStrikeCount(page)).toBe('10,000');
    expect(await page.getByText(RETRYING_TEXT).count()).toBe(0);
    const failures = await waitForEvents(page, 'error');
    expect(failures.map(({ code }) => code)).toEqual(brokenAnswers.map(() => 'TOKEN_FAILED'));
    for (const [tries, { retryIn }] of failures.entries()) {
      expect(retryIn).toBeGreaterThanOrEqual(Math.ceil(0.75 * 2 ** tries));
      expect(retryIn).toBeLessThanOrEqual(Math.ceil(1.25 * 2 ** tries));
    }
    expect(host.tokenRequestCount).toBe(brokenAnswers.length + 1);
  });

  it('is waited for when its renewal is late: the page says so, and then runs the query that was requested meanwhile', async () => {
    let isServerUp = false;
    answerInTurn(makeTokenAnswer(SHORT_LIFETIME_S), () =>
      (isServerUp ? makeTokenAnswer(LONG_LIFETIME_S) : makeFailingAnswer(503))(),
    );
    const { page } = await openHostedPage('');
    await page.addInitScript(FAST_TIMERS_SCRIPT);
    await page.goto(host.addPage(EMBED_ELEMENT));
    await expect.poll(() => readStrikeCount(page)).toBe('10,000');
    // Once the token has ended.
    await findFrame(page).getByRole('status').filter({ hasText: LATE_RENEWAL_TEXT }).waitFor();
    await findFrame(page).getByLabel('Aircraft').fill('B-737-300');
    await page.waitForResponse((response) => response.url().endsWith('/execute') && response.status() === 401);
    expect(await findFrame(page).getByRole('alert').count()).toBe(0);
    isServerUp = true;
    await expect.poll(() => readStrikeCount(page)).toBe('954');
    expect(await findFrame(page).getByText(LATE_RENEWAL_TEXT).count()).toBe(0);
  });

  it('is requested once when the host refuses it', async () => {
    for (const status of [401, 403, 404, 410]) {
      host.tokenRequestCount = 0;
      answerInTurn(makeFailingAnswer(status));
      const { page } = await openHostedPage();
      await page.getByRole('status').filter({ hasText: 'You have no access to this.' }).waitFor();
      expect(await waitForEvents(page, 'error')).toMatchObject([{ code: 'TOKEN_REFUSED' }]);
      expect([host.tokenRequestCount, await page.locator('iframe').count()]).toEqual([1, 0]);
      await page.context().close();
    }
  });

  describe('after it was revoked', () => {
    const revokeAllTokens = () => requestApi('POST', '/api/v1/embed/revoke', { dashboard_id: claims.dashboard_id });
    /** Expects that the page says that access has ended, and shows neither results nor controls. */
    async function expectEndedAccess(page: Page): Promise<void> {
      await findFrame(page).getByRole('alert').filter({ hasText: NOT_VALID_TEXT }).waitFor();
      for (const role of ['button', 'textbox', 'img', 'table', 'region'] as const) {
        expect([role, await findFrame(page).getByRole(role).count()]).toEqual([role, 0]);
      }
      expect(await findAxeViolations(findInnerFrame(page))).toEqual([]);
    }

    it('shows nothing from the next request on, if the host gives no new token or refuses to', async () => {
      const path = await createEmbed(String(claims.dashboard_id), { allowed_params: ['aircraft'] });
      const elementWithoutEndpoint = `<data-console-embed id="one" src="${url}${path}"></data-console-embed>`;
      for (const body of [
        elementWithoutEndpoint,
        elementWithoutEndpoint.replace('></', ' token-endpoint="/token"></'),
      ]) {
        answerInTurn(makeFailingAnswer(403));
        const { page, executedParameters } = await openHostedPage(
          body.replace(path, await createEmbed(String(claims.dashboard_id), { allowed_params: ['aircraft'] })),
        );
        await expect.poll(() => readStrikeCount(page)).toBe('10,000');
        await revokeAllTokens();
        await findFrame(page).getByLabel('Aircraft').fill('B-737-300');
        await expectEndedAccess(page);
        expect((await waitForEvents(page, 'error')).at(-1)).toMatchObject({ code: 'TOKEN_INVALID' });
        const executionCount = executedParameters.length;
        await page.evaluate("one.setParameters({ aircraft: 'B-737-400' })");
        await page.waitForTimeout(200);
        expect(executedParameters).toHaveLength(executionCount);
        await page.context().close();
      }
    });

    it('is replaced if the host gives another token', async () => {
      answerInTurn(makeTokenAnswer(LONG_LIFETIME_S));
      const { page } = await openHostedPage();
      await expect.poll(() => readStrikeCount(page)).toBe('10,000');
      await revokeAllTokens();
      // A host's token was made at its second, with all others of it.
      answerInTurn(makeTokenAnswer(LONG_LIFETIME_S, {}, 2));
      await findFrame(page).getByLabel('Aircraft').fill('B-737-300');
      await expect.poll(() => readStrikeCount(page)).toBe('954');
      expect(host.tokenRequestCount).toBe(2);
    });
  });

  it('is ignored if it is for another dashboard or origin, and messages of other windows are ignored', async () => {
    answerInTurn(makeTokenAnswer(LONG_LIFETIME_S, {}, 2));
    const other = await startHostSite();
    const { page, executedParameters } = await openHostedPage();
    await expect.poll(() => readStrikeCount(page)).toBe('10,000');
    const tokens = recordTokens(page);
    const otherDashboardToken = await signHostToken(
      LONG_LIFETIME_S,
      { dashboard_id: await createDashboard([], { name: 'Other' }) },
      2,
    );
    const otherOriginToken = await signHostToken(LONG_LIFETIME_S, { ...ownClaims, allowed_origins: [other.origin] }, 2);
    const sendToken = (token: string) =>
      page.evaluate(
        `one.shadowRoot.querySelector('iframe').contentWindow.postMessage({ type: 'data-console:token', token: '${token}' }, '${url}')`,
      );
    for (const token of [otherDashboardToken, otherOriginToken, 'rubbish', 'a.b.c']) {
      const infoResponse = page.waitForResponse((response) => response.url().endsWith('/info'));
      await sendToken(token);
      await infoResponse;
    }
    await findFrame(page).getByLabel('Aircraft').fill('B-737-300');
    await expect.poll(() => readStrikeCount(page)).toBe('954');
    expect(new Set(tokens).size).toBe(1);
    expect(tokens[0]).toBe(await findInnerFrame(page).evaluate('location.pathname.split("/").at(-1)'));
    // The host's page hears its own frame alone.
    const height = await page.evaluate('one.offsetHeight');
    const executionCount = executedParameters.length;
    await page.evaluate(`postMessage({ type: 'data-console:height', height: 7 }, '*');
      postMessage({ type: 'data-console:click', values: {} }, '*');
      postMessage({ type: 'data-console:token-wanted' }, '*')`);
    await page.waitForTimeout(100);
    expect([await page.evaluate('one.offsetHeight'), host.tokenRequestCount, executedParameters.length]).toEqual([
      height,
      1,
      executionCount,
    ]);
    other.close();
  });
});
