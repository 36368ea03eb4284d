/**
 * Lists the messages that their consumer gave up on, and sends them again.
 *
 *     npm run dead-letters -- list [--env staging|production]
 *     npm run dead-letters -- replay [--id ID] [--env staging|production]
 *
 * Without `--env` it works on the local state (`LOCAL_STATE_DIR`), through the start that runs on it. `replay` only
 * records the request: the Worker's scheduled run, once a minute, sends the messages.
 */
import { parseArgs } from 'node:util';
import { type Database, openDatabase } from './database.ts';
import { runCommand } from './problem.ts';

interface DeadLetter {
  id: string;
  queue: string;
  body: string;
  attempts: number;
  died_at: number;
  replay_requested_at: number | null;
  replayed_at: number | null;
}

const USAGE = 'Usage: npm run dead-letters -- list | replay [--id ID]   [--env staging|production]';

async function list(database: Database): Promise<void> {
  const letters = await database.query<DeadLetter>('SELECT * FROM dead_letters ORDER BY died_at DESC LIMIT 200');
  if (letters.length === 0) console.log('There are no dead letters.');
  for (const letter of letters) {
    const died = new Date(letter.died_at).toISOString();
    console.log(`${letter.id}  ${died}  ${letter.queue}  ${letter.attempts} attempts  ${stateOf(letter)}`);
    console.log(`  ${letter.body}`);
  }
}

function stateOf({ replay_requested_at, replayed_at }: DeadLetter): string {
  if (replayed_at !== null) return `sent again ${new Date(replayed_at).toISOString()}`;
  return replay_requested_at === null ? 'dead' : 'will be sent again';
}

async function replay(database: Database, id: string | undefined): Promise<void> {
  const wanted = id === undefined ? '' : ` AND id = '${id}'`;
  const marked = await database.query<{ id: string }>(
    `UPDATE dead_letters SET replay_requested_at = ${Date.now()} WHERE replay_requested_at IS NULL${wanted} RETURNING id`,
  );
  console.log(`${marked.length} ${marked.length === 1 ? 'message' : 'messages'} will be sent again within a minute.`);
}

const { values, positionals } = parseArgs({
  options: { id: { type: 'string' }, env: { type: 'string' } },
  allowPositionals: true,
});
const [command, ...rest] = positionals;
const isGood =
  rest.length === 0 && (values.id === undefined || (command === 'replay' && /^[\w-]{1,64}$/.test(values.id)));
if (!isGood || (command !== 'list' && command !== 'replay')) {
  console.error(USAGE);
  process.exit(2);
}
await runCommand(async () => {
  const database = await openDatabase('AUDIT_DB', values.env);
  try {
    await (command === 'list' ? list(database) : replay(database, values.id));
  } finally {
    await database.close();
  }
});
