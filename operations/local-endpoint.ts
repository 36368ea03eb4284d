import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** In the state folder: where a running start answers operators' commands. */
export const doorFile = 'operators-door.json';

/** A statement for a database of a running start. */
export interface DoorQuery {
  binding: 'CONTROL_DB' | 'AUDIT_DB';
  statement: string;
  values: string[];
}

/** Asks the start that runs on a state folder. @returns undefined where none runs */
export async function openDoor(stateDir: string): Promise<((query: DoorQuery) => Promise<unknown[]>) | undefined> {
  const text = await readFile(join(stateDir, doorFile), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const { url, token } = JSON.parse(text) as { url: string; token: string };
  const ask = async (query: DoorQuery): Promise<unknown[]> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(query) });
    const { rows, error } = (await response.json()) as { rows?: unknown[]; error?: string };
    if (rows === undefined) throw new Error(error ?? `the running start answered ${response.status}`);
    return rows;
  };
  // The file of a start that was killed is left behind, and nobody answers.
  const isThere = await ask({ binding: 'CONTROL_DB', statement: 'SELECT 1', values: [] }).then(
    () => true,
    () => false,
  );
  return isThere ? ask : undefined;
}
