import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Demo, signIn } from '../../local/demo.ts';
import { type DemoDashboard, makeDashboard } from '../../local/demo-dashboard.ts';
import { makeSchedule } from '../../local/demo-schedule.ts';
import type { SentMail } from '../../local/mailbox.ts';
import { findFreePort, isAlive } from '../../local/processes.ts';
import { runCommand } from '../operations/command.ts';
import { askAsAgent, runInspector } from './agents.ts';
import { listCommands, runCommands } from './readme.ts';

const PROJECT = join(import.meta.dirname, '..', '..');
const READY = 'Data Console API is ready.';

interface Start {
  process: ChildProcess;
  output(): string;
  /** Exit code, once it has ended. */
  ended: Promise<number | null>;
}

describe('npm start', () => {
  let stateDir: string;
  let port: number;
  const starts: ChildProcess[] = [];

  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'data-console-test-'));
    port = await findFreePort();
  });
  afterAll(async () => {
    for (const child of starts) child.kill('SIGKILL');
    const outside = await readFile(join(stateDir, 'postgres', 'outside'), 'utf8').catch(() => '');
    await gone();
    for (const folder of [stateDir, outside.trim()]) if (folder) await rm(folder, { recursive: true, force: true });
  });

  function run(environment: Record<string, string> = {}): Start {
    const child = spawn(process.execPath, ['local/start.ts'], {
      cwd: PROJECT,
      env: {
        ...process.env,
        PORT: String(port),
        LOCAL_STATE_DIR: stateDir,
        // The test asks faster than a person.
        RATE_LIMIT_IP_PER_SECOND: '1000',
        RATE_LIMIT_PRINCIPAL_PER_MINUTE: '10000',
        RATE_LIMIT_ORGANIZATION_PER_MINUTE: '10000',
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    starts.push(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
    }
    return {
      process: child,
      output: () => output,
      ended: once(child, 'close').then(([code]) => code as number | null),
    };
  }

  async function ready(start: Start): Promise<void> {
    let over = false;
    void start.ended.then(() => {
      over = true;
    });
    while (!start.output().includes(READY)) {
      if (over) throw new Error(start.output());
      await sleep(50);
    }
  }

  const demo = async () => JSON.parse(await readFile(join(stateDir, 'demo.json'), 'utf8'));

  /** Process ids of what a start leaves in files: PostgreSQL, workerd. */
  async function children(): Promise<number[]> {
    const outside = (await readFile(join(stateDir, 'postgres', 'outside'), 'utf8').catch(() => '')).trim();
    const files = [
      join(outside || join(stateDir, 'postgres'), 'data', 'postmaster.pid'),
      join(stateDir, 'worker', 'workerd.pid'),
    ];
    const pids = await Promise.all(
      files.map(async (file) => parseInt(await readFile(file, 'utf8').catch(() => ''), 10)),
    );
    return pids.filter((pid) => pid > 0);
  }

  /** Waits until none of them runs any more. */
  async function gone(pids?: number[]): Promise<void> {
    const deadline = Date.now() + 120_000;
    for (const pid of pids ?? (await children())) {
      while (isAlive(pid)) {
        if (Date.now() > deadline) throw new Error(`process ${pid} is left`);
        await sleep(50);
      }
    }
  }

  async function rows(): Promise<number> {
    const { postgres_url } = await demo();
    const client = new Client({ connectionString: postgres_url });
    await client.connect();
    try {
      return (await client.query('SELECT count(*)::int AS n FROM public.birdstrikes')).rows[0].n;
    } finally {
      await client.end();
    }
  }

  /** How many rows each chart of the dashboard answers behind both addresses, once their pages have opened. */
  async function rowsOfCharts({ embed_url, public_share_url }: DemoDashboard): Promise<number[][]> {
    const addresses = [
      [embed_url, embed_url.replace('/embed/', '/api/embed/')],
      [public_share_url, public_share_url.replace('/p/', '/api/v1/public/shares/')],
    ] as const;
    return Promise.all(
      addresses.map(async ([page, api]) => {
        const opened = await fetch(page);
        expect([opened.status, opened.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
        const headers = { 'Content-Type': 'application/json' };
        const body = JSON.stringify({ parameters: { state: ['Texas', 'Ohio'], period: { from: '1995-01-01' } } });
        const executed = await fetch(`${api}/execute`, { method: 'POST', headers, body });
        const { results } = (await executed.json()) as { results: { row_count?: number }[] };
        return results.map(({ row_count = 0 }) => row_count);
      }),
    );
  }

  it('runs the whole system, keeps its data when it is killed, and leaves no process behind', {
    timeout: 1_200_000,
  }, async () => {
    const first = run({ RATE_LIMIT_IP_PER_SECOND: '10' });
    await ready(first);
    // Whoever comes right then is not refused for what the demo has asked.
    const comers = Array.from({ length: 4 }, () => fetch(`http://127.0.0.1:${port}/health`));
    expect((await Promise.all(comers)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const facts = await demo();
    expect(facts.base_url).toBe(`http://127.0.0.1:${port}`);
    const health = await fetch(`${facts.base_url}/health`);
    expect([health.status, (await health.json()) as unknown]).toMatchObject([200, { status: 'ok' }]);
    expect(await rows()).toBe(10_000);
    const [embedded, linked] = await rowsOfCharts(facts);
    expect(embedded?.length).toBeGreaterThanOrEqual(4);
    expect(Math.min(...(embedded as number[]))).toBeGreaterThan(0);
    expect(linked).toEqual(embedded);
    await mailsTheDashboard(facts);

    const second = run({ PORT: String(await findFreePort()) });
    expect(await second.ended).toBe(1);
    expect(second.output()).toMatch(/Another start \(process \d+\) runs on .*: stop it, or set LOCAL_STATE_DIR/);

    const alive = await children();
    expect(alive.map(isAlive)).toEqual([true, true]);
    first.process.kill('SIGKILL');
    await first.ended;
    await gone(alive);

    const third = run();
    await ready(third);
    // What the first start printed still holds.
    expect(await demo()).toMatchObject({ ...facts, mailbox_url: expect.any(String), postgres_url: expect.any(String) });
    expect(await rows()).toBe(10_000);
    expect(await rowsOfCharts(facts)).toEqual([embedded, linked]);
    const alsoAlive = await children();
    expect(alsoAlive.map(isAlive)).toEqual([true, true]);
    await answersBesideOperators(facts);
    await doesWhatItsDocumentsSay(facts);
    await answersAgents(facts);
    await takesUpTheDashboard(facts);
    third.process.kill('SIGINT');
    expect(await third.ended).toBe(0);
    expect(alsoAlive.map(isAlive)).toEqual([false, false]);
  });

  /** Commands that read and write the databases go through the start: no request finds one locked. */
  async function answersBesideOperators(facts: Demo & DemoDashboard) {
    const api = await signIn(facts);
    const run = (name: string, ...options: string[]) => runCommand(name, options, { LOCAL_STATE_DIR: stateDir });
    const file = join(stateDir, 'company.ndjson');
    let over = false;
    const commands = (async () => {
      const exported = await run('restore', 'save', facts.company.id, file);
      return [exported, await run('restore', 'put-back', file), await run('dead-letters', 'replay')];
    })().finally(() => {
      over = true;
    });
    const before = (await api.get('/v1/visualizations')).total;
    while (!over) {
      const slug = `beside-${crypto.randomUUID()}`;
      await api.post('/v1/groups', { body: { name: slug, slug, description: 'Made beside an operator.' } });
      await sleep(200);
    }
    expect((await commands).map(({ code, output }) => [code, output])).toEqual([
      [0, expect.stringContaining('rows are in')],
      [0, expect.stringMatching(/^\d+ rows were put back\.\n$/)],
      [0, '0 messages will be sent again within a minute.\n'],
    ]);
    expect((await api.get('/v1/visualizations')).total).toBe(before);
  }

  /** There is one schedule, however often it is made, and locally its mail comes to the mailbox. */
  async function mailsTheDashboard(facts: Demo & DemoDashboard) {
    const api = await signIn(facts);
    expect(await makeSchedule(api, facts.dashboard_id)).toBe(facts.schedule_id);
    const { records } = await api.get('/v1/schedules');
    expect(records).toMatchObject([
      { _id: facts.schedule_id, status: 'active', next_run_at: expect.stringMatching(/T08:00:00\.000Z$/) },
    ]);
    await api.post('/v1/schedules/{id}/run', { params: { id: facts.schedule_id as string } });
    const subjects = async () => {
      const mails = await fetch(`${facts.mailbox_url}?${new URLSearchParams({ to: facts.owner.email })}`);
      return ((await mails.json()) as { subject: string }[]).map(({ subject }) => subject);
    };
    await expect.poll(subjects, { timeout: 120_000 }).toContain('Strikes of the week: Demo');
    await mailsFiles(api, facts);
  }

  /** The mailbox answers what was attached, byte for byte. */
  async function mailsFiles(
    api: Awaited<ReturnType<typeof signIn>>,
    { owner, mailbox_url, visualization_id }: Demo & DemoDashboard,
  ) {
    const { user } = await api.get('/v1/auth/me');
    const { _id } = await api.post('/v1/schedules', {
      body: {
        name: 'Files of the week',
        target_type: 'visualization',
        target_id: visualization_id,
        cron: '0 8 * * 1',
        format: 'csv',
        recipients: [{ user_id: user?._id as string }],
      },
    });
    await api.post('/v1/schedules/{id}/run', { params: { id: _id } });
    const found = async () => {
      const mails = await fetch(`${mailbox_url}?${new URLSearchParams({ to: owner.email })}`);
      return ((await mails.json()) as SentMail[]).find(({ subject }) => subject.startsWith('Files of the week'));
    };
    await expect.poll(found, { timeout: 120_000 }).toBeDefined();
    const mail = (await found()) as SentMail;
    expect(mail.headers).toMatchObject({ 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' });
    expect(mail.attachments).toMatchObject([
      { filename: expect.stringMatching(/\.csv$/), content_type: 'text/csv; charset=utf-8' },
    ]);
    expect(Buffer.from(mail.attachments[0]?.content ?? '', 'base64').toString()).toMatch(/^[^\r\n]+\r\n[^\r\n]+\r\n/);
    await api.delete('/v1/schedules/{id}', { params: { id: _id } });
  }

  async function doesWhatItsDocumentsSay(facts: Demo & DemoDashboard) {
    expect(await runCommands(await listCommands('README.md', 'The first call'), stateDir)).toContain('"records":[');
    const written = await runCommands(await listCommands('docs/tour.md', 'Try it'), stateDir);
    const { records } = await (await signIn(facts)).get('/v1/managed-tables', { query: { search: 'my_sales' } });
    expect(records).toMatchObject([{ display_name: 'my_sales', row_count: 3 }]);
    expect(written).toContain('{"status":"inserting"}');
    expect(written).toContain('{"status":"undone","removed":1,"restored":3}');
    expect(written).toContain('{"inserted":1,"updated":1,"unchanged":0}');
    expect(written).toMatch(/"display_name":"my_sales".*"deleted_at"/);
    expect(written).toMatch(/^idempotency-replayed: true\r?\n304\n\{[^\n]*"Who reads what was sold\."/im);
    expect(written).toMatch(/^\{"error":"PRECONDITION_FAILED"/m);
    expect(written).toMatch(
      /"rows":\[\["1990-01-01",\d+\],[^\n]*"explanation":"Strikes; by year of Flight date; at most 1000 rows."/,
    );
    expect(written).toContain('Total cost; by State; ordered by Total cost, descending; at most 1 row.');
    expect(written).toMatch(/\n\[\["0\.\d+"\]\]\n/);
    expect(written).toMatch(/"records":\[\{"id":"[^"]+","region":"south","amount":20\}\]/);
    expect(written).toMatch(/"total":2,[^\n]*"columns":\["day"\],"unique":true/);
    expect(written).toMatch(/"region":"north"[^\n]*"next_cursor":null/);
    expect(written).toMatch(/^\{"id":"[^"]+","day":"2026-01-06","amount":20\}$/m);
    expect(written).toContain(facts.owner.email);
    expect(written).toMatch(/^This is “Strikes every morning” of Demo, as of /m);
    expect(written).toMatch(/"name":"Analysts"/);
    expect(written).toMatch(/"url":"[^"]+\/data\/strikes"/);
    expect(written).toMatch(/"user":null,"service_account":\{/);
    expect(written).toContain(
      '"suggestions":[{"target_type":"concept_create","name":"Strike"}],"skipped":[],"errors":[]',
    );
    expect(written).toMatch(/"inputSchema":\{[^\n]*\n[^\n]*"quantity":3/);
    const [embedUrl = ''] = /http\S+\/embed\/d\/\S+$/.exec(written.trim()) ?? [];
    expect((await fetch(embedUrl.replace('/embed/', '/api/embed/').concat('/info'))).status).toBe(200);
  }

  /** The protocol's own clients, and the Inspector's command line. */
  async function answersAgents(facts: Demo & DemoDashboard) {
    const newest = await askAsAgent(facts, '2.x');
    const { names, ...told } = await askAsAgent(facts, '1.x');
    expect([told.version, newest.version, newest.names]).toEqual(['2025-11-25', '2026-07-28', names]);
    for (const { rows, dashboard } of [told, newest]) {
      expect(rows).toMatchObject({ cut: false, data: { quantity: 3, total: 10_000 } });
      expect((dashboard.data as { results: unknown[] }).results.length).toBeGreaterThanOrEqual(4);
    }
    const { tools } = (await runInspector(facts, '--method', 'tools/list')) as { tools: { name: string }[] };
    expect(tools.map(({ name }) => name)).toEqual(names);
    const sent = ['--method', 'tools/call', '--tool-name', 'list_tables', '--tool-arg', 'search=birdstrikes'];
    expect(await runInspector(facts, ...sent)).toMatchObject({ structuredContent: { data: { total: 1 } } });
  }

  /** A start that is killed while it makes the dashboard has told only a part of it, or nothing. */
  async function takesUpTheDashboard({ base_url, company, owner, ...facts }: Demo & DemoDashboard) {
    const api = await signIn({ base_url, company, owner });
    const { dashboard_id, visualization_id, embed_url, public_share_url } = facts;
    const charts = async () => (await api.get('/v1/visualizations')).total;
    const before = await charts();

    const again = await makeDashboard(base_url, api, {});
    expect(again).toMatchObject({ dashboard_id, visualization_id });
    expect(await charts()).toBe(before);
    expect(again.public_share_url).not.toBe(public_share_url);
    // The link that was never printed opens nothing.
    expect((await fetch(public_share_url.replace('/p/', '/api/v1/public/shares/').concat('/resolve'))).status).toBe(
      401,
    );
    const [made, shared] = await rowsOfCharts(again);
    expect(shared).toEqual(made);

    await api.post('/api/v1/embed/rotate-key');
    const renewed = await makeDashboard(base_url, api, again);
    expect(renewed).toEqual({ ...again, embed_url: expect.not.stringMatching(embed_url) });
    expect(await rowsOfCharts(renewed)).toEqual([made, shared]);
  }

  it('says what to do about a port that is taken or invalid', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port: taken } = server.address() as { port: number };
    try {
      const start = run({ PORT: String(taken) });
      expect(await start.ended).toBe(1);
      expect(start.output().trim()).toMatch(new RegExp(`^Port ${taken} is taken by another program: set PORT`));
    } finally {
      server.close();
    }
    const nonsense = run({ PORT: 'http' });
    expect(await nonsense.ended).toBe(1);
    expect(nonsense.output().trim()).toBe('PORT is "http": set it to a number between 1 and 65535.');
  });
});
