import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findAxeViolations, isBrowserInstalled, useBrowser } from './browser.ts';
import { FILTERS, makeFilteredSql, STRIKES } from './everything.ts';
import {
  EMBED,
  findFrame,
  type HostSite,
  readStrikes,
  signHostToken,
  startHostSite,
  type TokenAnswer,
  waitForEvents,
} from './host.ts';
import { type Chart, createDashboard, createEmbed, requestApi, url } from './world.ts';

const CHARTS: Chart[] = [STRIKES, { name: 'Reports', sql: makeFilteredSql('*', 'LIMIT 40'), place: [0, 4, 12, 14] }];
const NOT_VALID = 'This link is not valid or has expired. Ask the person who sent it for a new one.';
const LATE = 'Your access could not be renewed. Trying again …';
const RETRYING = 'This cannot be shown at the moment. Trying again …';
const LONG = 3600;
/** Of which two seconds are left when it is renewed. */
const SHORT_LIFETIME = 4;

/** Pauses of the host's page pass fifty times as fast, but those in which our page must say that it is there. */
const HASTE = `if (self === top) {
  const wait = setTimeout;
  globalThis.setTimeout = (work, ms) => wait(work, ms === 3000 || ms === 20000 ? ms : ms / 50);
}`;

describe.skipIf(!isBrowserInstalled)('the token of an embed', () => {
  const open = useBrowser();
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
    host.asked = 0;
  });

  /** Answers these one after the other, the last one again and again. */
  const answers = (...given: (() => Promise<TokenAnswer> | TokenAnswer)[]) => {
    host.token = () => (given.length > 1 ? given.shift() : given[0])?.() ?? { status: 500, body: '' };
  };
  const good =
    (seconds: number, more = {}, off = 0) =>
    async () => ({
      body: { token: await signHostToken(seconds, { ...claims, ...more }, off) },
    });
  const failing =
    (status: number, body: unknown = '') =>
    () => ({ status, body, type: 'text/html' });

  const hosted = (body = EMBED, origins: string[] = []) =>
    open(host.page(body), { origins: [host.origin, ...origins] });
  const inner = (page: Page) => {
    const found = page.frames().find((each) => each.url().startsWith(url));
    if (!found) throw new Error('There is no frame of ours.');
    return found;
  };
  /** The token that a page used last. */
  function tokensOf(page: Page): string[] {
    const tokens: string[] = [];
    page.on('request', (request) => {
      const [, token] = /\/api\/embed\/d\/([^/]+)\/execute$/.exec(request.url()) ?? [];
      if (token) tokens.push(token);
    });
    return tokens;
  }

  it('is renewed while the page is in use: filters, scroll position, focus and open menus stay', async () => {
    const { promise: mayRenew, resolve: renew } = Promise.withResolvers<void>();
    answers(good(SHORT_LIFETIME + 6), () => mayRenew.then(good(LONG)));
    const { page, problems } = await hosted();
    await expect.poll(() => readStrikes(page)).toBe('10,000');
    const tokens = tokensOf(page);
    await inner(page).evaluate('globalThis.mark = 1');
    await findFrame(page).getByLabel('Aircraft').fill('B-737-300');
    await expect.poll(() => readStrikes(page)).toBe('954');
    await findFrame(page)
      .getByRole('button', { name: /^State/ })
      .click();
    await findFrame(page).getByRole('option', { name: 'Texas' }).waitFor();
    await findFrame(page).getByRole('combobox').fill('Te');
    await page.evaluate('scrollTo(0, 100)');
    const state = () =>
      inner(page).evaluate(
        `[mark, history.length, location.href, document.activeElement.role, document.activeElement.value]`,
      );
    const before = await state();
    const opened = () =>
      inner(page).evaluate(
        "performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/info')).length",
      );
    expect(await opened()).toBe(1);
    renew();
    await expect.poll(opened).toBe(2);
    expect(await state()).toEqual(before);
    expect(await page.evaluate('scrollY')).toBe(100);
    await findFrame(page).getByRole('option', { name: 'Texas' }).click();
    await expect.poll(() => new Set(tokens).size).toBe(2);
    expect(await findFrame(page).getByLabel('Aircraft').inputValue()).toBe('B-737-300');
    expect([host.asked, problems]).toEqual([2, []]);
  });

  it('is renewed before its expiry even if the clocks of viewer and host are wrong', async () => {
    for (const viewer of [-3600, 3600]) {
      answers(good(SHORT_LIFETIME), good(LONG, {}, 50));
      const { page } = await hosted('');
      await page.addInitScript(`const now = Date.now; Date.now = () => now() + ${viewer * 1000}`);
      await page.goto(host.page(EMBED));
      await expect.poll(() => readStrikes(page)).toBe('10,000');
      await expect.poll(() => host.asked).toBe(2);
      await findFrame(page).getByLabel('Aircraft').fill('B-737-300');
      await expect.poll(() => readStrikes(page)).toBe('954');
      expect([host.asked, await waitForEvents(page, 'error')]).toEqual([2, []]);
      host.asked = 0;
      await page.context().close();
    }
  });

  it("is refused if the host's clock is far off: the viewer is told, and no further token is requested", async () => {
    answers(good(LONG, {}, -2 * LONG));
    const late = await hosted();
    await findFrame(late.page).getByText(NOT_VALID).waitFor();
    await expect.poll(() => waitForEvents(late.page, 'error')).toMatchObject([{ code: 'TOKEN_INVALID' }]);
    expect([host.asked, await findFrame(late.page).getByRole('button').count()]).toEqual([2, 0]);
    await late.page.context().close();

    // Nobody may show the page of a token that is not good yet.
    answers(good(LONG, {}, 300));
    const { page } = await hosted();
    await page.getByRole('status').filter({ hasText: 'This cannot be shown here.' }).waitFor();
    expect(await waitForEvents(page, 'error')).toMatchObject([{ code: 'NOT_LOADED' }]);
    expect([host.asked, await page.locator('iframe').isVisible()]).toEqual([3, false]);
  });

  it('is requested again more and more slowly while the host fails or answers nonsense', async () => {
    const broken = [
      failing(500),
      failing(200, '<html>'),
      failing(200, { token: 7 }),
      failing(429),
      failing(200, 'null'),
    ];
    const slow = async () => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      return good(LONG)();
    };
    const { page } = await hosted('');
    await page.addInitScript(HASTE);
    answers(...broken, slow);
    await page.goto(host.page(EMBED));
    await page.getByRole('status').filter({ hasText: RETRYING }).waitFor();
    await expect.poll(() => readStrikes(page)).toBe('10,000');
    expect(await page.getByText(RETRYING).count()).toBe(0);
    const failures = await waitForEvents(page, 'error');
    expect(failures.map(({ code }) => code)).toEqual(broken.map(() => 'TOKEN_FAILED'));
    for (const [tries, { retryIn }] of failures.entries()) {
      expect(retryIn).toBeGreaterThanOrEqual(Math.ceil(0.75 * 2 ** tries));
      expect(retryIn).toBeLessThanOrEqual(Math.ceil(1.25 * 2 ** tries));
    }
    expect(host.asked).toBe(broken.length + 1);
  });

  it('is waited for when its renewal is late: the page says so, and then runs the query that was asked', async () => {
    let isBack = false;
    answers(good(SHORT_LIFETIME), () => (isBack ? good(LONG) : failing(503))());
    const { page } = await hosted('');
    await page.addInitScript(HASTE);
    await page.goto(host.page(EMBED));
    await expect.poll(() => readStrikes(page)).toBe('10,000');
    // Once the token has ended.
    await findFrame(page).getByRole('status').filter({ hasText: LATE }).waitFor();
    await findFrame(page).getByLabel('Aircraft').fill('B-737-300');
    await page.waitForResponse((response) => response.url().endsWith('/execute') && response.status() === 401);
    expect(await findFrame(page).getByRole('alert').count()).toBe(0);
    isBack = true;
    await expect.poll(() => readStrikes(page)).toBe('954');
    expect(await findFrame(page).getByText(LATE).count()).toBe(0);
  });

  it('is requested once when the host refuses it', async () => {
    for (const status of [401, 403, 404, 410]) {
      host.asked = 0;
      answers(failing(status));
      const { page } = await hosted();
      await page.getByRole('status').filter({ hasText: 'You have no access to this.' }).waitFor();
      expect(await waitForEvents(page, 'error')).toMatchObject([{ code: 'TOKEN_REFUSED' }]);
      expect([host.asked, await page.locator('iframe').count()]).toEqual([1, 0]);
      await page.context().close();
    }
  });

  describe('after it was revoked', () => {
    const endAll = () => requestApi('POST', '/api/v1/embed/revoke', { dashboard_id: claims.dashboard_id });
    /** Nothing to see, and nothing to do. */
    async function saysSo(page: Page): Promise<void> {
      await findFrame(page).getByRole('alert').filter({ hasText: NOT_VALID }).waitFor();
      for (const role of ['button', 'textbox', 'img', 'table', 'region'] as const) {
        expect([role, await findFrame(page).getByRole(role).count()]).toEqual([role, 0]);
      }
      expect(await findAxeViolations(inner(page))).toEqual([]);
    }

    it('shows nothing from the next request on, if the host renews no token or refuses', async () => {
      const path = await createEmbed(String(claims.dashboard_id), { allowed_params: ['aircraft'] });
      const without = `<data-console-embed id="one" src="${url}${path}"></data-console-embed>`;
      for (const body of [without, without.replace('></', ' token-endpoint="/token"></')]) {
        answers(failing(403));
        const { page, executed } = await hosted(
          body.replace(path, await createEmbed(String(claims.dashboard_id), { allowed_params: ['aircraft'] })),
        );
        await expect.poll(() => readStrikes(page)).toBe('10,000');
        await endAll();
        await findFrame(page).getByLabel('Aircraft').fill('B-737-300');
        await saysSo(page);
        expect((await waitForEvents(page, 'error')).at(-1)).toMatchObject({ code: 'TOKEN_INVALID' });
        const asked = executed.length;
        await page.evaluate("one.setParameters({ aircraft: 'B-737-400' })");
        await page.waitForTimeout(200);
        expect(executed).toHaveLength(asked);
        await page.context().close();
      }
    });

    it('is replaced if the host gives another', async () => {
      answers(good(LONG));
      const { page } = await hosted();
      await expect.poll(() => readStrikes(page)).toBe('10,000');
      await endAll();
      // A host's token was made at its second, with all others of it.
      answers(good(LONG, {}, 2));
      await findFrame(page).getByLabel('Aircraft').fill('B-737-300');
      await expect.poll(() => readStrikes(page)).toBe('954');
      expect(host.asked).toBe(2);
    });
  });

  it('is ignored if it is for another dashboard or origin, and messages of other windows are ignored', async () => {
    answers(good(LONG, {}, 2));
    const other = await startHostSite();
    const { page, executed } = await hosted();
    await expect.poll(() => readStrikes(page)).toBe('10,000');
    const tokens = tokensOf(page);
    const elsewhere = await signHostToken(LONG, { dashboard_id: await createDashboard([], { name: 'Other' }) }, 2);
    const forOthers = await signHostToken(LONG, { ...ownClaims, allowed_origins: [other.origin] }, 2);
    const send = (token: string) =>
      page.evaluate(
        `one.shadowRoot.querySelector('iframe').contentWindow.postMessage({ type: 'data-console:token', token: '${token}' }, '${url}')`,
      );
    for (const token of [elsewhere, forOthers, 'rubbish', 'a.b.c']) {
      const answered = page.waitForResponse((response) => response.url().endsWith('/info'));
      await send(token);
      await answered;
    }
    await findFrame(page).getByLabel('Aircraft').fill('B-737-300');
    await expect.poll(() => readStrikes(page)).toBe('954');
    expect(new Set(tokens).size).toBe(1);
    expect(tokens[0]).toBe(await inner(page).evaluate('location.pathname.split("/").at(-1)'));
    // The host's page hears its own frame alone.
    const height = await page.evaluate('one.offsetHeight');
    const before = executed.length;
    await page.evaluate(`postMessage({ type: 'data-console:height', height: 7 }, '*');
      postMessage({ type: 'data-console:click', values: {} }, '*');
      postMessage({ type: 'data-console:token-wanted' }, '*')`);
    await page.waitForTimeout(100);
    expect([await page.evaluate('one.offsetHeight'), host.asked, executed.length]).toEqual([height, 1, before]);
    other.close();
  });
});
