import { z } from 'zod';
import { ok } from '../../../http/endpoint.ts';
import { endpoint } from '../../../http/surfaces/knowledge.ts';
import { getBusinessDomains, putBusinessDomains } from './service.ts';
import { businessDomain } from './views.ts';

const PATH = '/api/v1/domain-knowledge/business-domains';
const MOST_DOMAINS = 100;

const domains = z
  .object({
    business_domains: z
      .array(businessDomain)
      .max(MOST_DOMAINS)
      .superRefine((list, context) => {
        const keys = new Set<string>();
        for (const [index, { key }] of list.entries()) {
          if (keys.has(key)) context.addIssue({ code: 'custom', path: [index, 'key'], message: 'is used twice' });
          keys.add(key);
        }
      }),
  })
  .meta({ id: 'BusinessDomains' });

export const businessDomainEndpoints = [
  endpoint(
    {
      method: 'get',
      path: PATH,
      access: 'concepts:list',
      summary: 'What the company does: the domains that concepts are generated for',
      returns: ok(domains),
    },
    async ({ ctx }) => ({ business_domains: await getBusinessDomains(ctx) }),
  ),
  endpoint(
    {
      method: 'put',
      path: PATH,
      access: 'company:update',
      summary: 'Set all business domains, in place of those before',
      body: domains,
      returns: ok(domains),
    },
    async ({ ctx, body }) => ({ business_domains: await putBusinessDomains(ctx, body.business_domains) }),
  ),
];
