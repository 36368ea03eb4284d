import { AsyncLocalStorage } from 'node:async_hooks';

/** The id of the request, or of the run, that is being worked on. */
const correlation = new AsyncLocalStorage<string>();

/** Every line that `work` logs, and whatever it starts, has this id as `correlation_id`. */
export const withCorrelationId = <T>(id: string, work: () => T): T => correlation.run(id, work);

/** Writes one structured line for Workers Logs. `facts` are names, ids, counts and codes: never secrets, nor customers' data. */
export function log(event: string, facts: Record<string, unknown> = {}): void {
  console.log(line(event, facts));
}

/** Logs an error with its name, message, stack and causes: they belong in the log, never in an answer. */
export function logError(event: string, error: unknown, facts: Record<string, unknown> = {}): void {
  console.error(line(event, { ...facts, error: describe(error) }));
}

/** The number of nested causes that are logged. */
const MAX_CAUSES = 5;

function describe(error: unknown, causes = MAX_CAUSES): Record<string, unknown> {
  const parts = toParts(error);
  const { name, message, stack, cause, code, reason } = parts;
  const safe = withoutSecrets(messageWithoutData(parts) ?? message);
  return {
    name,
    message: safe,
    ...(typeof code === 'string' && { code }),
    ...(typeof reason === 'string' && { reason }),
    stack: stack?.replace(message, () => safe),
    ...(cause !== undefined && causes > 0 && { cause: describe(cause, causes - 1) }),
  };
}

type ErrorParts = Pick<Error, 'name' | 'message' | 'stack' | 'cause'> & Partial<Record<string, unknown>>;

/** Sockets report an event, which is no Error but has a message, or holds an Error. */
function toParts(error: unknown): ErrorParts {
  if (error instanceof Error) return error as ErrorParts;
  const { type, message, error: inner } = Object(error);
  if (inner instanceof Error) return inner as ErrorParts;
  // Libraries attach tokens and answers to their errors: only the names of the fields are safe.
  if (typeof error === 'object' && error !== null && message === undefined && type === undefined) {
    return { name: 'Object', message: `with ${Object.keys(error).slice(0, 10).join(', ')}` };
  }
  return new Error(String(message ?? type ?? error)) as ErrorParts;
}

/** The text that replaces a message which may hold data; undefined where the message is safe. */
function messageWithoutData({ name, code, severity, status }: ErrorParts): string | undefined {
  // PostgreSQL's messages hold values of a statement, but none when it refuses a connection.
  if (typeof severity === 'string' && severity !== 'FATAL' && severity !== 'PANIC') return `SQLSTATE ${code}`;
  // The answer of another service.
  if (typeof status === 'number') return `status ${status}`;
  // A parser quotes the text that it could not read.
  return name === 'SyntaxError' ? 'could not be parsed' : undefined;
}

const line = (event: string, facts: Record<string, unknown>): string =>
  JSON.stringify({ event, correlation_id: correlation.getStore(), ...facts });

/** A failed query's message ends with the bound values: hashes, names. An address may name who signs in there. */
const withoutSecrets = (message: string): string =>
  message.replace(/\nparams: .*$/s, '').replaceAll(/:\/\/[^\s/@]*@/g, '://…@');
