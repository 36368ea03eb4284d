/**
 * Lists the messages that their consumer gave up on, and sends them again.
 *
 *     npm run dead-letters -- list [--env staging|production]
 *     npm run dead-letters -- replay [--id ID] [--env staging|production]
 *
 * Without `--env` it works on the local state (`LOCAL_STATE_DIR`), through the start that runs on it. `replayLetters` only
 * records the request: the Worker's scheduled run, once a minute, sends the messages.
 */
import { parseArgs } from 'node:util';
import { type Files, openFiles } from './files.ts';
import { Problem, runCommand } from './problem.ts';

/** As the Worker writes them (`src/modules/dead-letters`). */
interface DeadLetter {
  id: string;
  queue: string;
  body: unknown;
  attempts: number;
  diedAt: number;
  replayedAt?: number;
}

/** Where they are: all that died, copies of those to send again, those that were sent again. */
const FOLDERS = { dead: 'dead-letters/', wanted: 'dead-letters-wanted/', sent: 'dead-letters-sent/' } as const;

/** Letters shown at the most. */
const MAX_SHOWN = 200;

const USAGE = 'Usage: npm run dead-letters -- list | replay [--id ID]   [--env staging|production]';

async function listLetters(files: Files): Promise<void> {
  const wanted = new Set(await listNames(files, 'wanted'));
  const dead = (await listNames(files, 'dead')).map((name) => ({
    key: FOLDERS.dead + name,
    state: wanted.has(name) ? 'will be sent again' : 'dead',
  }));
  const sent = (await listNames(files, 'sent')).map((name) => ({ key: FOLDERS.sent + name, state: 'sent again' }));
  const newest = [...dead, ...sent].sort((a, b) => parseSentAt(b.key) - parseSentAt(a.key)).slice(0, MAX_SHOWN);
  if (newest.length === 0) console.log('There are no dead letters.');
  for (const { key, state } of newest) {
    const text = await files.get(key);
    if (text === undefined) continue;
    const { id, queue, body, attempts, diedAt, replayedAt } = JSON.parse(text) as DeadLetter;
    const when = replayedAt === undefined ? '' : ` ${new Date(replayedAt).toISOString()}`;
    console.log(`${id}  ${new Date(diedAt).toISOString()}  ${queue}  ${attempts} attempts  ${state}${when}`);
    console.log(`  ${JSON.stringify(body)}`);
  }
}

async function replayLetters(files: Files, id: string | undefined): Promise<void> {
  const wanted = new Set(await listNames(files, 'wanted'));
  const chosen = (await listNames(files, 'dead')).filter(
    (name) => !wanted.has(name) && (id === undefined || name.endsWith(`-${id}.json`)),
  );
  let marked = 0;
  for (const name of chosen) {
    const text = await files.get(FOLDERS.dead + name);
    if (text === undefined || (id !== undefined && (JSON.parse(text) as DeadLetter).id !== id)) continue;
    await files.put(FOLDERS.wanted + name, text);
    marked += 1;
  }
  console.log(`${marked} ${marked === 1 ? 'message' : 'messages'} will be sent again within a minute.`);
}

/** `{queue}/{time}-{id}.json` of all letters of a folder. */
const listNames = async (files: Files, folder: keyof typeof FOLDERS): Promise<string[]> =>
  (await files.list(FOLDERS[folder])).map((key) => key.slice(FOLDERS[folder].length));

/** When the message was sent (ms). */
const parseSentAt = (key: string): number => Number(/\/(\d+)-[^/]*$/.exec(key)?.[1]);

await runCommand(async () => {
  const { values, positionals } = parseArgs({
    options: { id: { type: 'string' }, env: { type: 'string' } },
    allowPositionals: true,
  });
  const [command, ...rest] = positionals;
  const isGood =
    rest.length === 0 && (values.id === undefined || (command === 'replay' && /^[\w-]{1,64}$/.test(values.id)));
  if (!isGood || (command !== 'list' && command !== 'replay')) throw new Problem(USAGE);
  const files = await openFiles(values.env);
  try {
    await (command === 'list' ? listLetters(files) : replayLetters(files, values.id));
  } finally {
    await files.close();
  }
});
