import { guardsOf } from '../guard.ts';

const RACE_TESTS = ['test/webhooks/races.test.ts'];
const RECEIVER_TESTS = ['test/webhooks/receivers.test.ts'];
const AUDIT_STREAM_TESTS = ['test/webhooks/audit.test.ts'];
const SHARE_TESTS = ['test/webhooks/shares.test.ts'];
const PERSONAL_DATA_TESTS = ['test/organizations/people.test.ts'];

export const WEBHOOK_GUARDS = [
  ...guardsOf('drizzle/0043_webhook-pauses.sql', SHARE_TESTS, [
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
  ...guardsOf('src/modules/webhooks/store.ts', RACE_TESTS, [
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
      tests: PERSONAL_DATA_TESTS,
      title: 'being handed out',
    },
  ]),
  ...guardsOf('src/objects/webhook-sender.ts', RECEIVER_TESTS, [
    { text: "found.suspendedAt === null ? found.status : 'suspended'", without: 'found.status', title: 'of a company' },
    { text: 'until === null || until > now', without: 'true', title: 'for a day' },
    { text: '!this.#askedAgain.has(due.id)', without: 'true', title: 'asked for again' },
    { text: 'failing?.url === endpoint.url', without: 'failing', title: 'at a new address' },
    {
      text: 'WHERE eventId = ?2 AND body <> ?1',
      without: 'WHERE eventId = ?2 AND body = ?1',
      tests: PERSONAL_DATA_TESTS,
      title: 'being handed out',
    },
  ]),
  ...guardsOf('src/objects/company-log.ts', AUDIT_STREAM_TESTS, [
    { text: 'told.redactions !== this.#redactions', without: 'told.redactions < 0', title: 'redacted meanwhile' },
  ]),
  ...guardsOf('src/logs/following.ts', AUDIT_STREAM_TESTS, [
    {
      in: 'recordLate',
      text: ' || (moved !== undefined && compareKeys(key, moved) <= 0)',
      without: '',
      title: 'not reached yet',
    },
  ]),
  ...guardsOf('src/db/webhook-endpoints.ts', RACE_TESTS, [
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
