import { describe, expect, it } from 'vitest';
import { newId } from '../../src/kernel/ids.ts';
import type { LogRecord } from '../../src/logs/log.ts';
import { appendRecords, getTimeDaysAgo, settleLog } from '../company-log/support.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { createSignedCaller } from '../support/signed.ts';

const OLD_TIME_MS = getTimeDaysAgo(100);

const company = await createOwnedCompany();
const records: LogRecord<'audit'>[] = Array.from({ length: 2500 }, (_, n) => ({
  id: newId(OLD_TIME_MS + n * 1000),
  correlationId: `c-${n}`,
  occurredAt: OLD_TIME_MS + n * 1000,
  principalType: 'user',
  principalId: n % 2 === 0 ? 'p' : null,
  credential: null,
  method: n === 7 ? 'a,"b"\r\n' : 'GET',
  route: '/x',
  action: null,
  resourceId: null,
  status: 200,
  ip: null,
  durationMs: 1,
  count: 1,
}));
await appendRecords(company.id, records.slice(0, 1300));
await settleLog(company.id);
await appendRecords(
  company.id,
  records.slice(1300).map((record) => ({ ...record, occurredAt: record.occurredAt + 30 * 86_400_000 })),
);

const downloadEvents = (query: string) => createSignedCaller(company.apiKey).get(`/admin/audit-events/export?${query}`);
const RANGE_QUERY = `to=${new Date(OLD_TIME_MS + 40 * 86_400_000).toISOString()}`;
const parseLines = (body: string) =>
  body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('the export of audit events', () => {
  it('streams the events of the list, including events of moved days, one object per line', async () => {
    const { status, headers, body } = await downloadEvents(RANGE_QUERY);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    expect(headers.get('content-disposition')).toBe('attachment; filename="audit-events.ndjson"');
    const lines = parseLines(body);
    expect(lines).toHaveLength(2500);
    const listedPage = await createSignedCaller(company.apiKey).get(
      `/admin/audit-events?${RANGE_QUERY}&quantity=100&page=13`,
    );
    expect(listedPage.body.total).toBe(2500);
    expect(lines.slice(1200, 1300)).toEqual(listedPage.body.results);
  });

  it('can be limited to a time range, both ends included', async () => {
    const formatTime = (n: number) => new Date(OLD_TIME_MS + n * 1000).toISOString();
    const lines = parseLines((await downloadEvents(`from=${formatTime(100)}&to=${formatTime(199)}`)).body);
    expect(lines.map(({ correlation_id }) => correlation_id)).toEqual(
      Array.from({ length: 100 }, (_, n) => `c-${199 - n}`),
    );
  });

  it('writes CSV with a header, quoting values where needed', async () => {
    const formatTime = (n: number) => new Date(OLD_TIME_MS + n * 1000).toISOString();
    const { headers, body } = await downloadEvents(`from=${formatTime(6)}&to=${formatTime(7)}&format=csv`);
    expect(headers.get('content-type')).toBe('text/csv');
    const [header, seventh, ...rest] = body.split(/\r\n(?=[0-9a-f]{24}|$)/);
    expect(header).toBe(
      'id,correlation_id,occurred_at,organization_id,principal_type,principal_id,credential,method,route,action,resource_id,status,ip,duration_ms',
    );
    expect(seventh).toMatch(
      new RegExp(`^[0-9a-f]{24},c-7,${formatTime(7)},${company.id},user,,,"a,""b""\r\n",/x,,,200,,1$`),
    );
    expect(rest).toHaveLength(2);
    const emptyExport = await downloadEvents(`to=1990-01-01T00:00:00Z&format=csv`);
    expect(emptyExport.body).toBe(`${header}\r\n`);
    expect((await downloadEvents('to=1990-01-01T00:00:00Z')).body).toBe('');
  });

  it('stops reading when the client disconnects', async () => {
    const { streamEvents } = await import('../../src/modules/audit/service.ts');
    let isStreamEnded = false;
    async function* streamEndlessly(): AsyncGenerator<never> {
      try {
        for (;;) yield { occurredAt: 0 } as never;
      } finally {
        isStreamEnded = true;
      }
    }
    const reader = (streamEvents(streamEndlessly(), 'ndjson').body as ReadableStream).getReader();
    await reader.read();
    await reader.cancel();
    expect(isStreamEnded).toBe(true);
  });

  it.each(['format=xml', 'from=yesterday', 'to=2026-13-01T00:00:00Z', 'page=2', 'action=x'])(
    'refuses %s',
    async (query) => {
      const { status, body } = await downloadEvents(query);
      expect([status, body.error]).toEqual([422, 'ValidationError']);
    },
  );
});
