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
const TABLE_MARKERS = ['<!-- figures -->', '<!-- end of figures -->'] as const;

/** Names of the programs under bench/, the quickest first. */
const ALL_PROGRAMS = [
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

/** Pattern of a line printed by `printVerdict`. */
const VERDICT_PATTERN = /^([✓✗]) (.+): (-?[\d.]+|NaN) (.*?) ?\((at most|at least) ([\d.]+)\)$/;

const requestedNames = process.argv.slice(2);
const unknownName = requestedNames.find((name) => !ALL_PROGRAMS.includes(name));
if (unknownName !== undefined) {
  console.error(`There is no measurement "${unknownName}". There are: ${ALL_PROGRAMS.join(', ')}.`);
  process.exit(2);
}

/** Rows of the README's table, by program. */
const rowsByProgram = new Map<string, string[]>();
for (const program of requestedNames.length > 0 ? requestedNames : ALL_PROGRAMS) {
  console.log(`\n── ${program}`);
  const { lines, code } = await runProgram(program);
  if (code !== 0) process.exitCode = 1;
  const verdicts = lines.map((line) => VERDICT_PATTERN.exec(line)).filter((match) => match !== null);
  const rows = verdicts.map(
    ([, sign, title, figure, unit, words, limit]) =>
      `| \`${program}\` | ${title} | ${figure} ${unit} | ${words} ${limit} | ${sign} |`,
  );
  // A program that fails without a failed verdict was interrupted.
  const hasBrokenOff = code !== 0 && verdicts.every(([, sign]) => sign === '✓');
  rowsByProgram.set(program, hasBrokenOff ? [...rows, `| \`${program}\` | broke off | | | ✗ |`] : rows);
}
await writeFigures(rowsByProgram);

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
async function writeFigures(newRows: Map<string, string[]>): Promise<void> {
  const text = await readFile(README, 'utf8');
  const [from, to] = [text.indexOf(TABLE_MARKERS[0]) + TABLE_MARKERS[0].length, text.indexOf(TABLE_MARKERS[1])];
  const currentRows = text.slice(from, to).split('\n');
  const rows = ALL_PROGRAMS.flatMap(
    (program) => newRows.get(program) ?? currentRows.filter((row) => row.startsWith(`| \`${program}\` |`)),
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
