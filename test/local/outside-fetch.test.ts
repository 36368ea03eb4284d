import { join } from 'node:path';
import { build } from 'esbuild';
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare, type Request, Response } from 'miniflare';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

/** The records that the name service answers with, by name; null for a name whose lookup fails. */
let records: Record<string, string[] | null>;
let calledHosts: string[];
let lookedUpNames: string[];
let miniflare: Miniflare;

/** Answers like the internet: as the name service of the runtime, and as a host at any address. */
function answerAsInternet(request: Request): Response {
  const { host, pathname, searchParams } = new URL(request.url);
  if (host !== 'cloudflare-dns.com') {
    calledHosts.push(host);
    const headers = { location: `https://${pathname.slice(1)}/` };
    return pathname === '/' ? new Response('ok') : new Response(null, { status: 302, headers });
  }
  const [name, type] = [searchParams.get('name') ?? '', searchParams.get('type')];
  lookedUpNames.push(name);
  const nameRecords = name in records ? records[name] : [];
  if (!nameRecords) return new Response('down', { status: 502 });
  const getRecordType = (data: string) => (data.includes(':') ? 28 : /^[\d.]+$/.test(data) ? 1 : 5);
  const answers = nameRecords
    .map((data) => ({ name, type: getRecordType(data), TTL: 1, data }))
    .filter((answer) => answer.type === 5 || answer.type === (type === 'A' ? 1 : 28));
  return Response.json({ Status: answers.length > 0 ? 0 : 3, Question: [{ name, type: 1 }], Answer: answers });
}

beforeAll(async () => {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, 'outside-fetch.ts')],
    external: ['node:*', 'cloudflare:*'],
    bundle: true,
    format: 'esm',
    target: 'esnext',
    write: false,
  });
  miniflare = new Miniflare(
    convertV4MiniflareOptions({
      log: new Log(LogLevel.NONE),
      cf: false,
      telemetry: { enabled: false },
      workers: [
        {
          name: 'outside-fetch',
          modules: true,
          script: outputFiles[0]?.text as string,
          compatibilityDate: '2026-09-01',
          compatibilityFlags: ['nodejs_compat'],
          outboundService: answerAsInternet,
        },
      ],
    }),
  );
  await miniflare.ready;
}, 60_000);

afterAll(() => miniflare?.dispose());

beforeEach(() => {
  calledHosts = [];
  lookedUpNames = [];
});

async function fetchWithMethod(fetchMethod: string, url: string, at = 0): Promise<unknown> {
  const answer = await miniflare.dispatchFetch('http://worker.test', {
    method: 'POST',
    body: JSON.stringify({ way: fetchMethod, url, at }),
  });
  return answer.json();
}

const PUBLIC_ADDRESSES = ['93.184.216.34', '2606:2800:220:1::1'];
const SENT_RESULT = { status: 200, error: null, retryAfter: 0 };
const REFUSED_RESULT = { status: null, error: 'address_refused', retryAfter: 0 };
const UNREACHED_RESULT = { status: null, error: 'connection_failed', retryAfter: 0 };

describe('a host name in a URL that customers choose', () => {
  it('is called when it resolves to public addresses, and is resolved again every 30 seconds', async () => {
    records = { 'steady.example.com': PUBLIC_ADDRESSES };
    for (const at of [0, 29_999, 30_000]) {
      expect(await fetchWithMethod('webhook', 'https://steady.example.com/', at)).toEqual(SENT_RESULT);
    }
    expect(calledHosts).toHaveLength(3);
    expect(lookedUpNames).toHaveLength(4);
  });

  it('is refused as soon as it resolves to a private address, even if it was public before', async () => {
    records = { 'rebound.example.com': PUBLIC_ADDRESSES };
    expect(await fetchWithMethod('webhook', 'https://rebound.example.com/')).toEqual(SENT_RESULT);
    records = { 'rebound.example.com': ['10.0.0.1'] };
    expect(await fetchWithMethod('webhook', 'https://rebound.example.com/', 30_001)).toEqual(REFUSED_RESULT);
    expect(calledHosts).toHaveLength(1);
  });

  it.each([
    '127.0.0.1',
    '169.254.169.254',
    '::1',
    '::ffff:10.0.0.1',
    'fd00::1',
    '93.184.216.34 192.168.0.1',
    '93.184.216.34 fe80::1',
    'metadata.internal. 93.184.216.34',
  ])('is refused when it resolves to %s', async (foundAddresses) => {
    const name = `n${foundAddresses.replace(/[^a-z0-9]/g, 'x')}.example.com`;
    records = { [name]: foundAddresses.split(' ') };
    expect(await fetchWithMethod('webhook', `https://${name}/`)).toEqual(REFUSED_RESULT);
    expect(await fetchWithMethod('file', `https://${name}/`)).toBe('the address failed: refused');
    expect(await fetchWithMethod('provider', `https://${name}/`)).toBe('The address must be on a public host.');
    expect(calledHosts).toEqual([]);
  });

  it('is refused when a redirect leads to a name with a private address', async () => {
    records = { 'first.example.com': PUBLIC_ADDRESSES, 'second.example.com': ['10.0.0.1'] };
    expect(await fetchWithMethod('file', 'https://first.example.com/second.example.com')).toBe(
      'the address failed: refused',
    );
    expect(calledHosts).toEqual(['first.example.com']);
  });

  it('is not called when it is unknown or the name service is down', async () => {
    records = { 'away.example.com': null };
    for (const name of ['unknown', 'away']) {
      expect(await fetchWithMethod('webhook', `https://${name}.example.com/`)).toEqual(UNREACHED_RESULT);
      expect(await fetchWithMethod('file', `https://${name}.example.com/`)).toBe('the address failed: lost');
    }
    expect(calledHosts).toEqual([]);
  });

  it('is not resolved when it is an IP address, nor in development', async () => {
    expect(await fetchWithMethod('webhook', 'https://93.184.216.34/')).toEqual(SENT_RESULT);
    expect(await fetchWithMethod('development', 'https://unknown.example.com/')).toBe(200);
    expect(lookedUpNames).toEqual([]);
  });
});
