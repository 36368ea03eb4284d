/**
 * Runs all measurements, or those named, one after the other. Their verdicts replace those of the same programs in the
 * table of `bench/README.md`.
 *
 *   npm run bench                   all, about an hour
 *   npm run bench -- load policy    some
 */
import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';

const FOLDER = import.meta.dirname;
const README = join(FOLDER, 'README.md');
const MARKS = ['<!-- figures -->', '<!-- end of figures -->'] as const;

/** Each program under bench/; the quickest first. */
const ALL = [
  'policy',
  'who-can',
  'pages',
  'signed-request',
  'cost',
  'far',
  'lists',
  'log',
  'bodies',
  'formats',
  'inference',
  'workbook',
  'rows',
  'load',
  'large-load',
  'huge-load',
  'upsert',
  'metrics',
  'export',
  'upload-memory',
  'embed',
  'webhooks',
  'scale',
  'traffic',
];

/** A line printed by `verdict`. */
const VERDICT_PATTERN = /^([✓✗]) (.+): (-?[\d.]+|NaN) (.*?) ?\((at most|at least) ([\d.]+)\)$/;

const requestedNames = process.argv.slice(2);
const unknown = requestedNames.find((name) => !ALL.includes(name));
if (unknown !== undefined) {
  console.error(`There is no measurement "${unknown}". There are: ${ALL.join(', ')}.`);
  process.exit(2);
}

/** The table's rows by program. */
const figures = new Map<string, string[]>();
for (const program of requestedNames.length > 0 ? requestedNames : ALL) {
  console.log(`\n── ${program}`);
  const { lines, code } = await runProgram(program);
  if (code !== 0) process.exitCode = 1;
  const verdicts = lines.map((line) => VERDICT_PATTERN.exec(line)).filter((found) => found !== null);
  const rows = verdicts.map(
    ([, sign, what, figure, unit, words, limit]) =>
      `| \`${program}\` | ${what} | ${figure} ${unit} | ${words} ${limit} | ${sign} |`,
  );
  // A program that fails without a failed verdict was interrupted.
  const brokeOff = code !== 0 && verdicts.every(([, sign]) => sign === '✓');
  figures.set(program, brokeOff ? [...rows, `| \`${program}\` | broke off | | | ✗ |`] : rows);
}
await writeFigures(figures);

/** Runs one program and prints its output. @returns its lines and its exit code */
function runProgram(program: string): Promise<{ lines: string[]; code: number | null }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(FOLDER, `${program}.ts`)], { stdio: ['ignore', 'pipe', 'inherit'] });
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      process.stdout.write(text);
    });
    child.once('error', reject).once('close', (code) => resolve({ lines: printed.split('\n'), code }));
  });
}

/** Writes the figures into the README's table between its marks, beside those of other programs. */
async function writeFigures(fresh: Map<string, string[]>): Promise<void> {
  const text = await readFile(README, 'utf8');
  const [from, to] = [text.indexOf(MARKS[0]) + MARKS[0].length, text.indexOf(MARKS[1])];
  const standing = text.slice(from, to).split('\n');
  const rows = ALL.flatMap(
    (program) => fresh.get(program) ?? standing.filter((row) => row.startsWith(`| \`${program}\` |`)),
  );
  const [processor] = cpus();
  const table = [
    '',
    '',
    `${cpus().length} cores of ${processor?.model.trim()}, Node ${process.versions.node}.`,
    '',
    '| program | what is compared | figure | limit | |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    '',
  ];
  await writeFile(README, text.slice(0, from) + table.join('\n') + text.slice(to));
}
