import { describe, expect, it } from 'vitest';
import { createSalesDashboard } from '../shares/support.ts';
import { callApi } from '../support/api.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { expectSuccess } from '../support/signed.ts';
import { hostToken, type SigningKey } from './support.ts';

const THEME = { name: 'Partner', primary_color: '#063970', radius: 0 };

const company = await createProvisionedCompany();
const dashboardId = (await createSalesDashboard(company)).dashboard._id;
await expectSuccess(company.as.put('/v1/company/branding', { json: { name: 'Aves & Cia', font: 'serif', radius: 8 } }));

const generateEmbed = (json: unknown) => company.as.post(`/api/v1/embed/dashboards/${dashboardId}`, { json });

describe('an embed token', () => {
  it('may carry a theme, which overrides the brand of the company', async () => {
    const { token } = await expectSuccess(generateEmbed({ theme: THEME }));
    const { branding } = await expectSuccess(callApi('GET', `/api/embed/d/${token}/info`));
    expect(branding).toEqual({ ...THEME, font: 'serif' });
    // The page wears it before it has asked for anything.
    expect(String((await callApi('GET', `/embed/d/${token}`)).body)).toContain(JSON.stringify(THEME));
    const plainEmbed = await expectSuccess(generateEmbed({}));
    const { branding: companyBranding } = await expectSuccess(callApi('GET', `/api/embed/d/${plainEmbed.token}/info`));
    expect(companyBranding).toEqual({ name: 'Aves & Cia', font: 'serif', radius: 8 });
  });

  it('may carry a theme and a language also when a host signs it', async () => {
    const key: SigningKey = await expectSuccess(company.as.post('/api/v1/embed/signing-keys'));
    const token = await hostToken(key, { dashboard_id: dashboardId, theme: THEME, locale: 'es-MX' });
    const { branding } = await expectSuccess(callApi('GET', `/api/embed/d/${token}/info`));
    expect(branding).toEqual({ ...THEME, font: 'serif' });
    const { headers, body } = await callApi('GET', `/embed/d/${token}`);
    expect([headers.get('content-language'), String(body).includes(JSON.stringify(THEME))]).toEqual(['es', true]);
  });

  it.each([
    [{ background: '#ffffff', text_color: '#eeeeee' }, 'theme.text_color'],
    [{ font: 'Papyrus' }, 'theme.font'],
  ])('is refused with a theme of low contrast or unknown font: %j', async (theme, field) => {
    const { status, body } = await generateEmbed({ theme });
    expect([status, body.details?.[0]?.field]).toEqual([422, field]);
  });

  it('may name the language of its page, which the URL can override', async () => {
    const { token } = await expectSuccess(generateEmbed({ locale: 'pt-BR' }));
    const readLanguage = async (query = '') => {
      const headers = { 'accept-language': 'es' };
      return (await callApi('GET', `/embed/d/${token}${query}`, { headers })).headers.get('content-language');
    };
    expect(await readLanguage()).toBe('pt-BR');
    expect(await readLanguage('?locale=en')).toBe('en');
    expect((await generateEmbed({ locale: 'de' })).status).toBe(422);
  });
});
