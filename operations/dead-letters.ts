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

/** Dead letter as the Worker stores it (`src/modules/dead-letters`). */
interface DeadLetter {
  id: string;
  queue: string;
  body: unknown;
  attempts: number;
  diedAt: number;
  replayedAt?: number;
}

/** Folders of all dead letters, of copies of those to send again, and of those that were sent again. */
const FOLDERS = { dead: 'dead-letters/', wanted: 'dead-letters-wanted/', sent: 'dead-letters-sent/' } as const;

/** Maximum number of letters that are listed. */
const MAX_LISTED_LETTERS = 200;

const USAGE = 'Usage: npm run dead-letters -- list | replay [--id ID]   [--env staging|production]';

async function listLetters(files: Files): Promise<void> {
  const requestedNames = new Set(await listNames(files, 'wanted'));
  const deadLetters = (await listNames(files, 'dead')).map((name) => ({
    key: FOLDERS.dead + name,
    state: requestedNames.has(name) ? 'will be sent again' : 'dead',
  }));
  const sentLetters = (await listNames(files, 'sent')).map((name) => ({
    key: FOLDERS.sent + name,
    state: 'sent again',
  }));
  const newestLetters = [...deadLetters, ...sentLetters]
    .sort((a, b) => parseSentAt(b.key) - parseSentAt(a.key))
    .slice(0, MAX_LISTED_LETTERS);
  if (newestLetters.length === 0) console.log('There are no dead letters.');
  for (const { key, state } of newestLetters) {
    const text = await files.get(key);
    if (text === undefined) continue;
    const { id, queue, body, attempts, diedAt, replayedAt } = JSON.parse(text) as DeadLetter;
    const replayTime = replayedAt === undefined ? '' : ` ${new Date(replayedAt).toISOString()}`;
    console.log(`${id}  ${new Date(diedAt).toISOString()}  ${queue}  ${attempts} attempts  ${state}${replayTime}`);
    console.log(`  ${JSON.stringify(body)}`);
  }
}

async function replayLetters(files: Files, id: string | undefined): Promise<void> {
  const requestedNames = new Set(await listNames(files, 'wanted'));
  const chosenNames = (await listNames(files, 'dead')).filter(
    (name) => !requestedNames.has(name) && (id === undefined || name.endsWith(`-${id}.json`)),
  );
  let markedCount = 0;
  for (const name of chosenNames) {
    const text = await files.get(FOLDERS.dead + name);
    if (text === undefined || (id !== undefined && (JSON.parse(text) as DeadLetter).id !== id)) continue;
    await files.put(FOLDERS.wanted + name, text);
    markedCount += 1;
  }
  console.log(`${markedCount} ${markedCount === 1 ? 'message' : 'messages'} will be sent again within a minute.`);
}

/** Lists `{queue}/{time}-{id}.json` of all letters of a folder. */
const listNames = async (files: Files, folder: keyof typeof FOLDERS): Promise<string[]> =>
  (await files.list(FOLDERS[folder])).map((key) => key.slice(FOLDERS[folder].length));

/** Parses the time at which the message was sent (ms) from a letter's key. */
const parseSentAt = (key: string): number => Number(/\/(\d+)-[^/]*$/.exec(key)?.[1]);

await runCommand(async () => {
  const { values, positionals } = parseArgs({
    options: { id: { type: 'string' }, env: { type: 'string' } },
    allowPositionals: true,
  });
  const [command, ...rest] = positionals;
  const isValidCommand =
    rest.length === 0 && (values.id === undefined || (command === 'replay' && /^[\w-]{1,64}$/.test(values.id)));
  if (!isValidCommand || (command !== 'list' && command !== 'replay')) throw new Problem(USAGE);
  const files = await openFiles(values.env);
  try {
    await (command === 'list' ? listLetters(files) : replayLetters(files, values.id));
  } finally {
    await files.close();
  }
});
