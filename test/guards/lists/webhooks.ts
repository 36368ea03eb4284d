import { guardsOf } from '../guard.ts';

const RACES = ['test/webhooks/races.test.ts'];
const RECEIVERS = ['test/webhooks/receivers.test.ts'];
const STREAM = ['test/webhooks/audit.test.ts'];
const SHARES = ['test/webhooks/shares.test.ts'];
const PEOPLE = ['test/organizations/people.test.ts'];

export const WEBHOOKS = [
  ...guardsOf('drizzle/0043_webhook-pauses.sql', SHARES, [
    {
      text: "WHEN OLD.status = 'active' AND NEW.status <> 'active'",
      without: "WHEN OLD.status = 'none' AND NEW.status <> 'active'",
      title: 'just before a pause',
    },
    {
      text: "WHEN OLD.status <> 'active' AND NEW.status = 'active'",
      without: "WHEN OLD.status = 'none' AND NEW.status = 'active'",
      title: 'just before a pause',
    },
  ]),
  ...guardsOf('src/modules/webhooks/store.ts', RACES, [
    { in: 'insertEndpoint', text: ' < ${most}`', without: ' < ${most + 1_000}`', title: 'at most twenty' },
    {
      in: 'replaceSecrets',
      text: 'and(byId(webhookEndpoints, companyId, id), eq(webhookEndpoints.secrets, secrets))',
      without: 'byId(webhookEndpoints, companyId, id)',
      title: 'keep every secret',
    },
    {
      in: 'deleteEvents',
      text: ' and read.value ->> 1 = ${events.record}',
      without: '',
      tests: PEOPLE,
      title: 'being handed out',
    },
  ]),
  ...guardsOf('src/objects/webhook-sender.ts', RECEIVERS, [
    { text: "found.suspendedAt === null ? found.status : 'suspended'", without: 'found.status', title: 'of a company' },
    { text: 'until === null || until > now', without: 'true', title: 'for a day' },
    { text: ' AND tries = ?5', without: ' AND ?5 = ?5', title: 'asked for again' },
    {
      text: 'WHERE eventId = ?2 AND body <> ?1',
      without: 'WHERE eventId = ?2 AND body = ?1',
      tests: PEOPLE,
      title: 'being handed out',
    },
  ]),
  ...guardsOf('src/objects/company-log.ts', STREAM, [
    { text: 'told.redactions !== this.#redactions', without: 'told.redactions < 0', title: 'redacted meanwhile' },
  ]),
  ...guardsOf('src/logs/following.ts', STREAM, [
    {
      in: 'noteLate',
      text: ' || (moved !== undefined && compareKeys(key, moved) <= 0)',
      without: '',
      title: 'not reached yet',
    },
  ]),
  ...guardsOf('src/db/webhook-endpoints.ts', RACES, [
    {
      in: 'disableEndpoint',
      text: "        eq(webhookEndpoints.status, 'active'),\n",
      without: '',
      title: 'paused meanwhile',
    },
    { in: 'disableEndpoint', text: '        eq(webhookEndpoints.url, url),\n', without: '', title: 'a new address' },
  ]),
  ...guardsOf(
    'src/platform/outside-fetch.ts',
    ['test/local/outside-fetch.test.ts'],
    [
      {
        text: '(lookedUp.get(hostname) ?? 0) > now',
        without: 'lookedUp.get(hostname)',
        title: 'even if it was public before',
      },
      {
        text: '!found.map(asHostname).every((host) => isPublicHost(host))',
        without: 'false',
        title: 'is refused when it resolves to',
      },
      { text: 'found.length === 0', without: 'false', title: 'is unknown or the name service is down' },
    ],
  ),
];
