import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isSuccessful } from './problem.ts';

/** Name of the file in the state folder with the address at which a running start answers operators' commands. */
export const ENDPOINT_FILE = 'operator-endpoint.json';

/** Query to a running start: a statement for its database, or an operation on its files. */
export type OperatorQuery =
  | { binding: 'CONTROL_DB'; statement: string; values: string[] }
  | { files: 'list'; prefix: string }
  | { files: 'get'; key: string }
  | { files: 'put'; key: string; text: string };

/** Connects to the start that runs on a state folder. @returns undefined if none runs */
export async function connectToLocalSystem(
  stateDir: string,
): Promise<((query: OperatorQuery) => Promise<unknown[]>) | undefined> {
  const text = await readFile(join(stateDir, ENDPOINT_FILE), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const { url, token } = JSON.parse(text) as { url: string; token: string };
  const sendQuery = async (query: OperatorQuery): Promise<unknown[]> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(query) });
    const { rows, error } = (await response.json()) as { rows?: unknown[]; error?: string };
    if (rows === undefined) throw new Error(error ?? `the running start answered ${response.status}`);
    return rows;
  };
  // The file may be left from a killed start, at whose address nothing answers.
  return (await isSuccessful(sendQuery({ binding: 'CONTROL_DB', statement: 'SELECT 1', values: [] })))
    ? sendQuery
    : undefined;
}
