import { spawnSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { System } from './system.ts';

/** True if `psql` runs on this machine; otherwise a plain COPY through pg-copy-streams is measured. */
export const hasPsql = spawnSync('psql', ['--version']).status === 0;

/** Measures the milliseconds of a plain COPY of a CSV file with a header into a new table with these columns. */
export async function measurePlainCopy(system: System, file: string, table: string, columns: string): Promise<number> {
  const client = new Client({ connectionString: system.postgresUrl });
  await client.connect();
  try {
    await client.query(`SET statement_timeout = 0; DROP TABLE IF EXISTS baseline; CREATE TABLE baseline ${table}`);
    const copyTarget = `baseline (${columns})`;
    const startedAt = performance.now();
    if (hasPsql) {
      const command = `\\copy ${copyTarget} FROM '${file}' (FORMAT csv, HEADER)`;
      const { status, stderr } = spawnSync('psql', [
        system.postgresUrl,
        '-qc',
        'SET statement_timeout = 0',
        '-c',
        command,
      ]);
      if (status !== 0) throw new Error(String(stderr));
    } else {
      await pipeline(
        createReadStream(file),
        client.query(copyFrom(`COPY ${copyTarget} FROM STDIN (FORMAT csv, HEADER)`)),
      );
    }
    return performance.now() - startedAt;
  } finally {
    await client.query('DROP TABLE IF EXISTS baseline');
    await client.end();
  }
}
