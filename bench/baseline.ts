import { spawnSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { System } from './system.ts';

/** Whether this machine has `psql`; otherwise a plain COPY through pg-copy-streams is measured. */
export const hasPsql = spawnSync('psql', ['--version']).status === 0;

/** Milliseconds of a plain COPY of a CSV file with a header into a new table with these columns. */
export async function copyPlainly(system: System, file: string, table: string, columns: string): Promise<number> {
  const client = new Client({ connectionString: system.postgresUrl });
  await client.connect();
  try {
    await client.query(`SET statement_timeout = 0; DROP TABLE IF EXISTS baseline; CREATE TABLE baseline ${table}`);
    const copy = `baseline (${columns})`;
    const started = performance.now();
    if (hasPsql) {
      const command = `\\copy ${copy} FROM '${file}' (FORMAT csv, HEADER)`;
      const { status, stderr } = spawnSync('psql', [
        system.postgresUrl,
        '-qc',
        'SET statement_timeout = 0',
        '-c',
        command,
      ]);
      if (status !== 0) throw new Error(String(stderr));
    } else {
      await pipeline(createReadStream(file), client.query(copyFrom(`COPY ${copy} FROM STDIN (FORMAT csv, HEADER)`)));
    }
    return performance.now() - started;
  } finally {
    await client.query('DROP TABLE IF EXISTS baseline');
    await client.end();
  }
}
