import { guardsOf } from '../guard.ts';

const RACES = ['test/webhooks/races.test.ts'];

export const WEBHOOKS = [
  ...guardsOf('src/modules/webhooks/store.ts', RACES, [
    { in: 'insertEndpoint', text: ' < ${most}`', without: ' < ${most + 1_000}`', title: 'at most twenty' },
    {
      in: 'replaceSecrets',
      text: 'and(byId(webhookEndpoints, companyId, id), eq(webhookEndpoints.secrets, secrets))',
      without: 'byId(webhookEndpoints, companyId, id)',
      title: 'keep every secret',
    },
  ]),
  ...guardsOf('src/db/webhook-endpoints.ts', RACES, [
    {
      in: 'disableEndpoint',
      text: "        eq(webhookEndpoints.status, 'active'),\n",
      without: '',
      title: 'paused meanwhile',
    },
    { in: 'disableEndpoint', text: '        eq(webhookEndpoints.url, url),\n', without: '', title: 'another address' },
  ]),
];
