import { z } from 'zod';
import { ok } from '../../../http/endpoint.ts';
import { endpoint } from '../../../http/surfaces/knowledge.ts';
import { businessDomain, getBusinessDomains, replaceBusinessDomains } from './service.ts';

const DOMAINS_PATH = '/api/v1/domain-knowledge/business-domains';
const MAX_DOMAINS = 100;

const domains = z
  .object({
    business_domains: z
      .array(businessDomain)
      .max(MAX_DOMAINS)
      .superRefine((domainList, context) => {
        const keys = new Set<string>();
        for (const [index, { key }] of domainList.entries()) {
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
      path: DOMAINS_PATH,
      access: 'concepts:list',
      operationId: 'getBusinessDomains',
      summary: 'Get the business domains',
      description: 'The areas of the business that concepts are generated for.',
      returns: ok(domains),
      fails: [],
    },
    async ({ ctx }) => ({ business_domains: await getBusinessDomains(ctx) }),
  ),
  endpoint(
    {
      method: 'put',
      path: DOMAINS_PATH,
      access: 'company:update',
      operationId: 'replaceBusinessDomains',
      summary: 'Replace the business domains',
      description:
        'All of them at once, in the order that is sent. Jobs that are running keep those that they started with.',
      body: domains,
      returns: ok(domains),
      fails: [],
    },
    async ({ ctx, body }) => ({ business_domains: await replaceBusinessDomains(ctx, body.business_domains) }),
  ),
];
