import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openOperatorEndpoint } from '../../local/operator-endpoint.ts';
import { connectToLocalSystem, ENDPOINT_FILE, type OperatorQuery } from '../../operations/local-endpoint.ts';
import { runCommand } from '../operations/command.ts';

let folder: string;
let receivedQueries: OperatorQuery[];
let endpoint: { close(): Promise<void> };
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'endpoint-'));
  receivedQueries = [];
  endpoint = await openOperatorEndpoint(folder, async (query) => {
    receivedQueries.push(query);
    if ('statement' in query && query.statement === 'broken') throw new Error('near "broken": syntax error');
    return [];
  });
});
afterEach(async () => {
  await endpoint.close();
  await rm(folder, { recursive: true, force: true });
});

it('the operators’ endpoint runs the statements of a command while npm start runs', async () => {
  // There is no database in the folder: whoever would open its files finds none.
  const runWithState = (name: string, ...options: string[]) => runCommand(name, options, { LOCAL_STATE_DIR: folder });
  expect(await runWithState('dead-letters', 'list')).toEqual({ code: 0, output: 'There are no dead letters.\n' });
  expect(await runWithState('restore', 'save', 'nobody', join(folder, 'x'))).toEqual({
    code: 1,
    output: 'There is no company nobody.\n',
  });
  expect(receivedQueries.filter((query) => !('statement' in query && query.statement === 'SELECT 1'))).toEqual([
    { files: 'list', prefix: 'dead-letters-wanted/' },
    { files: 'list', prefix: 'dead-letters/' },
    { files: 'list', prefix: 'dead-letters-sent/' },
    { binding: 'CONTROL_DB', statement: expect.stringContaining('FROM companies'), values: ['nobody'] },
  ]);
});

it('the operators’ endpoint refuses requests without its token, which only its owner can read', async () => {
  const file = join(folder, ENDPOINT_FILE);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const { url, token } = JSON.parse(await readFile(file, 'utf8'));
  for (const authorization of ['', 'Bearer ', `Bearer ${token.replace(/./g, 'x')}`]) {
    expect((await fetch(url, { method: 'POST', headers: { authorization }, body: '{}' })).status).toBe(401);
  }
  expect(receivedQueries).toEqual([]);
});

it('the operators’ endpoint reports the error of a statement, and is not used once it no longer answers', async () => {
  const sendQuery = await connectToLocalSystem(folder);
  await expect(sendQuery?.({ binding: 'CONTROL_DB', statement: 'broken', values: [] })).rejects.toThrow('syntax error');
  const endpointFileText = await readFile(join(folder, ENDPOINT_FILE), 'utf8');
  await endpoint.close();
  expect(await connectToLocalSystem(folder)).toBeUndefined();
  // What a start that was killed leaves behind.
  await writeFile(join(folder, ENDPOINT_FILE), endpointFileText);
  expect(await connectToLocalSystem(folder)).toBeUndefined();
});
