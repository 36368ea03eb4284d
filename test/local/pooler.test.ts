import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Pooler } from '../../local/neon/pooler/index.ts';
import { makeMessage, toInt32 } from '../../local/neon/pooler/messages.ts';
import { type LocalPostgres, startPostgres } from '../../local/postgres.ts';
import { hasPgBouncer, startPgBouncer } from './pgbouncer.ts';

interface RunningPooler {
  port: number;
  close(): void;
}

const startOwnPooler = async (postgres: LocalPostgres): Promise<RunningPooler> => {
  const pooler = new Pooler(postgres);
  return { port: await pooler.listen(), close: () => pooler.close() };
};

/** The tested poolers: the local Neon's pooler, and a real one where it is installed, with the same expectations. */
const POOLERS = [
  { name: "the local Neon's pooler", isReal: false, start: startOwnPooler, isHere: true },
  { name: 'PgBouncer, at PGBOUNCER_PATH or on the PATH', isReal: true, start: startPgBouncer, isHere: hasPgBouncer },
];

for (const { name, isReal, start, isHere } of POOLERS) {
  describe.skipIf(!isHere)(name, () => definePoolerTests(isReal, start));
}

function definePoolerTests(
  isReal: boolean,
  start: (postgres: LocalPostgres, folder: string) => Promise<RunningPooler>,
): void {
  let poolerFolder: string;
  let folder: string;
  let postgres: LocalPostgres;
  let pooler: RunningPooler;
  let port: number;
  const openClients: Client[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'data-console-test-'));
    postgres = await startPostgres({ stateDir: join(folder, 'postgres'), password: 'secret', isThrowaway: true });
    poolerFolder = await mkdtemp(join(tmpdir(), 'data-console-pooler-'));
    pooler = await start(postgres, poolerFolder);
    port = pooler.port;
  });
  afterEach(async () => {
    await Promise.all(openClients.splice(0).map((client) => client.end().catch(() => undefined)));
  });
  afterAll(async () => {
    pooler?.close();
    await postgres?.stop();
    for (const path of [folder, poolerFolder, ...(postgres?.folders ?? [])])
      await rm(path, { recursive: true, force: true });
  });

  async function connectClient(
    overrides: { user?: string; password?: string; options?: string; statement_timeout?: number } = {},
  ): Promise<Client> {
    const client = new Client({
      host: '127.0.0.1',
      port,
      user: 'postgres',
      database: 'postgres',
      password: 'secret',
      ...overrides,
    });
    client.on('error', () => undefined);
    await client.connect();
    openClients.push(client);
    return client;
  }
  const readProcessId = async (client: Client) => (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;

  it('shares one connection among callers, and reserves it for a caller during a transaction', async () => {
    const [one, two] = [await connectClient(), await connectClient()];
    const first = await readProcessId(one);
    expect(await readProcessId(two)).toBe(first);
    await one.query('BEGIN');
    expect(await readProcessId(one)).toBe(first);
    expect(await readProcessId(two)).not.toBe(first);
    await expect(one.query('SELECT 1/0')).rejects.toMatchObject({ code: '22012' });
    expect(await readProcessId(two)).not.toBe(first);
    await one.query('ROLLBACK');
    expect((await one.query('SELECT $1::int AS n', [7])).rows).toEqual([{ n: 7 }]);
  });

  it('accepts more callers than it has connections, and lets them wait', async () => {
    const callers = await Promise.all(Array.from({ length: 60 }, () => connectClient()));
    const processIds = await Promise.all(
      callers.map(async (client) => (await client.query('SELECT pg_backend_pid() AS pid, pg_sleep(0.05)')).rows[0].pid),
    );
    expect(new Set(processIds).size).toBeLessThanOrEqual(30);
  });

  describe.skipIf(isReal)('for a role with a limit of two connections', () => {
    let role: string;
    let roleCount = 0;
    const connectLimited = () => connectClient({ user: role, password: 'limited' });

    // One a test: connections of the test before may still be open.
    beforeEach(async () => {
      role = `limited_${++roleCount}`;
      const admin = await connectClient();
      await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'limited' CONNECTION LIMIT 2`);
    });

    it('lets the third caller wait until a connection is free', async () => {
      const [one, two] = [await connectLimited(), await connectLimited()];
      for (const client of [one, two]) await client.query('BEGIN');
      const waitingClients = [connectLimited(), connectLimited()];
      await expect(Promise.race([...waitingClients, sleep(500, 'waits')])).resolves.toBe('waits');
      await one.query('COMMIT');
      for (const client of await Promise.all(waitingClients))
        expect((await client.query('SELECT 1 AS n')).rowCount).toBe(1);
    });

    it('opens another connection for a waiting caller when one ends', async () => {
      const [one, two] = [await connectLimited(), await connectLimited()];
      for (const client of [one, two]) await client.query('BEGIN');
      const waitingClient = connectLimited();
      await expect(Promise.race([waitingClient, sleep(500, 'waits')])).resolves.toBe('waits');
      await one.end();
      expect((await (await waitingClient).query('SELECT 1 AS n')).rowCount).toBe(1);
    });

    it('refuses a caller at once for an error that waiting does not solve', async () => {
      const holder = await connectLimited();
      await holder.query('BEGIN');
      const admin = await connectClient();
      await admin.query(`ALTER ROLE ${role} PASSWORD 'other'`);
      await expect(connectLimited()).rejects.toMatchObject({ code: '28P01' });
    });

    it('refuses all waiting callers with the reason when no connection is left and none can be opened', async () => {
      const busyClients = [await connectLimited(), await connectLimited()];
      for (const client of busyClients) await client.query('BEGIN');
      const refusals = Array.from({ length: 3 }, () => connectLimited().catch(({ code }) => code));
      await expect(Promise.race([...refusals, sleep(500, 'waits')])).resolves.toBe('waits');
      const admin = await connectClient();
      await admin.query(`ALTER ROLE ${role} CONNECTION LIMIT 0`);
      for (const client of busyClients) await client.end();
      expect(await Promise.all(refusals)).toEqual(['53300', '53300', '53300']);
    });
  });

  it.skipIf(isReal)('gives no caller a connection that it is closing', async () => {
    // A server that takes its time to close: whoever comes meanwhile must get another connection.
    const slowServer = createServer({ allowHalfOpen: true }, (caller) => {
      const server = connect(postgres.port, '127.0.0.1');
      caller.on('data', (chunk) => chunk.at(0) !== 'X'.charCodeAt(0) && server.write(chunk));
      server.on('data', (chunk) => caller.write(chunk));
      for (const socket of [caller, server]) socket.on('error', () => undefined);
      caller.on('close', () => server.destroy());
    });
    await new Promise<void>((resolve) => slowServer.listen(0, '127.0.0.1', resolve));
    const slowPooler = new Pooler({ host: '127.0.0.1', port: (slowServer.address() as AddressInfo).port });
    const client = new Client({
      host: '127.0.0.1',
      port: await slowPooler.listen(),
      user: 'postgres',
      database: 'postgres',
      password: 'secret',
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const first = await readProcessId(client);
      await new Promise((resolve) => setTimeout(resolve, 1_200));
      expect(await readProcessId(client)).not.toBe(first);
    } finally {
      await client.end().catch(() => undefined);
      slowPooler.close();
      slowServer.close();
    }
  });

  it('rolls back a transaction that a caller leaves open', async () => {
    const caller = await connectClient();
    await caller.query('CREATE TABLE left_open (n int)');
    await caller.query('BEGIN; LOCK TABLE left_open');
    await caller.end();
    const other = await connectClient();
    await other.query("BEGIN; SET LOCAL lock_timeout = '3s'; LOCK TABLE left_open; ROLLBACK");
  });

  it
    .runIf(!isReal)
    .each([
      "SET statement_timeout = '1s'",
      'SELECT 1; RESET ALL',
      'LISTEN news',
      'PREPARE p AS SELECT 1',
      'SELECT pg_advisory_lock(1)',
      'CREATE TEMPORARY TABLE t (n int)',
      'BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT 1',
    ])('refuses a statement whose effect would outlive its transaction: %s', async (text) => {
    await expect((await connectClient()).query(text)).rejects.toMatchObject({ code: '0A000' });
  });

  it.runIf(!isReal)('refuses named prepared statements', async () => {
    await expect((await connectClient()).query({ name: 'n', text: 'SELECT 1' })).rejects.toMatchObject({
      code: '0A000',
    });
  });

  it.runIf(isReal)(
    'leaks settings and prepared statements to the next caller, which is why the local pooler refuses them',
    async () => {
      const [one, two] = [await connectClient(), await connectClient()];
      await one.query("SET lock_timeout = '7s'");
      expect((await two.query('SHOW lock_timeout')).rows).toEqual([{ lock_timeout: '7s' }]);
      await one.query({ name: 'n', text: 'SELECT 1' });
      await expect(two.query({ name: 'n', text: 'SELECT 2' })).rejects.toMatchObject({ code: '42P05' });
    },
  );

  it.each([{ options: '-c search_path=x' }, { statement_timeout: 1_000 }])(
    'refuses startup parameters of a connection: %j',
    async (startupParameters) => {
      await expect(connectClient(startupParameters)).rejects.toThrow('unsupported startup parameter');
    },
  );

  it('reads messages that are sent together with the startup message', async () => {
    const socket = connect({ host: '127.0.0.1', port });
    const startupMessages = makeMessage(
      '',
      toInt32(3 << 16),
      'user',
      'postgres',
      'database',
      'postgres',
      Buffer.from([0]),
    );
    socket.write(
      Buffer.concat([startupMessages, makeMessage('p', 'secret'), makeMessage('Q', "SELECT 'there' AS answer")]),
    );
    let answerText = '';
    for await (const chunk of socket) {
      answerText += chunk.toString('latin1');
      if (answerText.includes('SELECT 1')) break;
    }
    expect(answerText).toContain('there');
  });

  it.each([
    "BEGIN; SET LOCAL statement_timeout = '1s'; ROLLBACK",
    "SELECT '; SET x', 1 /* ; LISTEN y */",
    'SELECT pg_advisory_xact_lock(1)',
    "SELECT set_config('lock_timeout', '1s', true)",
  ])('accepts the statement %s', async (text) => {
    await (await connectClient()).query(text);
  });

  it('refuses a wrong password, even after a right password', async () => {
    // Neon's proxy, which stands before the pooler, answers as PostgreSQL does.
    const refusal = { code: isReal ? '08P01' : '28P01' };
    await expect(connectClient({ password: 'wrong' })).rejects.toMatchObject(refusal);
    await connectClient();
    await expect(connectClient({ password: 'wrong' })).rejects.toMatchObject(refusal);
  });
}
