import { makeGuards } from '../guard.ts';

const RACE_TESTS = ['test/webhooks/races.test.ts'];
const RECEIVER_TESTS = ['test/webhooks/receivers.test.ts'];
const AUDIT_STREAM_TESTS = ['test/webhooks/audit.test.ts'];
const SHARE_TESTS = ['test/webhooks/shares.test.ts'];
const PERSONAL_DATA_TESTS = ['test/organizations/people.test.ts'];

export const WEBHOOK_GUARDS = [
  ...makeGuards('drizzle/0043_webhook-pauses.sql', SHARE_TESTS, [
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
  ...makeGuards('src/modules/webhooks/store.ts', RACE_TESTS, [
    {
      in: 'insertEndpoint',
      text: ' < ${maxEndpoints}`',
      without: ' < ${maxEndpoints + 1_000}`',
      title: 'at most twenty',
    },
    {
      in: 'replaceSecrets',
      text: 'and(matchesId(webhookEndpoints, companyId, id), eq(webhookEndpoints.secrets, secrets))',
      without: 'matchesId(webhookEndpoints, companyId, id)',
      title: 'two concurrent rotations of a webhook secret keep all secrets',
    },
    {
      in: 'deleteEvents',
      text: ' and read.value ->> 1 = ${events.record}',
      tests: PERSONAL_DATA_TESTS,
      title: 'being handed out',
    },
  ]),
  ...makeGuards('src/objects/webhook-sender.ts', RECEIVER_TESTS, [
    {
      text: "found.suspendedAt === null ? found.status : 'suspended'",
      without: 'found.status',
      title: 'of a suspended company gets no further attempt until the company is active again',
    },
    { text: 'until === null || until > now', without: 'true', title: 'for a day' },
    {
      text: 'pendingRow !== null',
      without: 'pendingRow === -1',
      tests: ['test/webhooks/sending.test.ts'],
      title: 'almost fill the storage',
    },
    { text: '!this.#requestedAgainIds.has(dueDelivery.id)', without: 'true', title: 'requested again' },
    { text: 'storedFailure?.url === endpoint.url', without: 'storedFailure', title: 'at a new address' },
    {
      text: 'WHERE eventId = ?2 AND body <> ?1',
      without: 'WHERE eventId = ?2 AND body = ?1',
      tests: PERSONAL_DATA_TESTS,
      title: 'being handed out',
    },
  ]),
  ...makeGuards('src/objects/company-log.ts', AUDIT_STREAM_TESTS, [
    {
      text: 'progress.redactions !== this.#redactions',
      without: 'progress.redactions < 0',
      title: 'delivers records again that were redacted after their first delivery',
    },
  ]),
  ...makeGuards('src/logs/followed-records.ts', AUDIT_STREAM_TESTS, [
    {
      in: 'recordLateKeys',
      text: ' || (moved !== undefined && compareKeys(key, moved) <= 0)',
      title: 'not reached yet',
    },
  ]),
  ...makeGuards('src/db/webhook-endpoints.ts', RACE_TESTS, [
    { in: 'disableEndpoint', text: "        eq(webhookEndpoints.status, 'active'),\n", title: 'paused meanwhile' },
    { in: 'disableEndpoint', text: '        eq(webhookEndpoints.url, url),\n', title: 'a new address' },
  ]),
  ...makeGuards(
    'src/platform/outside-fetch.ts',
    ['test/local/outside-fetch.test.ts'],
    [
      {
        text: '(verifiedNames.get(hostname) ?? 0) > now',
        without: 'verifiedNames.get(hostname)',
        title: 'even if it was public before',
      },
      {
        text: '!foundAddresses.map(toHostname).every((host) => isPublicHost(host))',
        without: 'false',
        title: 'is refused when it resolves to',
      },
      { text: 'foundAddresses.length === 0', without: 'false', title: 'is unknown or the name service is down' },
    ],
  ),
];
