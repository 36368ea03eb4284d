/**
 * Answers `GET /?copy=…` with the output of that COPY, and does nothing else: the baseline of `bench/export.ts`.
 *
 *   node bench/export/pass-on.ts <connection string>
 *
 * Prints its port, and exits when its standard input ends.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';
import { to as copyTo } from 'pg-copy-streams';

const [connectionString] = process.argv.slice(2) as [string];

const server = createServer(async ({ url = '/' }, response) => {
  const client = new Client({ connectionString });
  await client.connect();
  await pipeline(client.query(copyTo(new URL(url, 'http://here').searchParams.get('copy') as string)), response);
  await client.end();
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
process.stdin.once('close', () => process.exit()).resume();
