import { AsyncLocalStorage } from 'node:async_hooks';

/** The id of the request, or of the run, that the code at hand works for. */
const correlation = new AsyncLocalStorage<string>();

/** Every line that `work` writes, and whatever it starts, carries this id as `correlation_id`. */
export const correlated = <T>(id: string, work: () => T): T => correlation.run(id, work);

/**
 * One structured line for Workers Logs. Never pass a secret, a token, a password or a row of a customer's data:
 * `facts` are names, ids, counts and codes.
 */
export function log(event: string, facts: Record<string, unknown> = {}): void {
  console.log(line(event, facts));
}

/** The same for something that went wrong: the error's name, message and stack stay in the log, never in an answer. */
export function logError(event: string, error: unknown, facts: Record<string, unknown> = {}): void {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  const shown = withoutValues(message);
  const told = { name, message: shown, stack: stack?.replace(message, () => shown) };
  console.error(line(event, { ...facts, error: told }));
}

function line(event: string, facts: Record<string, unknown>): string {
  return JSON.stringify({ event, correlation_id: correlation.getStore(), ...facts });
}

/** drizzle's message of a failed query ends with the values that were bound: hashes, names, anything a customer keeps. */
const withoutValues = (message: string): string => message.replace(/\nparams: .*$/s, '');
