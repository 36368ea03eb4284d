import { beforeAll, describe, expect, it } from 'vitest';
import { findAxeViolations, isBrowserInstalled, useBrowser } from './browser.ts';
import { createDashboard } from './demo-company.ts';
import { CHARTS, FILTERS } from './example-charts.ts';
import { sendScheduledMail } from './mails.ts';

describe.skipIf(!isBrowserInstalled)('the HTML of a scheduled mail', () => {
  const openPage = useBrowser();
  let html: string;
  beforeAll(async () => {
    ({
      mail: { html },
    } = await sendScheduledMail(await createDashboard(CHARTS, { filters: FILTERS })));
  });

  it.each([320, 390, 768])(
    'fits its window, and lets each wide table scroll within itself: %i pixels',
    async (width) => {
      const { page } = await openPage('about:blank', { viewport: { width, height: 800 } });
      await page.setContent(html);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      expect(await page.getByRole('table').filter({ hasText: 'flight_date' }).last().isVisible()).toBe(true);
    },
  );

  it.each(['light', 'dark'])('has enough contrast in a mail program with a %s colour scheme', async (scheme) => {
    const { page } = await openPage('about:blank');
    await page.setContent(html.replace('<head>', `<head><meta name="color-scheme" content="${scheme}">`));
    const findings = await findAxeViolations(page);
    expect(findings.filter((finding) => finding.startsWith('color-contrast'))).toEqual([]);
  });
});
