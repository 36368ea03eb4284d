import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client as PostgresClient } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Client, createClient, type Key, withKey, withToken } from '../../client/client.ts';
import { type Demo, signIn } from '../../local/demo.ts';
import { type DemoDashboard, makeDemoDashboard } from '../../local/demo-dashboard.ts';
import { makeSchedule } from '../../local/demo-schedule.ts';
import type { SentMail } from '../../local/mailbox.ts';
import { findFreePort, isAlive } from '../../local/processes.ts';
import { runCommand } from '../operations/command.ts';
import { askAsAgent, runInspector } from './agents.ts';
import { listCommands, runCommands } from './readme.ts';

const PROJECT = join(import.meta.dirname, '..', '..');
const READY_MESSAGE = 'Data Console API is ready.';

interface StartedProcess {
  process: ChildProcess;
  readOutput(): string;
  /** The exit code, once the process has ended. */
  exitPromise: Promise<number | null>;
}

describe('npm start', { timeout: 600_000 }, () => {
  let stateDir: string;
  let port: number;
  let facts: Demo & DemoDashboard;
  let thirdStart: StartedProcess;
  const startedProcesses: ChildProcess[] = [];

  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'data-console-test-'));
    port = await findFreePort();
  });
  afterAll(async () => {
    for (const child of startedProcesses) child.kill('SIGKILL');
    const outsideFolder = await readFile(join(stateDir, 'postgres', 'outside'), 'utf8').catch(() => '');
    await waitForProcessExits();
    for (const folder of [stateDir, outsideFolder.trim()])
      if (folder) await rm(folder, { recursive: true, force: true });
  });

  function startSystem(
    environment: Record<string, string> = {},
    [command, ...args]: [string, ...string[]] = [process.execPath, 'local/start.ts'],
  ): StartedProcess {
    const child = spawn(command, args, {
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
    startedProcesses.push(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
    }
    return {
      process: child,
      readOutput: () => output,
      exitPromise: once(child, 'close').then(([code]) => code as number | null),
    };
  }

  async function waitUntilReady(start: StartedProcess): Promise<void> {
    let hasEnded = false;
    void start.exitPromise.then(() => {
      hasEnded = true;
    });
    while (!start.readOutput().includes(READY_MESSAGE)) {
      if (hasEnded) throw new Error(start.readOutput());
      await sleep(50);
    }
  }

  const readDemo = async () => JSON.parse(await readFile(join(stateDir, 'demo.json'), 'utf8'));

  /** Lists the process ids that a start has written to files: of PostgreSQL and workerd. */
  async function listChildren(): Promise<number[]> {
    const outsideFolder = (await readFile(join(stateDir, 'postgres', 'outside'), 'utf8').catch(() => '')).trim();
    const files = [
      join(outsideFolder || join(stateDir, 'postgres'), 'data', 'postmaster.pid'),
      join(stateDir, 'worker', 'workerd.pid'),
    ];
    const pids = await Promise.all(
      files.map(async (file) => parseInt(await readFile(file, 'utf8').catch(() => ''), 10)),
    );
    return pids.filter((pid) => pid > 0);
  }

  /** Waits until none of the processes runs any more. */
  async function waitForProcessExits(pids?: number[]): Promise<void> {
    const deadline = Date.now() + 120_000;
    for (const pid of pids ?? (await listChildren())) {
      while (isAlive(pid)) {
        if (Date.now() > deadline) throw new Error(`process ${pid} is left`);
        await sleep(50);
      }
    }
  }

  async function countRows(): Promise<number> {
    const { postgres_url } = await readDemo();
    const client = new PostgresClient({ connectionString: postgres_url });
    await client.connect();
    try {
      return (await client.query('SELECT count(*)::int AS n FROM public.birdstrikes')).rows[0].n;
    } finally {
      await client.end();
    }
  }

  /** Counts the rows that each chart of the dashboard returns at both addresses, after opening their pages. */
  async function countChartRows({ embed_url, public_share_url }: DemoDashboard): Promise<number[][]> {
    const addresses = [
      [embed_url, embed_url.replace('/embed/', '/api/embed/')],
      [public_share_url, public_share_url.replace('/p/', '/api/v1/public/shares/')],
    ] as const;
    return Promise.all(
      addresses.map(async ([page, api]) => {
        const pageAnswer = await fetch(page);
        expect([pageAnswer.status, pageAnswer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
        const headers = { 'Content-Type': 'application/json' };
        const body = JSON.stringify({ parameters: { state: ['Texas', 'Ohio'], period: { from: '1995-01-01' } } });
        const executionAnswer = await fetch(`${api}/execute`, { method: 'POST', headers, body });
        const { results } = (await executionAnswer.json()) as { results: { row_count?: number }[] };
        return results.map(({ row_count = 0 }) => row_count);
      }),
    );
  }

  // In order: each goes on in the system that the first has started.
  it('runs the whole system, and keeps its data when it is killed', async () => {
    const first = startSystem({ RATE_LIMIT_IP_PER_SECOND: '10' });
    await waitUntilReady(first);
    // Whoever comes right then is not refused for what the demo has asked.
    const earlyRequests = Array.from({ length: 4 }, () => fetch(`http://127.0.0.1:${port}/health`));
    expect((await Promise.all(earlyRequests)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    facts = await readDemo();
    expect(facts.base_url).toBe(`http://127.0.0.1:${port}`);
    const healthResponse = await fetch(`${facts.base_url}/health`);
    expect([healthResponse.status, (await healthResponse.json()) as unknown]).toMatchObject([200, { status: 'ok' }]);
    expect(await countRows()).toBe(10_000);
    const [embedded, linked] = await countChartRows(facts);
    expect(embedded?.length).toBeGreaterThanOrEqual(4);
    expect(Math.min(...(embedded as number[]))).toBeGreaterThan(0);
    expect(linked).toEqual(embedded);
    await testDashboardMail();

    const secondStart = startSystem({ PORT: String(await findFreePort()) });
    expect(await secondStart.exitPromise).toBe(1);
    expect(secondStart.readOutput()).toMatch(
      /Another start \(process \d+\) runs on .*: stop it, or set LOCAL_STATE_DIR/,
    );

    const livePids = await listChildren();
    expect(livePids.map(isAlive)).toEqual([true, true]);
    first.process.kill('SIGKILL');
    await first.exitPromise;
    await waitForProcessExits(livePids);

    thirdStart = startSystem({}, ['npm', 'start']);
    await waitUntilReady(thirdStart);
    // What the first start printed still holds.
    expect(await readDemo()).toMatchObject({
      ...facts,
      mailbox_url: expect.any(String),
      postgres_url: expect.any(String),
    });
    expect(await countRows()).toBe(10_000);
    expect(await countChartRows(facts)).toEqual([embedded, linked]);
  });

  it('runs the commands of operators beside requests, none of which finds a locked database', testOperatorCommands);

  it('runs the commands of the README and of the tour', testDocumentedCommands);

  it("serves the protocol's own clients, and the Inspector's command line", testAgents);

  it(
    'completes a demo dashboard at whose making it was killed, and of whose links it reported some or none',
    testInterruptedDashboard,
  );

  it(
    'does not hold up jobs of one company by those of another, though a queue hands over one message after another',
    testJobsOfCompanies,
  );

  it('leaves no process behind when it is ended', async () => {
    const api = await signIn(facts);
    const passwords = { current_password: facts.owner.password, new_password: randomBytes(12).toString('base64url') };
    await api.post('/v1/auth/password', { body: passwords });
    const latePids = await listChildren();
    expect(latePids.map(isAlive)).toEqual([true, true]);
    // Supervisors signal the process that they have started, and not its group.
    thirdStart.process.kill('SIGTERM');
    expect(await thirdStart.exitPromise).toBe(0);
    expect(latePids.map(isAlive)).toEqual([false, false]);
  });

  it('refuses a variable, and starts without an operator and after the owner has changed the password', async () => {
    const refusedStart = startSystem({ PLATFORM_ADMIN_TOKEN: 'short' });
    expect(await refusedStart.exitPromise).toBe(1);
    expect(refusedStart.readOutput()).toMatch(/\nThe Worker is not configured: PLATFORM_ADMIN_TOKEN: .*\n$/);

    const start = startSystem({ PLATFORM_ADMIN_TOKEN: '', PORT: String(await findFreePort()) });
    await waitUntilReady(start);
    expect(start.readOutput()).toContain('The demo stays as it is, as its owner cannot sign in: ');
    const demo: Demo & DemoDashboard = await readDemo();
    expect(demo.owner).toEqual(facts.owner);
    for (const url of [demo.embed_url, demo.public_share_url]) expect(new URL(url).origin).toBe(demo.base_url);
    const organizationsUrl = `${demo.base_url}/admin/organizations`;
    const headers = { Authorization: 'Bearer ' };
    expect((await fetch(organizationsUrl, { method: 'POST', headers, body: '{}' })).status).toBe(404);
    start.process.kill('SIGINT');
    expect(await start.exitPromise).toBe(0);
  });

  async function testOperatorCommands() {
    const api = await signIn(facts);
    const runWithState = (name: string, ...options: string[]) =>
      runCommand(name, options, { LOCAL_STATE_DIR: stateDir });
    const file = join(stateDir, 'company.ndjson');
    let isOver = false;
    const pendingCommands = (async () => {
      const backupOutput = await runWithState('restore', 'save', facts.company.id, file);
      return [
        backupOutput,
        await runWithState('restore', 'put-back', file),
        await runWithState('dead-letters', 'replay'),
      ];
    })().finally(() => {
      isOver = true;
    });
    const countBefore = (await api.get('/v1/visualizations')).total;
    while (!isOver) {
      const slug = `beside-${crypto.randomUUID()}`;
      await api.post('/v1/groups', { body: { name: slug, slug, description: 'Made beside an operator.' } });
      await sleep(200);
    }
    expect((await pendingCommands).map(({ code, output }) => [code, output])).toEqual([
      [0, expect.stringContaining('rows are in')],
      [0, expect.stringMatching(/^\d+ rows were put back\.\n$/)],
      [0, '0 messages will be sent again within a minute.\n'],
    ]);
    expect((await api.get('/v1/visualizations')).total).toBe(countBefore);
  }

  /** Tests that there is one schedule, however often the demo is made, and that its mail arrives in the local mailbox. */
  async function testDashboardMail() {
    const api = await signIn(facts);
    expect(await makeSchedule(api, facts.dashboard_id)).toBe(facts.schedule_id);
    const { records } = await api.get('/v1/schedules');
    expect(records).toMatchObject([
      { _id: facts.schedule_id, status: 'active', next_run_at: expect.stringMatching(/T08:00:00\.000Z$/) },
    ]);
    await api.post('/v1/schedules/{id}/run', { params: { id: facts.schedule_id as string } });
    const readSubjects = async () => {
      const mails = await fetch(`${facts.mailbox_url}?${new URLSearchParams({ to: facts.owner.email })}`);
      return ((await mails.json()) as { subject: string }[]).map(({ subject }) => subject);
    };
    await expect.poll(readSubjects, { timeout: 120_000 }).toContain('Strikes of the week: Demo');
    await testFileMail(api);
  }

  /** Tests that the mailbox returns attached files unchanged. */
  async function testFileMail(api: Client) {
    const { owner, mailbox_url, visualization_id } = facts;
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
    const findMail = async () => {
      const mails = await fetch(`${mailbox_url}?${new URLSearchParams({ to: owner.email })}`);
      return ((await mails.json()) as SentMail[]).find(({ subject }) => subject.startsWith('Files of the week'));
    };
    await expect.poll(findMail, { timeout: 120_000 }).toBeDefined();
    const mail = (await findMail()) as SentMail;
    expect(mail.headers).toMatchObject({ 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' });
    expect(mail.attachments).toMatchObject([
      { filename: expect.stringMatching(/\.csv$/), content_type: 'text/csv; charset=utf-8' },
    ]);
    expect(Buffer.from(mail.attachments[0]?.content ?? '', 'base64').toString()).toMatch(/^[^\r\n]+\r\n[^\r\n]+\r\n/);
    await api.delete('/v1/schedules/{id}', { params: { id: _id } });
  }

  async function testDocumentedCommands() {
    expect(await runCommands(await listCommands('README.md', 'The first call'), stateDir)).toContain('"records":[');
    const commandOutput = await runCommands(await listCommands('docs/tour.md', 'Try it'), stateDir);
    const { records } = await (await signIn(facts)).get('/v1/managed-tables', { query: { search: 'my_sales' } });
    expect(records).toMatchObject([{ display_name: 'my_sales', row_count: 3 }]);
    expect(commandOutput).toContain('{"status":"inserting"}');
    expect(commandOutput).toContain('{"status":"undone","removed":1,"restored":3}');
    expect(commandOutput).toContain('{"inserted":1,"updated":1,"unchanged":0}');
    expect(commandOutput).toMatch(/"display_name":"my_sales".*"deleted_at"/);
    expect(commandOutput).toMatch(/^idempotency-replayed: true\r?\n304\n\{[^\n]*"Who reads what was sold\."/im);
    expect(commandOutput).toMatch(/^\{"error":"PRECONDITION_FAILED"/m);
    expect(commandOutput).toMatch(
      /"rows":\[\["1990-01-01",\d+\],[^\n]*"explanation":"Strikes; by year of Flight date; at most 1000 rows."/,
    );
    expect(commandOutput).toContain('Total cost; by State; ordered by Total cost, descending; at most 1 row.');
    expect(commandOutput).toMatch(/\n\[\["0\.\d+"\]\]\n/);
    expect(commandOutput).toMatch(/"records":\[\{"id":"[^"]+","region":"south","amount":20\}\]/);
    expect(commandOutput).toMatch(/"total":2,[^\n]*"columns":\["day"\],"unique":true/);
    expect(commandOutput).toMatch(/"region":"north"[^\n]*"next_cursor":null/);
    expect(commandOutput).toMatch(/^\{"id":"[^"]+","day":"2026-01-06","amount":20\}$/m);
    expect(commandOutput).toContain(facts.owner.email);
    expect(commandOutput).toMatch(/^This is “Strikes every morning” of Demo, as of /m);
    expect(commandOutput).toMatch(/"name":"Analysts"/);
    expect(commandOutput).toMatch(/"url":"[^"]+\/data\/strikes"/);
    expect(commandOutput).toMatch(/"user":null,"service_account":\{/);
    expect(commandOutput).toContain(
      '"suggestions":[{"target_type":"concept_create","name":"Strike"}],"skipped":[],"errors":[]',
    );
    expect(commandOutput).toMatch(/"inputSchema":\{[^\n]*\n[^\n]*"quantity":3/);
    const [embedUrl = ''] = /http\S+\/embed\/d\/\S+$/.exec(commandOutput.trim()) ?? [];
    expect((await fetch(embedUrl.replace('/embed/', '/api/embed/').concat('/info'))).status).toBe(200);
  }

  async function testAgents() {
    const newestClient = await askAsAgent(facts, '2.x');
    const { names, ...told } = await askAsAgent(facts, '1.x');
    expect([told.version, newestClient.version, newestClient.names]).toEqual(['2025-11-25', '2026-07-28', names]);
    for (const { rows, dashboard } of [told, newestClient]) {
      expect(rows).toMatchObject({ cut: false, data: { quantity: 3, total: 10_000 } });
      expect((dashboard.data as { results: unknown[] }).results.length).toBeGreaterThanOrEqual(4);
    }
    const { tools } = (await runInspector(facts, '--method', 'tools/list')) as { tools: { name: string }[] };
    expect(tools.map(({ name }) => name)).toEqual(names);
    const inspectorOptions = [
      '--method',
      'tools/call',
      '--tool-name',
      'list_tables',
      '--tool-arg',
      'search=birdstrikes',
    ];
    expect(await runInspector(facts, ...inspectorOptions)).toMatchObject({ structuredContent: { data: { total: 1 } } });
  }

  async function testInterruptedDashboard() {
    const { base_url } = facts;
    const api = await signIn(facts);
    const { dashboard_id, visualization_id, embed_url, public_share_url } = facts;
    const countCharts = async () => (await api.get('/v1/visualizations')).total;
    const chartCountBefore = await countCharts();

    const repeatedDemo = await makeDemoDashboard(base_url, api, {});
    expect(repeatedDemo).toMatchObject({ dashboard_id, visualization_id });
    expect(await countCharts()).toBe(chartCountBefore);
    expect(repeatedDemo.public_share_url).not.toBe(public_share_url);
    // The link that was never printed opens nothing.
    expect((await fetch(public_share_url.replace('/p/', '/api/v1/public/shares/').concat('/resolve'))).status).toBe(
      401,
    );
    const [made, shared] = await countChartRows(repeatedDemo);
    expect(shared).toEqual(made);

    await api.post('/api/v1/embed/rotate-key');
    const renewedDemo = await makeDemoDashboard(base_url, api, repeatedDemo);
    expect(renewedDemo).toEqual({ ...repeatedDemo, embed_url: expect.not.stringMatching(embed_url) });
    expect(await countChartRows(renewedDemo)).toEqual([made, shared]);
  }

  /**
   * Publishes SQL as a Data API endpoint.
   * @returns functions that begin a job of the endpoint, and read a job's status
   */
  async function publishEndpoint(person: Client, key: Key, sql: string) {
    const { _id } = await person.post('/v1/visualizations', { body: { name: 'Published', sql } });
    const body = { name: 'Published', slug: 'published', visualization_id: _id };
    await person.post('/v1/viz-api-endpoints', { body });
    const keyClient = createClient({ baseUrl: facts.base_url, credential: withKey(key) });
    const params = { slug: body.slug };
    return {
      begin: async () => (await keyClient.post('/data/{slug}/jobs', { params, body: {} })).job_id,
      statusOf: async (id: string) => (await keyClient.get('/data/jobs/{job_id}', { params: { job_id: id } })).status,
    };
  }

  async function testJobsOfCompanies() {
    const { base_url: baseUrl, platform_admin_token: operatorToken } = facts;
    const owner = { email: 'owner@other.test', password: 'correct-horse-battery' };
    const operator = createClient({ baseUrl, credential: withToken(operatorToken) });
    const { api_key } = await operator.post('/admin/organizations', {
      body: { name: 'Other', slug: 'other', owner: { ...owner, name: 'Other' } },
    });
    const other = await signIn({ base_url: baseUrl, company: { id: '', slug: 'other' }, owner });
    await other.post('/v1/managed-tables/provision');
    const fastEndpoint = await publishEndpoint(other, api_key, 'SELECT 1 AS one');
    const slowSql = 'SELECT pg_sleep(60)::text AS slept';
    const slowEndpoint = await publishEndpoint(await signIn(facts), facts.service_account, slowSql);

    const running = [await slowEndpoint.begin(), await slowEndpoint.begin(), await slowEndpoint.begin()];
    const statuses = async () => (await Promise.all(running.map(slowEndpoint.statusOf))).toSorted();
    await expect.poll(statuses).toEqual(['queued', 'running', 'running']);
    const id = await fastEndpoint.begin();
    await expect.poll(() => fastEndpoint.statusOf(id)).toBe('succeeded');
    expect(await statuses()).toEqual(['queued', 'running', 'running']);
  }

  it('explains what to do about a port that is taken or invalid', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port: takenPort } = server.address() as { port: number };
    try {
      const start = startSystem({ PORT: String(takenPort) });
      expect(await start.exitPromise).toBe(1);
      expect(start.readOutput().trim()).toMatch(new RegExp(`^Port ${takenPort} is taken by another program: set PORT`));
    } finally {
      server.close();
    }
    const invalidPortStart = startSystem({ PORT: 'http' });
    expect(await invalidPortStart.exitPromise).toBe(1);
    expect(invalidPortStart.readOutput().trim()).toBe('PORT is "http": set it to a number between 1 and 65535.');
  });
});
