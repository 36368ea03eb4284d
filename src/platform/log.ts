/**
 * One structured line for Workers Logs. Never pass a secret, a token, a password or a row of a customer's data:
 * `facts` are names, ids, counts and codes.
 */
export function log(event: string, facts: Record<string, unknown> = {}): void {
  console.log(JSON.stringify({ event, ...facts }));
}

/** The same for something that went wrong: the error's name, message and stack stay in the log, never in an answer. */
export function logError(event: string, error: unknown, facts: Record<string, unknown> = {}): void {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  const shown = withoutValues(message);
  console.error(
    JSON.stringify({ event, ...facts, error: { name, message: shown, stack: stack?.replace(message, () => shown) } }),
  );
}

/** drizzle's message of a failed query ends with the values that were bound: hashes, names, anything a customer keeps. */
const withoutValues = (message: string): string => message.replace(/\nparams: .*$/s, '');
